//! From a model's text to a database that enforces it: plan, inspect the rows, take the steps, install, fill in.

use std::sync::Arc;

use trestle_engine::Hook;
use trestle_model::{Counter, Effect, Entity, Model, Once};

use super::{BindError, Binding, Held, together};
use crate::fill::{self, Filling};
use crate::plan::{Plan, plan};
use crate::report::{Obstacle, Outcome, Report, Step, TableRows};
use crate::rows::Inspection;
use crate::step;
use crate::stored::Stored;
use crate::watcher::Watcher;

/// How to apply a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Only say what would be done.
    pub dry_run: bool,
    /// Fill in what rows from before lack, and make what follows from them.
    pub fill: bool,
    /// Delete global indexes that the model does not have, and build anew those that differ.
    pub delete_indexes: bool,
}

/// A model on its way into the database.
struct Work {
    text: String,
    model: Arc<Model>,
    /// Its newest version so far, and what that said, if it loads.
    before: Option<Held>,
    others: Vec<Held>,
    options: ApplyOptions,
    /// Tables with rows that lack something, or from which something follows that was not made.
    waiting: Vec<String>,
    report: Report,
}

impl Binding {
    /// Makes the database what the model says, or says why it cannot. Repeating it does nothing more.
    ///
    /// Tables and indexes change one permitted step at a time. Rows are checked before anything is changed.
    pub fn apply(
        &self,
        text: &str,
        options: ApplyOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<Report, BindError> {
        let _one_at_a_time = self.applying.lock();
        let mut work = self.prepare(text, options)?;
        self.look(&mut work, watcher)?;
        work.conclude();
        if work.report.outcome == Outcome::Planned && !options.dry_run {
            self.carry_out(&mut work, watcher)?;
        }
        Ok(work.report)
    }

    fn prepare(&self, text: &str, options: ApplyOptions) -> Result<Work, BindError> {
        let loaded = trestle_model::load(text);
        let Some(model) = loaded.model else {
            return Err(BindError::Unsound(loaded.problems));
        };
        let held = self.held.lock().clone();
        let (before, others): (Vec<Held>, Vec<Held>) = held
            .into_iter()
            .partition(|held| held.stored.name == model.name());
        // Whatever stands in the way of the other models would stand in the way of this one, too.
        together(&others)?;
        Ok(Work {
            text: text.to_owned(),
            report: Report::new(model.name()),
            model: Arc::new(model),
            before: before.into_iter().next(),
            others,
            options,
            waiting: Vec::new(),
        })
    }

    /// Compares tables, then rows.
    fn look(&self, work: &mut Work, watcher: &mut dyn Watcher) -> Result<(), BindError> {
        let Plan {
            steps,
            obstacles,
            notes,
            existing,
        } = plan(&self.engine, &work.model, work.options.delete_indexes)?;
        work.report.steps = steps;
        work.report.obstacles = obstacles;
        work.report.notes = notes;
        work.claims();
        if !work.needs_inspection() {
            return Ok(());
        }
        let now_ms = self.clock.now().as_millis();
        for name in existing {
            let blocked = |obstacle: &Obstacle| obstacle.table == name;
            let Some(table) = work.model.table(&name) else {
                continue;
            };
            if work.report.obstacles.iter().any(blocked) {
                continue;
            }
            step::wait(&self.engine, &name)?;
            let rows = Inspection::new(&work.model, table, now_ms).run(&self.engine, watcher)?;
            work.found(rows);
        }
        Ok(())
    }

    fn carry_out(&self, work: &mut Work, watcher: &mut dyn Watcher) -> Result<(), BindError> {
        for step in work.report.steps.clone() {
            watcher.step(&step);
            match step {
                Step::StoreModel { version } => self.store(work, version)?,
                Step::FillIn { table } => self.fill_in(work, &table, watcher)?,
                step => step::take(&self.engine, &work.model, &step)?,
            }
        }
        work.report.outcome = Outcome::Applied;
        if work.options.fill && !work.waiting.is_empty() {
            self.filled(work)?;
        }
        Ok(())
    }

    fn store(&self, work: &mut Work, version: u64) -> Result<(), BindError> {
        let stored = Stored {
            name: work.model.name().to_owned(),
            version,
            applied: self.clock.now(),
            filled_in: work.waiting.is_empty(),
            text: work.text.clone(),
        };
        self.install(work, stored, None)
    }

    /// Stores a version and lets it take effect, with another hook than usual if there is one.
    fn install(&self, work: &mut Work, stored: Stored, hook: Option<Arc<dyn Hook>>) -> Result<(), BindError> {
        let document = stored.to_document()?;
        work.report.version = Some(stored.version);
        let new = Held {
            stored,
            model: Ok(Arc::clone(&work.model)),
        };
        let mut held = work.others.clone();
        held.push(new.clone());
        held.sort_by(|a, b| a.stored.name.cmp(&b.stored.name));
        let hook = match hook {
            Some(hook) => hook,
            None => Arc::new(together(&held)?),
        };
        self.engine.install(vec![document], Some(hook))?;
        work.before = Some(new);
        *self.held.lock() = held;
        Ok(())
    }

    /// Fills in the rows of one table. Whatever happens, the usual hook is back afterwards.
    fn fill_in(&self, work: &mut Work, table: &str, watcher: &mut dyn Watcher) -> Result<(), BindError> {
        let Some(stored) = work.before.as_ref().map(|held| held.stored.clone()) else {
            return Ok(());
        };
        let mut held = work.others.clone();
        held.extend(work.before.clone());
        let filling = Filling::new(together(&held)?, Arc::clone(&work.model));
        self.install(work, stored.clone(), Some(Arc::new(filling)))?;
        let filled = fill::table(&self.engine, &work.model, table, watcher);
        self.install(work, stored, None)?;
        let refused = filled?;
        let found = work.report.rows.iter_mut().find(|rows| rows.table == table);
        if let Some(found) = found {
            found.misfits = refused;
        }
        Ok(())
    }

    /// Remembers that rows from before are whole now.
    fn filled(&self, work: &mut Work) -> Result<(), BindError> {
        if work.report.rows.iter().any(|rows| !rows.misfits.is_empty()) {
            work.report.outcome = Outcome::Incomplete;
            return Ok(());
        }
        let Some(held) = &work.before else { return Ok(()) };
        let stored = Stored {
            filled_in: true,
            ..held.stored.clone()
        };
        self.install(work, stored, None)
    }
}

impl Work {
    fn is_changed(&self) -> bool {
        self.before
            .as_ref()
            .is_none_or(|held| held.stored.text != self.text)
    }

    fn was_filled_in(&self) -> bool {
        self.before.as_ref().is_some_and(|held| held.stored.filled_in)
    }

    /// Rows written under the same text fit already.
    fn needs_inspection(&self) -> bool {
        self.is_changed() || (self.options.fill && !self.was_filled_in())
    }

    /// Tables that another model has, and tables that the model had.
    fn claims(&mut self) {
        for other in self.others.iter().filter_map(|held| held.model.as_ref().ok()) {
            for table in other.tables() {
                if self.model.table(table.table_name()).is_some() {
                    self.report.obstacles.push(Obstacle {
                        table: table.table_name().to_owned(),
                        what: "its model".to_owned(),
                        there: format!("model {}", other.name()),
                        wanted: format!("model {}", self.model.name()),
                        way_out: format!(
                            "a table has one model: give one of the two a `table_prefix`, or put the entities into one \
                             model, or let go of the other (`trestle model remove {}`)",
                            other.name()
                        ),
                    });
                }
            }
        }
        let before = self.before.as_ref().and_then(|held| held.model.as_ref().ok());
        for table in before.iter().flat_map(|before| before.tables()) {
            if self.model.table(table.table_name()).is_none() {
                self.report.notes.push(format!(
                    "table {} is no longer in the model; it stays as it is, and nothing is enforced there",
                    table.table_name()
                ));
            }
        }
    }

    fn found(&mut self, rows: TableRows) {
        if rows.looked_at == 0 {
            return;
        }
        if rows.to_fill_in > 0 || self.has_new_effects(&rows.table) {
            self.waiting.push(rows.table.clone());
        }
        if rows.to_fill_in > 0 && !self.options.fill {
            self.report.obstacles.push(Obstacle {
                table: rows.table.clone(),
                what: "its rows".to_owned(),
                there: format!(
                    "{} of {} rows lack an index key, the tag, a default or an attribute that only the key has",
                    rows.to_fill_in, rows.looked_at
                ),
                wanted: "whole rows".to_owned(),
                way_out: "--fill fills them in".to_owned(),
            });
        }
        self.report.rows.push(rows);
    }

    fn entities_of<'m>(&'m self, table: &str) -> impl Iterator<Item = &'m Entity> {
        let table = self.model.table(table);
        table.into_iter().flat_map(|table| self.model.entities_of(table))
    }

    /// Whether something follows from rows that did not follow before.
    fn has_new_effects(&self, table: &str) -> bool {
        let before = self.before.as_ref().filter(|held| held.stored.filled_in);
        let before = before.and_then(|held| held.model.as_ref().ok());
        self.entities_of(table).any(|entity| {
            let known = before.and_then(|before| before.entity(entity.name()));
            let known = known.map(Entity::effects).unwrap_or_default();
            let mut effects = entity.effects().iter();
            effects.any(|effect| !matches!(effect, Effect::Copy(_)) && !known.contains(effect))
        })
    }

    /// What remains to be done, and whether it can be.
    fn conclude(&mut self) {
        let before = self.before.as_ref().map(|held| held.stored.version);
        self.report.version = before;
        if self.is_changed() {
            let version = before.unwrap_or(0) + 1;
            self.report.steps.push(Step::StoreModel { version });
        }
        if self.options.fill {
            let tables = self.waiting.iter().cloned();
            self.report
                .steps
                .extend(tables.map(|table| Step::FillIn { table }));
        }
        self.say_what_follows();
        let misfits = self.report.rows.iter().any(|rows| !rows.misfits.is_empty());
        self.report.outcome = if misfits || !self.report.obstacles.is_empty() {
            Outcome::Refused
        } else if self.report.steps.is_empty() {
            Outcome::NothingToDo
        } else {
            Outcome::Planned
        };
    }

    fn say_what_follows(&mut self) {
        let outstanding = !self.is_changed() && !self.was_filled_in();
        if !self.options.fill && (outstanding || !self.waiting.is_empty()) {
            self.report.notes.push(
                "what follows from rows of before (heads, inverses, unique values) is made with --fill, not by itself"
                    .to_owned(),
            );
        }
        let counters: Vec<String> = self
            .waiting
            .iter()
            .filter(|_| self.options.fill)
            .flat_map(|table| self.entities_of(table))
            .flat_map(|entity| row_counters(entity).map(|counter| (entity.name(), counter)))
            .map(|(entity, counter)| {
                format!(
                    "counter {} of entity {entity} counts from now on; rows of before are not counted",
                    counter.name
                )
            })
            .collect();
        self.report.notes.extend(counters);
    }
}

/// Counters that count rows, not events: counting a row again would count it twice.
pub(crate) fn row_counters(entity: &Entity) -> impl Iterator<Item = &Counter> {
    entity.effects().iter().filter_map(|effect| match effect {
        Effect::Counter(counter) if counter.once == Once::Row => Some(counter),
        _ => None,
    })
}
