//! The hook: several models, each asked about its own tables.

use std::collections::HashMap;
use std::sync::Arc;

use trestle_api::{Error, Taken};
use trestle_engine::{Companion, Former, Hook, ItemChange, Rows, Verdict};
use trestle_env::Timestamp;
use trestle_item::Item;
use trestle_model::{Changed, Model, Refusal, Stopped};

use crate::commit_rows::CommitRows;
use crate::migration::{Moving, TableFormer};

/// Models that are enforced together. *Invariant*: no table is in two of them.
#[derive(Clone, Debug, Default)]
pub struct Models {
    by_table: HashMap<String, Arc<Model>>,
    /// Tables whose rows move to other keys, and whether any may still have to.
    moving: HashMap<String, (Arc<Moving>, bool)>,
}

/// A table that two models claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claimed {
    pub(crate) table: String,
    /// The model that has it.
    pub(crate) by: String,
}

impl Models {
    /// Takes in another model, unless it claims a table that is another's.
    pub(crate) fn add(&mut self, model: &Arc<Model>) -> Result<(), Claimed> {
        for table in model.tables() {
            if let Some(other) = self.by_table.get(table.table_name()) {
                return Err(Claimed {
                    table: table.table_name().to_owned(),
                    by: other.name().to_owned(),
                });
            }
        }
        for table in model.tables() {
            self.by_table
                .insert(table.table_name().to_owned(), Arc::clone(model));
        }
        Ok(())
    }

    /// Rows of a model that was taken in move: keys of two layouts are understood in its tables.
    pub(crate) fn move_rows(&mut self, moving: &Arc<Moving>, may_hold_rows: bool) {
        for table in moving.relayout().tables() {
            self.moving
                .insert(table.to_owned(), (Arc::clone(moving), may_hold_rows));
        }
    }

    /// The model of a table.
    #[must_use]
    pub fn of_table(&self, table: &str) -> Option<&Arc<Model>> {
        self.by_table.get(table)
    }
}

impl Hook for Models {
    fn covers(&self, table: &str) -> bool {
        self.by_table.contains_key(table)
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        let (moving, may_hold_rows) = self.moving.get(table)?;
        Some(Arc::new(TableFormer {
            moving: Arc::clone(moving),
            table: table.to_owned(),
            may_hold_rows: *may_hold_rows,
        }))
    }

    fn key(&self, table: &str, given: &Item) -> Result<Item, Error> {
        match (self.of_table(table), self.moving.get(table)) {
            (Some(model), Some((moving, _))) => moving.key(model, table, given),
            (Some(model), None) => model.key_of(table, given).map_err(|refusal| refused(&refusal)),
            (None, _) => Ok(given.clone()),
        }
    }

    fn place(&self, table: &str, item: Item, now: Timestamp) -> Result<Item, Error> {
        match (self.of_table(table), self.moving.get(table)) {
            (Some(model), Some((moving, _))) => moving.place(model, table, item, now),
            (Some(model), None) => {
                let placed = model.place(table, item, now.as_millis());
                placed.map_err(|refusal| refused(&refusal))
            }
            (None, _) => Ok(item),
        }
    }

    fn change(&self, change: &ItemChange<'_>, rows: &dyn Rows) -> Result<Verdict, Error> {
        match self.of_table(change.table) {
            Some(model) => asked(model, change, rows).map(verdict),
            None => Ok(Verdict::default()),
        }
    }
}

/// What a model makes of a change.
pub(crate) fn asked(model: &Model, change: &ItemChange<'_>, rows: &dyn Rows) -> Result<Changed, Error> {
    let change = trestle_model::Change {
        table_name: change.table,
        old: change.old,
        new: change.new,
        now_ms: change.now.as_millis(),
        by: match change.by {
            trestle_engine::By::Client => trestle_model::By::Client,
            trestle_engine::By::TimeToLive => trestle_model::By::TimeToLive,
            trestle_engine::By::Companion => trestle_model::By::Companion,
        },
    };
    model
        .change(&change, &CommitRows(rows))
        .map_err(|stopped| match stopped {
            Stopped::Refused(refusal) => refused(&refusal),
            Stopped::Rows(error) => error,
        })
}

/// The same, in the engine's words.
pub(crate) fn verdict(changed: Changed) -> Verdict {
    let companions = changed.companions.into_iter();
    Verdict {
        item: changed.item,
        companions: companions
            .map(|companion| Companion {
                table: companion.table_name,
                key: companion.key,
                item: companion.item,
            })
            .collect(),
    }
}

/// A refusal as a client sees it.
pub(crate) fn refused(refusal: &Refusal) -> Error {
    let message = refusal.to_string();
    match refusal.cause() {
        Refusal::Taken {
            entity,
            attributes,
            value,
            owner,
        } => {
            let taken = Taken {
                entity: entity.clone(),
                attributes: attributes.clone(),
                value: value.clone(),
                owner: owner.clone(),
            };
            Error::taken(message, taken)
        }
        _ => Error::validation(message),
    }
}
