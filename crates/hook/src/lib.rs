//! The types that the engine and a model exchange. The engine knows keys, items and commits; a [`Hook`] knows
//! what rows mean. Both use these types directly, without translation.
//!
//! - [`Change`] is a row before and after a write; [`Verdict`] is the hook's answer to the changes of a
//!   request.
//! - [`Rows`] is the database at the moment of the commit, and [`RowQuery`] a query on it.
//! - [`Host`] is a database in which models are in force, an engine or an endpoint, as the code that manages
//!   models sees it.
//! - [`Former`] computes where rows are stored while their keys change.
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
