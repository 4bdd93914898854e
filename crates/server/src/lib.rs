//! The HTTP server: DynamoDB's protocol over any [`Database`](trestle_api::Database).
//!
//! The path of a request: `listen` accepts the connection, `connection_threads` assigns it to a thread,
//! `connection` speaks HTTP on it, `http` routes by path, `auth` checks the head, `admission` grants memory,
//! `body` and `compress` read the body within limits, `auth` checks the signature, `dispatch` lets the
//! database execute the operation, `reply` adds the headers. This crate does not know what an operation does.
//!
//! ```no_run
//! # async fn example(database: std::sync::Arc<dyn trestle_api::Database>) -> Result<(), trestle_server::StartError> {
//! use trestle_server::{Hooks, Server, Settings};
//!
//! let server = Server::bind(&Settings::default(), database, Hooks::default()).await?;
//! server.run(trestle_server::termination()).await;
//! # Ok(())
//! # }
//! ```

mod administration;
mod admission;
mod auth;
mod backup;
mod body;
mod compress;
mod connection;
mod connection_threads;
mod console;
mod cors;
mod dispatch;
mod faults;
mod hosts;
mod http;
mod listen;
mod metrics;
mod queues;
mod receive;
mod regions;
mod reply;
mod reply_body;
mod role;
mod same_origin;
mod session;
mod settings;
mod shutdown;
mod signals;
mod tls;
mod upload;

pub use backup::BackupSource;
pub use faults::{Fault, FaultCount, FaultRule, FaultRuleError, Faults};
pub use http::{Hooks, RouteLags, StorageSource};
pub use listen::{Server, StartError, Stopped};
pub use regions::{Region, Regions};
pub use role::{KeyGrant, Role};
pub use settings::{BODY_BYTES_MAX, ConsoleMode, CorsOrigins, Limits, MEMORY_BYTES_MAX, Settings, TlsFiles};
pub use signals::termination;
pub use tls::TlsError;
pub use trestle_sigv4::AccessKey;
pub use trestle_wire::ErrorTexts;
