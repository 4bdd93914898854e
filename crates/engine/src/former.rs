//! Rows that are still stored under the keys of an earlier layout. Reads find them, writes move them first,
//! and a sweep moves the rest, so that the layout changes while clients read and write.
//!
//! *Invariant*: a row is in one place in every snapshot. A row in its former place never changes there: a write of
//! it moves it first, in the same commit.

mod candidates;
mod find;
mod merge;
mod moving;
mod neighbours;
mod renewed;
mod sweep;
mod swept;
mod windows;

use trestle_hook::Former;

use crate::storage_reads::count_double_read;

pub(crate) use find::{AtPlace, find, find_in};
pub(crate) use merge::rows;
pub use sweep::walked;
pub(crate) use swept::Swept;
pub(crate) use windows::Windows;

/// Counts a lookup in former places.
fn count_look(former: &dyn Former) {
    former.looked();
    count_double_read();
}
