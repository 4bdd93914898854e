//! A new layout of keys on its way: what is known about it, where it stands, and how its rows are found meanwhile.
//!
//! Whoever moves it on is [`Binding`](crate::Binding); here is what it works with.

mod document;
mod figures;
mod guard;
mod moving;
mod pace;
mod plan;
mod progress;
mod rate;
mod state;
mod status;
mod survey;
mod sweeper;

pub(crate) use document::{Document, read};
pub(crate) use figures::Meter;
pub(crate) use guard::Guard;
pub(crate) use moving::{Moving, TableFormer};
pub(crate) use pace::Pace;
pub use plan::{MigrationPlan, PlannedKey, PlannedMove};
pub use progress::{StuckRow, StuckRows, TableProgress};
pub use rate::{Rate, RateError};
pub use state::MigrationState;
pub use status::{MigrationStatus, TableStatus};
pub(crate) use survey::Survey;
pub use sweeper::Sweeper;
