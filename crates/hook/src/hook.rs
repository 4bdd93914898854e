//! The seam between a database and the meaning of its rows.

use std::fmt;
use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_item::Item;

use crate::{Change, Edits, Former, Refused, Rows, Verdict};

/// Knows what rows mean: which key a row has, what its item must become, and which other rows follow from it. All of it
/// commits together. Pure: the same changes and rows give the same verdict.
///
/// [`Hook::key`] and [`Hook::place`] run where the request is called, [`Hook::change`] runs in the commit: other writes
/// wait meanwhile.
pub trait Hook: Send + Sync {
    /// Whether the hook has anything to say about this table. Asked when a table or the hook changes, not per request.
    fn covers(&self, table: &str) -> bool;

    /// The former places of the table's rows, while they move to others. Asked together with [`Hook::covers`].
    fn former(&self, _table: &str) -> Option<Arc<dyn Former>> {
        None
    }

    /// Whether rows of any table may still lie in former places.
    fn moves_rows(&self) -> bool {
        false
    }

    /// Whether a row of this table, which the hook need not cover, is work for the background. After a commit that adds such a
    /// row, the clock's bell rings.
    fn is_work(&self, _table: &str) -> bool {
        false
    }

    /// The attributes of a row that decide what [`Hook::change`] makes of it, where that can be told; `None` stands for all. Asked
    /// where a change is computed away from the rows, which must be checked to be as they were read.
    fn uses(&self, _table: &str, _row: &Item) -> Option<Vec<String>> {
        None
    }

    /// The key of the row that `given` identifies (identifying attributes instead of the key, or the key itself).
    fn key(&self, table: &str, given: &Item) -> Result<Item, Error>;

    /// What is changed in the item of a put so that it can be placed: afterwards it has at least its table key.
    fn place(&self, table: &str, item: &Item, now: Timestamp) -> Result<Edits, Error>;

    /// Runs in the commit, after all conditions of the request held: the final items, and the rows that follow.
    ///
    /// `changes` are all changes of one request in tables that the hook covers, in no order that means anything: several
    /// for a transaction, otherwise one. `rows` is the state before the request. Also asked where `old` and `new` are
    /// equal, but not where neither exists. A refusal refuses the request, and leaves nothing of it behind.
    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused>;
}

impl fmt::Debug for dyn Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}
