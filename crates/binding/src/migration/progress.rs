//! The progress of a pass over the rows, and rows that cannot move.

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_item::Item;

use crate::rows::key_json;

/// How many rows that cannot move are shown.
const STUCK_SHOWN: usize = 20;

/// The progress of a pass over one table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableProgress {
    /// The table.
    pub table: String,
    /// Rows in the table when the migration began.
    pub rows: u64,
    /// Rows to be moved at that time; rows that were written since have moved by that.
    pub to_move: u64,
    /// Rows read in this pass.
    pub looked_at: u64,
    /// Rows moved by all passes.
    pub moved: u64,
    /// Where this pass continues.
    pub position: Option<Vec<u8>>,
    /// The fraction of the table before that position, from 0 to 1.
    #[serde(default)]
    pub before_position: f64,
    /// Whether this pass has finished the table.
    pub finished: bool,
}

impl TableProgress {
    /// The progress before any row was read.
    pub fn new(table: &str, rows: u64, to_move: u64) -> Self {
        TableProgress {
            table: table.to_owned(),
            rows,
            to_move,
            ..TableProgress::default()
        }
    }

    /// The finished fraction of the table in this pass, from 0 to 1.
    #[must_use]
    pub fn walked(&self) -> f64 {
        match self.position {
            _ if self.finished => 1.0,
            Some(_) => self.before_position,
            None => 0.0,
        }
    }

    /// Begins another pass.
    pub fn restart(&mut self) {
        (self.position, self.before_position) = (None, 0.0);
        (self.finished, self.looked_at) = (false, 0);
    }

    /// Records a page. `next` is where the next one begins, with the fraction of the table before it.
    pub fn page(&mut self, looked_at: u64, moved: u64, next: Option<(Vec<u8>, f64)>) {
        self.looked_at += looked_at;
        self.moved += moved;
        self.finished = next.is_none();
        (self.position, self.before_position) = match next {
            Some((position, before)) => (Some(position), before),
            None => (None, 0.0),
        };
    }
}

/// Rows that cannot move: their number, and the first of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckRows {
    /// How many.
    pub rows: u64,
    /// The first of them.
    pub shown: Vec<StuckRow>,
}

/// A row that cannot move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckRow {
    /// Its table.
    pub table: String,
    /// Its key in its former place, as DynamoDB's JSON.
    pub key: serde_json::Value,
    /// The reason.
    pub reason: String,
}

impl StuckRows {
    /// Adds rows of a page: their keys, each with its reason.
    pub fn add<'r>(
        &mut self,
        table: &str,
        stuck: impl IntoIterator<Item = (&'r Item, &'r str)>,
    ) -> Result<(), Error> {
        for (key, reason) in stuck {
            self.rows += 1;
            if self.shown.len() < STUCK_SHOWN {
                self.shown.push(StuckRow {
                    table: table.to_owned(),
                    key: key_json(key)?,
                    reason: reason.to_owned(),
                });
            }
        }
        Ok(())
    }
}
