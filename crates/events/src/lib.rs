//! What follows a write: changes typed by entity, routed to targets, delivered at least once and in order per key.
//!
//! A [`Change`] is one record of a table's stream with a name for what it is about. A [`Target`] takes batches of them.

mod change;
mod json;
mod target;

pub use change::{Change, ChangeEvent};
pub use json::plain_json;
pub use target::{Batch, Deliver, Delivery, Outcome, Target};
