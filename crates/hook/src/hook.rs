//! The interface between a database and the meaning of its rows.

use std::fmt;
use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_item::Item;

use crate::{Change, Edits, Former, Refused, Rows, Verdict};

/// Interprets rows: which key a row has, what is stored for it, and which other rows change with it, all in
/// the same commit. Pure: the same changes and rows give the same verdict.
///
/// [`Hook::key`] and [`Hook::place`] run on the thread that makes the request. [`Hook::change`] runs in the
/// commit, while other writes wait.
pub trait Hook: Send + Sync {
    /// Whether the hook applies to this table. Called when a table or the hook changes, not per request.
    fn covers(&self, table: &str) -> bool;

    /// The former places of the table's rows, during a migration. Called together with [`Hook::covers`].
    fn former(&self, _table: &str) -> Option<Arc<dyn Former>> {
        None
    }

    /// Whether rows of any table may still be in former places.
    fn moves_rows(&self) -> bool {
        false
    }

    /// Whether rows of this table are tasks for background work. The hook need not cover the table. After a
    /// commit that adds such a row, the clock's bell rings.
    fn is_work(&self, _table: &str) -> bool {
        false
    }

    /// The attributes of a row on which the result of [`Hook::change`] depends; `None` if it may depend on
    /// all. Used where a change is computed away from the rows and the write then checks that these
    /// attributes are unchanged.
    fn uses(&self, _table: &str, _row: &Item) -> Option<Vec<String>> {
        None
    }

    /// The key of the row that `given` identifies (identifying attributes instead of the key, or the key itself).
    fn key(&self, table: &str, given: &Item) -> Result<Item, Error>;

    /// The edits that give the item of a put its place: with them it has at least its table key.
    fn place(&self, table: &str, item: &Item, now: Timestamp) -> Result<Edits, Error>;

    /// Runs in the commit, after all conditions of the request held: returns the final items and the
    /// companions.
    ///
    /// `changes` are all changes of one request in tables that the hook covers, in arbitrary order: several
    /// for a transaction, otherwise one. `rows` is the state before the request. Also called where `old` and
    /// `new` are equal, but not where neither exists. A refusal rejects the whole request.
    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused>;
}

impl fmt::Debug for dyn Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
