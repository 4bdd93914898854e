//! A small HTTP client for one endpoint: connections are kept and used again, everything has a limit.

mod client;
mod connection;
mod endpoint;
mod tls;

pub(crate) use client::{Answer, Client};
pub(crate) use endpoint::Endpoint;
pub(crate) use tls::Roots;
