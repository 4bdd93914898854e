//! The models that are stored with the data: see [`Embedded::models`](crate::Embedded::models).
//!
//! A generated client applies its own model (`apply_to`, `migrate_to`). This is for everything else: a dry
//! run, rows that are older than the model, and a list of the models in force.
//!
//! ```
//! use trestle::models::{ApplyOptions, Unwatched};
//! use trestle::{Embedded, Options};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let db = Embedded::in_memory(Options::default())?;
//! let text = include_str!("../examples/shop.toml");
//! let dry_run = ApplyOptions { dry_run: true, ..ApplyOptions::default() };
//! println!("{}", db.models().apply(text, dry_run, &mut Unwatched)?);
//! assert!(db.models().list().is_empty());
//! # Ok(())
//! # }
//! ```

pub use trestle_binding::{
    BindError, Misfit, ModelSummary, Obstacle, Outcome, Report, Step, StuckRow, StuckRows, TableProgress,
    TableRows, TableStatus,
};
pub use trestle_models::{ApplyOptions, Models, Unwatched, Watcher};
