//! How far a pass over the rows is, and which rows cannot move.

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_item::Item;

use crate::rows::key_json;

/// How many rows that cannot move are shown.
const STUCK_SHOWN: usize = 20;

/// How far a pass over one table is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TableProgress {
    /// The table.
    pub table: String,
    /// Rows in the table when the migration began.
    pub rows: u64,
    /// Rows to be moved then; those that were written since have moved by themselves.
    pub to_move: u64,
    /// Rows looked at in this pass.
    pub looked_at: u64,
    /// Rows moved by all passes.
    pub moved: u64,
    /// Where this pass goes on.
    pub position: Option<Vec<u8>>,
    /// How much of the table lies before that position, from 0 to 1.
    #[serde(default)]
    pub before_position: f64,
    /// Whether this pass is through with the table.
    pub finished: bool,
}

impl TableProgress {
    /// Nothing was looked at yet.
    pub fn new(table: &str, rows: u64, to_move: u64) -> Self {
        TableProgress {
            table: table.to_owned(),
            rows,
            to_move,
            ..TableProgress::default()
        }
    }

    /// How much of the table this pass has walked, from 0 to 1.
    #[must_use]
    pub fn walked(&self) -> f64 {
        match self.position {
            _ if self.finished => 1.0,
            Some(_) => self.before_position,
            None => 0.0,
        }
    }

    /// Another pass begins.
    pub fn restart(&mut self) {
        (self.position, self.before_position) = (None, 0.0);
        (self.finished, self.looked_at) = (false, 0);
    }

    /// A page more was looked at. `next` is where the next one begins, and how much of the table lies before it.
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

/// Rows that cannot move: how many, and the first of them.
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
    /// Why it cannot move.
    pub reason: String,
}

impl StuckRows {
    /// Takes in the rows of a page: their keys, and why each cannot move.
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
