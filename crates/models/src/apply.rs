//! From a model's text to a database that enforces it: plan, inspect the rows, take the steps, install, fill in.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trestle_binding::rows::Inspection;
use trestle_binding::stored::Stored;
use trestle_binding::{Outcome, Report, Step};
use trestle_hook::HostView;
use trestle_model::audit::AuditOptions;

use crate::audit::{audit, heads_set_back};
use crate::fill;
use crate::hidden_tables;
use crate::inspect::inspect;
use crate::step;
use crate::watcher::{Until, Watcher, go_on};
use crate::work::{Work, planned_table};
use crate::{BindError, Held, Models, loaded, together};

/// How to apply a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Only report what would be done.
    pub dry_run: bool,
    /// Fill in the attributes that existing rows lack, and write the rows that follow from them.
    pub fill: bool,
    /// Delete global indexes that the model does not have, and rebuild those that differ.
    pub delete_indexes: bool,
    /// The rows were copied, with everything that follows from them, from a database in which the model is in
    /// force: they are complete and need not be read.
    pub adopt: bool,
}

impl Models {
    /// Changes the database to match the model, or reports why it cannot. A repetition changes nothing.
    ///
    /// Tables and indexes change one permitted step at a time. Rows are checked before anything is changed.
    pub fn apply(
        &self,
        text: &str,
        options: ApplyOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<Report, BindError> {
        self.host.catch_up()?;
        let _one_at_a_time = self.applying.lock();
        let mut work = self.prepare(text, options)?;
        work.refuse_unnameable_indexes()?;
        work.refuse_while_rows_move()?;
        work.set_layout_change(work.moves_from_before());
        self.look(&mut work, watcher)?;
        work.conclude();
        if work.report.outcome == Outcome::Planned && !options.dry_run {
            self.carry_out(&mut work, watcher)?;
        }
        Ok(work.report)
    }

    pub(super) fn prepare(&self, text: &str, options: ApplyOptions) -> Result<Work, BindError> {
        let loaded = trestle_model::load(text);
        let Some(model) = loaded.model else {
            return Err(BindError::Unsound(loaded.problems));
        };
        if !options.dry_run {
            // What an earlier version left behind is removed first: two versions are easier to distinguish
            // than three.
            self.clear_all(model.name())?;
        }
        let held = self.held.lock().clone();
        let (before, others): (Vec<Held>, Vec<Held>) = held
            .into_iter()
            .partition(|held| held.stored.name == model.name());
        let before = before.into_iter().next();
        // Faults of the other models would affect this one, too.
        together(&others)?;
        Ok(Work {
            text: text.to_owned(),
            report: Report::new(model.name()),
            model: Arc::new(model),
            before,
            others,
            options,
            waiting: Vec::new(),
            layout_change: None,
            clearing: None,
            set_back: HashSet::new(),
            to_make: 0,
        })
    }

    /// Compares tables, then rows.
    fn look(&self, work: &mut Work, watcher: &mut dyn Watcher) -> Result<(), BindError> {
        let existing = work.compare_tables(&*self.host)?;
        if work.options.adopt || !work.needs_inspection() {
            return Ok(());
        }
        let now_ms = self.clock.now().as_millis();
        for name in existing {
            let table = planned_table(&work.model, &name)?;
            if work.is_blocked(&name) {
                continue;
            }
            step::wait_watched(&*self.host, &name, watcher)?;
            let inspection = Inspection::new(&work.model, table, now_ms)
                .knowing(work.layout_change.as_ref())
                .leaving(work.leftovers());
            let rows = inspect(inspection, &name, &*self.host, watcher)?;
            work.found(rows, "--fill fills them in");
        }
        if !work.waiting.is_empty() && !work.has_misfits() {
            self.look_against_one_another(work, watcher)?;
        }
        Ok(())
    }

    /// Rows that are valid individually may conflict: two may share a value that must be unique.
    fn look_against_one_another(&self, work: &mut Work, watcher: &mut dyn Watcher) -> Result<(), BindError> {
        let (view, now) = (self.rows_before(work)?, self.clock.now());
        let options = AuditOptions {
            fill: true,
            ..AuditOptions::default()
        };
        let name = work.model.name();
        let audited = audit(&*view, &work.model, now, options, work.leftovers(), &mut |rows| {
            watcher.rows("checking rows against one another", name, rows);
            go_on(watcher)
        })?;
        work.to_make = audited.findings.total();
        let findings = audited.findings.kept.into_iter();
        let unfit = findings.filter(|finding| !finding.can_be_mended());
        let unfit = unfit.map(|finding| (finding, String::new())).collect();
        work.report_misfits(fill::misfits(unfit)?);
        Ok(())
    }

    /// The rows before a version takes effect. Where no version of the model is in force, nothing is kept in
    /// step, so the rows may change at any moment.
    fn rows_before(&self, work: &Work) -> Result<Box<dyn HostView>, BindError> {
        Ok(match work.before {
            Some(_) => self.host.moment()?,
            None => self.host.view(),
        })
    }

    /// Continues to fill in rows of models, if the database was closed before that was finished, until `stop`
    /// is set. The next start does the rest.
    pub(crate) fn resume_fills(&self, stop: &AtomicBool) {
        let held = self.held.lock().clone();
        let waiting = held.into_iter().filter(|held| held.waits_for_fill());
        for stored in waiting.map(|held| held.stored) {
            let options = ApplyOptions {
                fill: true,
                ..ApplyOptions::default()
            };
            let model = &stored.name;
            let cleared = self.clear_until(model, stop);
            let filled = cleared.and_then(|()| self.apply(&stored.text, options, &mut Until(stop)));
            match filled {
                Err(_) if stop.load(Ordering::Acquire) => return,
                Ok(report) if report.outcome == Outcome::Applied => {
                    tracing::info!("rows of model {model} are filled in");
                }
                Ok(report) => tracing::warn!("rows of model {model} cannot all be filled in: {report}"),
                Err(error) => tracing::warn!("rows of model {model} are not filled in: {error}"),
            }
        }
    }

    fn carry_out(&self, work: &mut Work, watcher: &mut dyn Watcher) -> Result<(), BindError> {
        let mut is_filled_in = false;
        for step in work.report.steps.clone() {
            watcher.step(&step);
            match step {
                Step::StoreModel { version } => self.store(work, version)?,
                Step::FillIn { .. } if is_filled_in => {}
                Step::FillIn { .. } => {
                    self.fill_in(work, watcher)?;
                    is_filled_in = true;
                }
                step => step::take(&*self.host, &work.model, &step)?,
            }
        }
        work.report.outcome = Outcome::Applied;
        if work.options.fill && !work.waiting.is_empty() {
            self.filled(work)?;
        }
        Ok(())
    }

    fn store(&self, work: &mut Work, version: u64) -> Result<(), BindError> {
        if work.options.fill && work.makes_heads() {
            // A head that stands for an older row before the model takes effect was set to it by a client.
            let view = self.rows_before(work)?;
            let heads = heads_set_back(&*view, &work.model, self.clock.now())?;
            work.set_back = heads.into_iter().collect();
        }
        let stored = Stored {
            name: work.model.name().to_owned(),
            version,
            applied: self.clock.now(),
            filled_in: work.waiting.is_empty(),
            heads_made: work.heads_made(),
            text: work.text.clone(),
        };
        self.put_into_effect(work, stored)
    }

    /// Stores a version and lets it take effect.
    fn put_into_effect(&self, work: &mut Work, stored: Stored) -> Result<(), BindError> {
        let mut documents = vec![stored.to_document()?];
        if let Some(clearing) = &work.clearing {
            documents.push(clearing.document.to_document()?);
        }
        work.report.version = Some(stored.version);
        let new = Held {
            stored,
            model: Ok(Arc::clone(&work.model)),
            migration: work.before.as_ref().and_then(|held| held.migration.clone()),
            clearing: work.clearing.clone(),
        };
        let mut held = work.others.clone();
        held.push(new.clone());
        held.sort_by(|a, b| a.stored.name.cmp(&b.stored.name));
        let hook = self.hook_of(&held)?;
        hidden_tables::ensure(&*self.host, loaded(&held))?;
        self.install(documents, Some(Arc::new(hook)))?;
        work.before = Some(new);
        *self.held.lock() = held;
        // There may be rows to clear.
        self.clock.signal().ring();
        Ok(())
    }

    /// Fills in the rows of the model: in all its tables, because derived rows may be in another table.
    fn fill_in(&self, work: &mut Work, watcher: &mut dyn Watcher) -> Result<(), BindError> {
        let heads_made = work.in_effect()?.stored.heads_made.clone();
        let options = AuditOptions {
            fill: true,
            heads_made,
            set_back: std::mem::take(&mut work.set_back),
        };
        let misfits = fill::fill(&*self.host, &work.model, options, work.leftovers(), watcher)?;
        work.report_misfits(misfits);
        Ok(())
    }

    /// Stores that existing rows are complete now.
    fn filled(&self, work: &mut Work) -> Result<(), BindError> {
        if work.has_misfits() {
            work.report.outcome = Outcome::Incomplete;
            return Ok(());
        }
        let stored = Stored {
            filled_in: true,
            ..work.in_effect()?.stored.clone()
        };
        self.put_into_effect(work, stored)
    }
}
