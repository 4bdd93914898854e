//! Models over any endpoint that speaks DynamoDB's protocol: Amazon DynamoDB, DynamoDB Local, a Trestle server; and, without
//! transactions (`intent.rs`), others.
//!
//! [`Gateway`] is a [`Database`](trestle_api::Database) in front of another one. The result of a write on a modelled table is
//! computed by the same pure code that the embedded engine runs in its commit. The computation names the rows that it needs
//! (`known_rows.rs`); they are read (`fetch.rs`), and it runs again, until no row is missing. Then one request is sent (`commit.rs`),
//! which also checks that every row that was read is unchanged (`part.rs`). If another write has changed one of them, all of it is
//! repeated (`write.rs`). A write that looked for rows looks once more after its commit (`look_again.rs`). An intent is stored with such
//! a commit, and another gateway finishes it if the first one is killed (`left_intents.rs`).
//!
//! Models are stored at the endpoint (`documents.rs`) and managed by `trestle-models`, as with an engine
//! (`host.rs`). Any number of gateways can serve one endpoint; `fleet.rs` changes the models in force for all
//! of them, and `moment.rs` gives audits a consistent view of the rows while all of them write.
//! `past_writes.rs` finds rows that changed without a gateway.
//!
//! ```
//! use std::sync::Arc;
//! use trestle_embedded::{ApplyOptions, Unwatched};
//! use trestle_engine::{Engine, Options};
//! use trestle_env::SystemClock;
//! use trestle_gateway::Gateway;
//! use trestle_store::MemoryStore;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Any database without models can be the endpoint. Most are a `Remote`.
//! let endpoint = Engine::load(Arc::new(MemoryStore::new()), Arc::new(SystemClock::new()), Options::default())?;
//! let gateway = Gateway::open(Arc::new(endpoint))?;
//! let model = r#"
//! model = "shop"
//!
//! [table.shop]
//! key = ["pk", "sk"]
//!
//! [entity.customer]
//! table = "shop"
//! key = { pk = "customer#{customer}", sk = "customer" }
//! attributes = { customer = "string" }
//! "#;
//! gateway.models().apply(model, ApplyOptions::default(), &mut Unwatched)?;
//! assert_eq!(gateway.models().list().len(), 1);
//! # Ok(())
//! # }
//! ```

mod amend;
mod bookmark;
mod both_places;
mod commit;
mod documents;
mod duty;
mod endpoint;
mod fence;
mod fetch;
mod find;
mod fleet;
mod gateway;
mod host;
mod intent;
mod keeper;
mod known_rows;
mod left_intents;
mod limits;
mod look_again;
mod moment;
mod moment_view;
mod own_table;
mod part;
mod past_writes;
mod preview;
mod probe;
mod program_lease;
mod relocate;
mod scan_both;
mod scratch;
mod statement;
mod stored_probe;
mod sweep;
mod table_shape;
mod token;
mod transactions;
mod write;

pub use duty::{Duty, DutyHolder};
pub use fence::Fence;
pub use gateway::{Gateway, TouchingGateway};
pub use past_writes::{PastWrites, PastWritesOptions};
pub use probe::Capabilities;
pub use program_lease::ProgramLease;
pub use stored_probe::StoredProbe;
pub use trestle_binding::PastWritesStatus;

/// Why an endpoint could not be opened with its models.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// A stored model cannot be enforced, or the endpoint did not answer.
    #[error(transparent)]
    Models(#[from] trestle_binding::BindError),
    /// The system could not start a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}
