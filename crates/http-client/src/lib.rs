//! HTTP out: calls to one endpoint. Connections are reused, TLS certificates are checked, and everything has
//! a limit.
//!
//! [`request`] makes a request, with AWS's signature if there is a key; [`Client`] sends it. A [`Failure`]
//! says whether the request may have arrived, so that the caller knows whether it may be sent again.
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod client;
mod connection;
mod download;
mod endpoint;
mod failure;
mod proxy;
mod reach;
mod request;
mod tls;

pub use client::{Client, HttpResponse, Limits, Repeat};
pub use download::Download;
pub use endpoint::Endpoint;
pub use failure::{Failure, FailureKind};
pub use proxy::Proxy;
pub use reach::Reach;
pub use request::{Outgoing, Prepared, request};
pub use tls::Roots;
