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
    /// The row after the write; `None` if the write removes it.
    pub new: Option<&'a Arc<Item>>,
    /// The commit's time.
    pub now: Timestamp,
    /// The origin of the write.
    pub by: By,
}

/// The origin of the write of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum By {
    /// A request.
    Client,
    /// The expiry of the row's time to live.
    TimeToLive,
    /// A reindex, which raises the version attribute of the row and changes nothing else.
    Touch,
    /// The repeated computation for a row that was written while another write read the rows of its group.
    /// The row stays as it was written; only the effects of the write are computed again.
    SecondLook,
    /// The write is an effect of another one: see [`Verdict::companions`](crate::Verdict::companions).
    Companion,
}
