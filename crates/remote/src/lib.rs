//! A remote endpoint as a [`Database`](trestle_api::Database): Amazon DynamoDB, ScyllaDB Alternator, DynamoDB Local, or
//! a Trestle server.
//!
//! [`Remote`] sends each request over HTTP or HTTPS, signed if there are credentials, over kept connections.
//! When the endpoint no longer accepts the credentials, they are replaced (`identity.rs`) and the request,
//! which was not carried out, is sent again.
//!
//! A failed request is sent again a few times, but only where that is safe (`repeat.rs`): if nothing was
//! sent, if the endpoint was overloaded, or if the request is idempotent. *Invariant*: any other write is
//! sent once; if its answer is lost, the error says that it is not known whether it was carried out. In
//! adaptive mode, requests are also sent more slowly while the endpoint throttles (`sending_rate.rs`).
//!
//! ```no_run
//! use trestle_api::{DatabaseExt, ListTables};
//! use trestle_remote::{Remote, Settings};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let remote = Remote::new(Settings::from_environment("http://127.0.0.1:8000"))?;
//! println!("{:?}", remote.list_tables(ListTables::default()).await?.table_names);
//! # Ok(())
//! # }
//! ```

mod endpoint_clock;
mod identity;
mod lost;
mod own_thread;
mod remote;
mod repeat;
mod retry;
mod sending_rate;
mod settings;
mod streams;

pub use identity::{Identity, SignatureRefusal};
pub use lost::NoAnswer;
pub use remote::Remote;
pub use settings::{BadSettings, Settings};
pub use trestle_credentials::{CredentialSource, Credentials};
pub use trestle_http_client::{FailureKind, Proxy};
pub use trestle_sigv4::{AccessKey, Signer};
