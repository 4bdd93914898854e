//! What the engine and a model say to each other. The engine knows keys, items and commits; a [`Hook`] knows what rows
//! mean. Both use these types, so that nothing is translated between them.
//!
//! - [`Change`] is a row before and after a write; [`Verdict`] is what the changes of a request come to.
//! - [`Rows`] is the database at the moment of the commit, and [`RowQuery`] a question to it.
//! - [`Host`] is a database in which models are in force, for what drives models: an engine or an endpoint.
//! - [`Former`] tells where rows lie while their keys change.
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod change;
mod former;
mod hook;
mod host;
mod rows;
mod verdict;

pub use change::{By, Change};
pub use former::{Belongs, Former, FormerRange, Renewal, Sources};
pub use hook::Hook;
pub use host::{
    AmendWork, Amending, Documents, Host, HostView, Lying, Met, MovedPage, Remaining, Started, Stuck, amend,
};
pub use rows::{RowQuery, Rows};
pub use verdict::{Becomes, Companion, Edits, Refused, Verdict};
