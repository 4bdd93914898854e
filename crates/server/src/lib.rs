//! The HTTP door: DynamoDB's protocol in front of any [`Database`](trestle_api::Database).
//!
//! A request's way: `listen` accepts the connection, `connection_threads` gives it a thread, `connection` speaks HTTP on it, `http` finds out what is
//! wanted, `auth` looks at the head, `admission` has memory for it, `body` and `compress` read it within bounds, `auth` checks
//! the signature, `dispatch` lets the database execute it, `reply` adds the headers. Nothing here knows what an operation does.
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
