//! The seam for somebody who knows what rows mean. The engine knows keys, items and commits; a [`Hook`] says which key
//! a row has, what its item must become, and which other rows follow from it, and all of it commits together.

use std::fmt;
use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_item::Item;

use crate::former::Former;

/// What rows must become, said by somebody who knows what they mean. Pure: the same change and rows give the same
/// verdict.
///
/// A hook takes effect with [`Engine::install`](crate::Engine::install). [`Hook::key`] and [`Hook::place`] run where the
/// request is called, [`Hook::change`] runs in the commit: other writes wait meanwhile.
pub trait Hook: Send + Sync {
    /// Whether the hook has anything to say about this table. Asked when a table or the hook changes, not per request.
    fn covers(&self, table: &str) -> bool;

    /// The former places of the table's rows, while they move to others. Asked together with [`Hook::covers`].
    fn former(&self, _table: &str) -> Option<Arc<dyn Former>> {
        None
    }

    /// The key of the row that `given` identifies (identifying attributes instead of the key, or the key itself).
    fn key(&self, table: &str, given: &Item) -> Result<Item, Error>;

    /// The item of a put with at least its table key filled in, so that it can be placed.
    fn place(&self, table: &str, item: Item, now: Timestamp) -> Result<Item, Error>;

    /// Runs in the commit, after the condition held: the final item, and the rows that follow from it.
    ///
    /// Also asked where `old` and `new` are equal, but not where neither exists. A refusal refuses the request, and leaves nothing of it behind.
    fn change(&self, change: &ItemChange<'_>, rows: &dyn Rows) -> Result<Verdict, Error>;
}

impl fmt::Debug for dyn Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

/// A row before and after a write whose condition held.
#[derive(Clone, Copy, Debug)]
pub struct ItemChange<'a> {
    /// The table's name.
    pub table: &'a str,
    /// The row as it is, if there is one.
    pub old: Option<&'a Item>,
    /// The row as the write leaves it; `None` where it is removed.
    pub new: Option<&'a Item>,
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
    /// The write follows from another row's verdict.
    Companion,
}

/// What a change comes to.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// The item as it must be stored; `None`: as it came. It keeps its table key, and a removed row has none.
    pub item: Option<Item>,
    /// The rows that follow, written in this order after the row itself.
    pub companions: Vec<Companion>,
}

/// A row that follows from another's change.
#[derive(Clone, Debug, PartialEq)]
pub struct Companion {
    /// The table's name.
    pub table: String,
    /// The row's table key.
    pub key: Item,
    /// The row's whole new state; `None` removes it.
    pub item: Option<Item>,
}

/// Rows as of this moment of the commit: storage, the group's staged writes, this request's own.
pub trait Rows {
    /// The row with this table key.
    fn get(&self, table: &str, key: &Item) -> Result<Option<Arc<Item>>, Error>;

    /// All rows that the query selects in a table or index, in its order, however many pages that would be.
    ///
    /// `limit` ends the answer after that many rows that pass the filter.
    fn query(&self, query: &trestle_api::Query) -> Result<Vec<Item>, Error>;
}
