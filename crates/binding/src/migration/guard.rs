//! The hook while every row is looked at before a migration begins: nothing is written meanwhile that could not move.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_hook::{Change, Edits, Former, Hook, Refused, Rows, Verdict};
use trestle_item::Item;
use trestle_model::Relayout;

use crate::models::Models;

/// The models in effect, and what is about to move.
#[derive(Debug)]
pub(crate) struct Guard {
    models: Models,
    relayout: Relayout,
}

impl Guard {
    pub(crate) fn new(models: Models, relayout: Relayout) -> Self {
        Guard { models, relayout }
    }

    fn check(&self, table: &str, row: &Item) -> Result<(), Error> {
        let refused = |why: &dyn std::fmt::Display| {
            Error::validation(format!(
                "The write was refused: a migration is about to begin, and the row could not take part: {why}"
            ))
        };
        if self.relayout.is_former(table, row) {
            let renewed = self.relayout.renew(table, row);
            return renewed.map(drop).map_err(|refusal| refused(&refusal));
        }
        match self.relayout.former_place(table, row) {
            Some(_) => Err(refused(&"another row may belong in its place")),
            None => Ok(()),
        }
    }
}

impl Hook for Guard {
    fn covers(&self, table: &str) -> bool {
        self.models.covers(table)
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        self.models.former(table)
    }

    fn key(&self, table: &str, given: &Item) -> Result<Item, Error> {
        self.models.key(table, given)
    }

    fn place(&self, table: &str, item: &Item, now: Timestamp) -> Result<Edits, Error> {
        self.models.place(table, item, now)
    }

    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
        let verdict = self.models.change(changes, rows)?;
        for (at, change) in changes.iter().enumerate() {
            if let Some(row) = verdict.row(at).clone().apply(change.new.cloned()) {
                let checked = self.check(change.table, &row);
                checked.map_err(|error| Refused { at: Some(at), error })?;
            }
        }
        Ok(verdict)
    }
}
