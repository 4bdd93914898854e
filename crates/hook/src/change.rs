//! A row before and after a write.

use std::sync::Arc;

use trestle_env::Timestamp;
use trestle_item::Item;

/// A row before and after a write whose condition held.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The table's name in the database.
    pub table: &'a str,
    /// The row as it is, if there is one.
    pub old: Option<&'a Arc<Item>>,
    /// The row as the write leaves it; `None` where it is removed.
    pub new: Option<&'a Arc<Item>>,
    /// The commit's time.
    pub now: Timestamp,
    /// Who writes.
    pub by: By,
}

/// Who writes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// A request.
    Client,
    /// The expiry of the row's time to live.
    TimeToLive,
    /// A reindex, which raises the version attribute of the row and changes nothing else.
    Touch,
    /// A second look at a row that came while another write looked for the rows of its group. The row is as it was written; what
    /// follows from it is computed again.
    SecondLook,
    /// The write follows from another one: see [`Verdict::companions`](crate::Verdict::companions).
    Companion,
}
