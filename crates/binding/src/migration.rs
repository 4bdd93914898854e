//! A migration to a new layout of keys: its document, its state, and how its rows are found.
//!
//! `crates/models` executes it with these parts.

mod document;
mod dual_layout;
mod figures;
mod guard;
mod guard_document;
mod pace;
mod plan;
mod progress;
mod rate;
mod state;
mod status;

pub use document::{Document, read};
pub use dual_layout::DualLayout;
pub(crate) use dual_layout::TableFormer;
pub use figures::Meter;
pub use guard::Guard;
pub use guard_document::GuardDocument;
pub use pace::{Pace, SweptPage};
pub use plan::{MigrationPlan, PlannedKey, PlannedMove};
pub use progress::{StuckRow, StuckRows, TableProgress};
pub use rate::{Rate, RateError};
pub use state::MigrationState;
pub use status::{MigrationStatus, TableStatus};
