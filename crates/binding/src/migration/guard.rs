//! The hook during the check of all rows before a migration begins: it refuses writes of rows that could not
//! move.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_hook::{Change, Edits, Former, Hook, Refused, Rows, Verdict};
use trestle_item::Item;
use trestle_model::LayoutChange;

use crate::model_hook::ModelHook;

/// The models in effect, with the coming layout change.
#[derive(Debug)]
pub struct Guard {
    hook: ModelHook,
    layout_change: LayoutChange,
}

impl Guard {
    /// Guards the models in effect during the check.
    #[must_use]
    pub fn new(hook: ModelHook, layout_change: LayoutChange) -> Self {
        Guard { hook, layout_change }
    }

    fn check(&self, table: &str, row: &Item) -> Result<(), Error> {
        let refused = |why: &dyn std::fmt::Display| {
            Error::validation(format!(
                "The write was refused: a migration is about to begin, and the row could not take part: {why}"
            ))
        };
        if self.layout_change.is_former(table, row) {
            let renewed = self.layout_change.renew(table, row);
            return renewed.map(drop).map_err(|refusal| refused(&refusal));
        }
        match self.layout_change.former_place(table, row) {
            Some(_) => Err(refused(&"another row may belong in its place")),
            None => Ok(()),
        }
    }
}

impl Hook for Guard {
    fn covers(&self, table: &str) -> bool {
        self.hook.covers(table)
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        self.hook.former(table)
    }

    fn moves_rows(&self) -> bool {
        self.hook.moves_rows()
    }

    fn is_work(&self, table: &str) -> bool {
        self.hook.is_work(table)
    }

    fn key(&self, table: &str, given: &Item) -> Result<Item, Error> {
        self.hook.key(table, given)
    }

    fn place(&self, table: &str, item: &Item, now: Timestamp) -> Result<Edits, Error> {
        self.hook.place(table, item, now)
    }

    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
        let verdict = self.hook.change(changes, rows)?;
        for (at, change) in changes.iter().enumerate() {
            if let Some(row) = verdict.row(at).clone().apply(change.new.cloned()) {
                let checked = self.check(change.table, &row);
                checked.map_err(|error| Refused { at: Some(at), error })?;
            }
        }
        Ok(verdict)
    }
}
