//! The hook: several models, each called for its own tables.

use std::collections::HashMap;
use std::sync::Arc;

use trestle_api::{Error, Taken};
use trestle_env::Timestamp;
use trestle_hook::{Becomes, Change, Edits, Former, Hook, Refused, Rows, Verdict};
use trestle_item::Item;
use trestle_model::{COPIES_TABLE, LOOSE_VALUES_TABLE, Model, PARTS_TABLE, Refusal, Stopped, change_parts};

use crate::migration::{Document, DualLayout, TableFormer};
use crate::versions_in_force::VersionsInForce;

/// Models that are enforced together. *Invariant*: no table belongs to two of them.
#[derive(Clone, Debug, Default)]
pub struct ModelHook {
    by_table: HashMap<String, Arc<Model>>,
    /// Tables whose rows move to other keys.
    moving: HashMap<String, MovingTable>,
}

/// A table whose rows move to other keys.
#[derive(Clone, Debug)]
struct MovingTable {
    layouts: Arc<DualLayout>,
    /// Whether any row may still have to move.
    may_hold_rows: bool,
    /// The position before which all rows have moved.
    swept: Option<Vec<u8>>,
}

/// A table that two models claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub table: String,
    /// The model that has it.
    pub by: String,
}

impl ModelHook {
    /// Adds a model, unless one of its tables belongs to another one.
    pub fn add(&mut self, model: &Arc<Model>) -> Result<(), Claimed> {
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

    /// Records that the rows of an added model move: keys of two layouts are understood in its tables.
    pub fn move_rows(&mut self, layouts: &Arc<DualLayout>, document: &Document) {
        for table in layouts.layout_change().tables() {
            let moving = MovingTable {
                layouts: Arc::clone(layouts),
                may_hold_rows: document.state.may_hold_rows(),
                swept: document.swept(table),
            };
            self.moving.insert(table.to_owned(), moving);
        }
    }

    /// The same, with versions for inserted rows. Models without an attribute for it are unchanged.
    #[must_use]
    pub fn with_versions(mut self, versions: &VersionsInForce) -> Self {
        let mut changed: Vec<(Arc<Model>, Arc<Model>)> = Vec::new();
        for model in self.by_table.values_mut() {
            let known = changed.iter().find(|(before, _)| Arc::ptr_eq(before, model));
            let after = match known {
                Some((_, after)) => Arc::clone(after),
                None => {
                    let of_model = versions.of_model(model);
                    if of_model.is_empty() {
                        continue;
                    }
                    let after = Arc::new(model.with_versions_in_force(of_model));
                    changed.push((Arc::clone(model), Arc::clone(&after)));
                    after
                }
            };
            *model = after;
        }
        self
    }

    /// The model of a table.
    #[must_use]
    pub fn of_table(&self, table: &str) -> Option<&Arc<Model>> {
        self.by_table.get(table)
    }
}

impl Hook for ModelHook {
    fn covers(&self, table: &str) -> bool {
        // Without a model that has large values, no client puts parts: only a copy does, whose model takes
        // effect later.
        let has_values = || self.by_table.values().any(|model| model.has_large_values());
        self.by_table.contains_key(table) || table == PARTS_TABLE && has_values()
    }

    fn former(&self, table: &str) -> Option<Arc<dyn Former>> {
        let moving = self.moving.get(table)?.clone();
        Some(Arc::new(TableFormer {
            moving: moving.layouts,
            table: table.to_owned(),
            may_hold_rows: moving.may_hold_rows,
            swept: moving.swept,
        }))
    }

    fn moves_rows(&self) -> bool {
        self.moving.values().any(|moving| moving.may_hold_rows)
    }

    fn is_work(&self, table: &str) -> bool {
        table == COPIES_TABLE || table == LOOSE_VALUES_TABLE
    }

    /// The attributes that the row has, and those that its entity could have.
    fn uses(&self, table: &str, row: &Item) -> Option<Vec<String>> {
        let entity = self.of_table(table)?.recognise(table, row).ok()??;
        let declared = entity.attributes().iter().map(|attribute| &attribute.name);
        let absent = declared.filter(|name| !row.contains_key(name));
        Some(row.keys().chain(absent).cloned().collect())
    }

    fn key(&self, table: &str, given: &Item) -> Result<Item, Error> {
        match (self.of_table(table), self.moving.get(table)) {
            (Some(model), Some(moving)) => moving.layouts.key(model, table, given),
            (Some(model), None) => model.key_of(table, given).map_err(|refusal| refused(&refusal)),
            (None, _) => Ok(given.clone()),
        }
    }

    fn place(&self, table: &str, item: &Item, now: Timestamp) -> Result<Edits, Error> {
        match (self.of_table(table), self.moving.get(table)) {
            (Some(model), Some(moving)) => moving.layouts.place(model, table, item, now),
            (Some(model), None) => {
                let edits = model.place_edits(table, item, now.as_millis());
                edits.map_err(|refusal| refused(&refusal))
            }
            (None, _) => Ok(Edits::default()),
        }
    }

    fn change(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
        match changes {
            [one] if one.table == PARTS_TABLE => change_parts(changes, rows),
            [one] => match self.of_table(one.table) {
                Some(model) => asked(model, changes, rows),
                None => Ok(Verdict::default()),
            },
            several => self.each_asked(several, rows),
        }
    }
}

impl ModelHook {
    /// The verdict of the models on several changes: each is called with those of its own tables.
    fn each_asked(&self, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
        let mut verdict = Verdict {
            rows: vec![Becomes::AsWritten; changes.len()],
            ..Verdict::default()
        };
        for (model, positions, own) in self.by_model(changes) {
            let of_model = asked(model, &own, rows).map_err(|refused| Refused {
                at: refused.at.and_then(|at| positions.get(at).copied()),
                error: refused.error,
            })?;
            for (at, becomes) in positions.into_iter().zip(of_model.rows) {
                if let Some(slot) = verdict.rows.get_mut(at) {
                    *slot = becomes;
                }
            }
            verdict.companions.extend(of_model.companions);
        }
        Ok(verdict)
    }

    /// The models of several changes, each with its own changes and their positions.
    fn by_model<'c>(&self, changes: &[Change<'c>]) -> Vec<(&Arc<Model>, Vec<usize>, Vec<Change<'c>>)> {
        let mut by_model: Vec<(&Arc<Model>, Vec<usize>, Vec<Change<'c>>)> = Vec::new();
        for (at, change) in changes.iter().enumerate() {
            let Some(model) = self.of_table(change.table) else {
                continue;
            };
            let mut known = by_model.iter_mut();
            match known.find(|(known, ..)| Arc::ptr_eq(known, model)) {
                Some((_, positions, own)) => {
                    positions.push(at);
                    own.push(*change);
                }
                None => by_model.push((model, vec![at], vec![*change])),
            }
        }
        by_model
    }
}

/// The verdict of a model on the changes of a request in its tables.
fn asked(model: &Model, changes: &[Change<'_>], rows: &dyn Rows) -> Result<Verdict, Refused> {
    model.change(changes, rows).map_err(|blamed| Refused {
        at: Some(blamed.at),
        error: stopped(blamed.why),
    })
}

/// The error for a client when a model stops something.
pub fn stopped(stopped: Stopped) -> Error {
    match stopped {
        Stopped::Refused(refusal) => refused(&refusal),
        Stopped::Rows(error) => error,
    }
}

/// A refusal as an error for a client.
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
        Refusal::Defect { .. } => Error::internal(message),
        _ => Error::validation(message),
    }
}
