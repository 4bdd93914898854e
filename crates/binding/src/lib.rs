//! A model bound to the embedded engine: the commit hook, the stored models, apply and diff.
//!
//! [`Binding::open`] loads the models that are stored with the data and lets the engine enforce them;
//! [`Binding::apply`] makes the database what a model says. What it did, would do or could not do is a [`Report`].
//!
//! A version with other keys is a migration: [`Binding::start_migration`] lets it take effect at once, and a [`Sweeper`]
//! moves the rows while they are read and written.

mod audit;
mod binding;
mod call;
mod clearing;
mod counts;
mod facts;
mod fill;
mod migration;
mod models;
mod plan;
mod repair;
mod report;
mod request;
mod rows;
mod schema;
mod step;
mod stored;
mod verify;
mod watcher;

pub use binding::{ApplyOptions, BindError, Binding, PlanOptions, RepairOptions, Standing, StartOptions};
pub use facts::{ModelFacts, ModelRepair, RepairReport, ToDo, WrongFact};
pub use migration::{
    MigrationPlan, MigrationState, MigrationStatus, PlannedKey, PlannedMove, Rate, RateError, StuckRow,
    StuckRows, Sweeper, TableProgress, TableStatus,
};
pub use models::Models;
pub use report::{Misfit, ModelSummary, Obstacle, Outcome, Report, Step, TableRows};
pub use request::request;
pub use verify::{Verified, VerifyOptions, VerifyWatcher, verify};
pub use watcher::{Nobody, Watcher};
