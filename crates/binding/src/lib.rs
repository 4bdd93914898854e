//! How models act on a database, as pure parts: nothing here opens, reads or writes one.
//!
//! [`ModelHook`] lets several models take part in commits. [`migration`] has the two layouts of a migration
//! and its states, [`stored`] the documents that are stored beside the data, [`held`] the loaded documents.
//! [`plan`] compares tables with a model, and [`rows`] compares rows with it. `crates/models` applies all of
//! this to a database; a [`Report`] says what was done, would be done or could not be done.
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
