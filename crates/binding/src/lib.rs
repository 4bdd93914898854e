//! What models mean to a database, as pure parts: nothing here opens, reads or writes one.
//!
//! [`ModelHook`] lets several models take part in commits. [`migration`] has the two layouts of a migration and its states,
//! [`stored`] the documents that are kept beside the data, [`held`] what they say together. [`plan`] compares tables with a
//! model, [`rows`] holds rows against it. `crates/embedded` drives an engine with all of this; what it did, would do or could
//! not do is a [`Report`].
//!
//! An internal part of Trestle: programs use the crate `trestle`.

pub mod clearing;
pub mod held;
pub mod migration;
pub mod plan;
pub mod rows;
pub mod schema;
pub mod stored;

mod bind_error;
mod counted;
mod facts;
mod model_hook;
mod past_writes;
mod report;
mod versions_in_force;

pub use bind_error::BindError;
pub use counted::counted;
pub use facts::{FACTS_NAMED, ModelFacts, ModelRepair, RepairReport, ToDo, WrongFact};
pub use migration::{
    MigrationPlan, MigrationState, MigrationStatus, PlannedKey, PlannedMove, Rate, RateError, StuckRow,
    StuckRows, TableProgress, TableStatus,
};
pub use model_hook::{ModelHook, stopped};
pub use past_writes::PastWritesStatus;
pub use report::{Misfit, ModelSummary, Obstacle, Outcome, Report, Step, TableRows};
pub use versions_in_force::VersionsInForce;
