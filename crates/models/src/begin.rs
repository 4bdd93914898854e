//! The beginning of a migration: planned, started, or reversed.

use std::collections::BTreeMap;
use std::sync::Arc;

use trestle_api::Error;
use trestle_binding::held::Migration;
use trestle_binding::migration::{
    Document, DualLayout, Guard, GuardDocument, MigrationPlan, MigrationState, PlannedMove, Rate,
    TableProgress,
};
use trestle_binding::stored::Stored;
use trestle_binding::{Outcome, Step};
use trestle_model::{Hindrance, LayoutChange, Model};

use crate::step;
use crate::survey::Survey;
use crate::watcher::Watcher;
use crate::work::{Work, planned_table};
use crate::{ApplyOptions, BindError, Held, Models};

/// The advice for rows that do not move and lack something.
const FILL_FIRST: &str = "fill them in first: `trestle model apply FILE --fill`, of a version that has all that is new \
                          but the keys of the version in effect";

/// The advice for rows that lack derived attributes of the previous version, during a rollback to it.
const FINISH_FIRST: &str = "the version in effect dropped effects of the previous one, and rows written since lack them: end the migration \
                            (`trestle migrate finish`); then plan one to a version with the old keys and without the dropped \
                            effects, and add those at the end (`trestle model apply FILE --fill`)";

/// How to plan a migration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanOptions {
    /// Do not keep the plan.
    pub dry_run: bool,
    /// Delete global indexes that the model does not have, and rebuild those that differ.
    pub delete_indexes: bool,
}

/// How to start a migration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartOptions {
    /// The rate at which rows move.
    pub rate: Rate,
    /// Whether the migration ends as soon as it is verified.
    pub finish: bool,
    /// Whether the sweep waits until it is resumed; written rows move nevertheless.
    pub paused: bool,
    /// Delete global indexes that the model does not have, and rebuild those that differ.
    pub delete_indexes: bool,
}

/// A move between two versions: forwards to a new one, or back to the previous one.
struct Transition {
    work: Work,
    layout_change: Result<LayoutChange, Vec<Hindrance>>,
    /// The migration that is rolled back, if this is a rollback.
    come: Option<Arc<DualLayout>>,
    /// The version that rows come from.
    former: Arc<Model>,
    /// How many rows move, by entity.
    moves: BTreeMap<String, u64>,
    plan: MigrationPlan,
}

impl Models {
    /// Reads the versions, the tables and every row, and reports what a migration to the model in `text`
    /// would do or what prevents it. The plan is stored, so that it can be started by the model's name.
    pub fn plan_migration(
        &self,
        text: &str,
        options: PlanOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<MigrationPlan, BindError> {
        self.host.catch_up()?;
        let _one_at_a_time = self.applying.lock();
        let mut way = self.way_out(text, options.delete_indexes, options.dry_run)?;
        self.survey(&mut way, watcher)?;
        if !way.plan.is_refused() && !options.dry_run {
            self.keep_plan(&way)?;
        }
        Ok(way.plan)
    }

    /// Lets the new version take effect at once: rows are found in both places, and written rows move. A
    /// background sweep moves the others. Everything is checked again first, as
    /// [`plan_migration`](Models::plan_migration) does.
    pub fn start_migration(
        &self,
        text: &str,
        options: StartOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<MigrationPlan, BindError> {
        self.host.catch_up()?;
        let _one_at_a_time = self.applying.lock();
        let mut way = self.way_out(text, options.delete_indexes, false)?;
        self.guarded(&mut way, |way| {
            self.survey(way, watcher)?;
            match way.plan.is_refused() {
                true => Ok(()),
                false => self.set_out(way, options, watcher),
            }
        })?;
        Ok(way.plan)
    }

    /// The model of a stored plan.
    pub fn planned_model(&self, name: Option<&str>) -> Result<String, BindError> {
        let migration = self.migration(name)?;
        let planned = migration.document.text.clone();
        planned.ok_or_else(|| BindError::NotNow {
            model: migration.document.model.clone(),
            state: migration.document.state,
            cannot: "it cannot be started",
            next: migration.status(self.clock.now()).next,
        })
    }

    /// Returns to the previous version: it takes effect immediately, as a new version, and rows move back. A
    /// plan that was not started is removed. Refused if there are rows that the previous version cannot hold.
    pub fn roll_back_migration(
        &self,
        name: Option<&str>,
        watcher: &mut dyn Watcher,
    ) -> Result<Option<MigrationPlan>, BindError> {
        self.host.catch_up()?;
        let _one_at_a_time = self.applying.lock();
        let migration = self.newest_migration(name)?;
        match migration.document.state {
            MigrationState::Planned => {
                self.forget_plan(migration)?;
                return Ok(None);
            }
            MigrationState::RollingBack => return Err(migration.on_the_move()),
            state @ (MigrationState::Done | MigrationState::RolledBack) => {
                return Err(BindError::NotNow {
                    model: migration.document.model,
                    state,
                    cannot: "it cannot be rolled back",
                    next: "plan a migration to the version you want: `trestle migrate plan FILE`".to_owned(),
                });
            }
            MigrationState::Dual
            | MigrationState::Sweeping
            | MigrationState::Verifying
            | MigrationState::Verified => {}
        }
        let mut way = self.way_back(&migration)?;
        self.guarded(&mut way, |way| {
            self.survey(way, watcher)?;
            match way.plan.is_refused() {
                true => Ok(()),
                false => self.turn_round(way, migration, watcher),
            }
        })?;
        Ok(Some(way.plan))
    }

    /// Does the work while writes of rows that could not move are refused. If the version in effect is still
    /// the same afterwards, the usual hook is installed again.
    fn guarded(
        &self,
        way: &mut Transition,
        work: impl FnOnce(&mut Transition) -> Result<(), BindError>,
    ) -> Result<(), BindError> {
        let _held = match &way.layout_change {
            Ok(layout_change) => {
                let guard = Guard::new(self.hook_of(&self.held.lock())?, layout_change.clone());
                let document = GuardDocument {
                    model: way.work.model.name().to_owned(),
                    to: way.come.is_none().then(|| way.work.text.clone()),
                };
                Some(self.host.hold(vec![document.to_document()?], Arc::new(guard))?)
            }
            Err(_) => None,
        };
        let worked = work(way);
        if worked.is_err() || way.plan.is_refused() {
            let hook = self.hook_of(&self.held.lock())?;
            self.install(Vec::new(), Some(Arc::new(hook)))?;
        }
        worked
    }

    fn way_out(&self, text: &str, delete_indexes: bool, dry_run: bool) -> Result<Transition, BindError> {
        let options = ApplyOptions {
            delete_indexes,
            dry_run,
            ..ApplyOptions::default()
        };
        let mut work = self.prepare(text, options)?;
        work.refuse_unnameable_indexes()?;
        let Some(before) = &work.before else {
            return Err(crate::no_model(&work.others, work.model.name()));
        };
        before.refuse_while_rows_move()?;
        let former = Arc::clone(before.model()?);
        let layout_change = LayoutChange::between(&former, &work.model);
        if layout_change.as_ref().is_ok_and(LayoutChange::is_empty) {
            return Err(BindError::NothingMoves {
                model: before.stored.name.clone(),
                version: before.stored.version,
            });
        }
        work.set_layout_change(layout_change.as_ref().ok().cloned());
        Ok(Transition::new(work, layout_change, former, None))
    }

    fn way_back(&self, migration: &Migration) -> Result<Transition, BindError> {
        let document = &migration.document;
        let versions = self.stored_versions()?.into_iter();
        let mut before =
            versions.filter(|stored| stored.name == document.model && stored.version == document.from);
        let before = before.next().ok_or_else(|| BindError::StoredMigration {
            model: document.model.clone(),
            why: format!("version {} is not stored", document.from),
        })?;
        let mut work = self.prepare(&before.text, ApplyOptions::default())?;
        let former = self.model(&document.model)?;
        let Some(moving) = migration.moving()? else {
            return Err(migration.on_the_move());
        };
        let layout_change = moving.layout_change().reversed();
        work.set_layout_change(layout_change.as_ref().ok().cloned());
        Ok(Transition::new(
            work,
            layout_change,
            former,
            Some(Arc::clone(moving)),
        ))
    }

    /// Compares tables, then reads every row.
    fn survey(&self, way: &mut Transition, watcher: &mut dyn Watcher) -> Result<(), BindError> {
        let way_out = match way.come {
            Some(_) => FINISH_FIRST,
            None => FILL_FIRST,
        };
        let work = &mut way.work;
        let existing = work.compare_tables(&*self.host)?;
        if let Ok(layout_change) = &way.layout_change {
            let model = Arc::clone(&work.model);
            let now_ms = self.clock.now().as_millis();
            for name in &existing {
                let table = planned_table(&model, name)?;
                if work.is_blocked(table.table_name()) {
                    continue;
                }
                step::wait(&*self.host, table.table_name())?;
                let come = way.come.as_ref().map(|moving| moving.layout_change());
                let survey = Survey::new(&*self.host, layout_change, &model, table, now_ms);
                let survey = survey.of_way_back(come).leaving(work.leftovers());
                let found = survey.run(watcher)?;
                for (entity, rows) in found.moves {
                    *way.moves.entry(entity).or_default() += rows;
                }
                way.plan.slow_reads.extend(found.slow);
                work.found(found.rows, way_out);
            }
        }
        way.conclude();
        Ok(())
    }

    fn keep_plan(&self, way: &Transition) -> Result<(), BindError> {
        let before = way.work.in_effect()?;
        let version = before.stored.version;
        let now = self.clock.now();
        let document = Document::planned(&before.stored.name, (version, version + 1), &way.work.text, now);
        self.store_migration(Migration::new(document, None))
    }

    fn forget_plan(&self, mut migration: Migration) -> Result<(), BindError> {
        migration.document.text = None;
        migration
            .document
            .enter(MigrationState::RolledBack, self.clock.now());
        self.store_migration(migration)
    }

    /// Takes the steps; storing the model puts the new version into effect.
    fn set_out(
        &self,
        way: &mut Transition,
        options: StartOptions,
        watcher: &mut dyn Watcher,
    ) -> Result<(), BindError> {
        let version = self.take_steps(way, watcher)?;
        let now = self.clock.now();
        let before = way.work.in_effect()?;
        let mut document = Document::planned(&before.stored.name, (before.stored.version, version), "", now);
        document.text = None;
        document.rate = options.rate;
        document.finishes = options.finish;
        document.paused = options.paused;
        document.started = Some(now);
        document.tables = way.tables();
        document.enter(MigrationState::Dual, now);
        self.take_effect(way, document, version)
    }

    fn turn_round(
        &self,
        way: &mut Transition,
        migration: Migration,
        watcher: &mut dyn Watcher,
    ) -> Result<(), BindError> {
        let version = self.take_steps(way, watcher)?;
        let mut document = migration.document.clone();
        document.double_reads = migration.status(self.clock.now()).double_reads;
        document.back = Some(version);
        document.paused = false;
        document.error = None;
        document.tables = way.tables();
        document.enter(MigrationState::RollingBack, self.clock.now());
        document.begin_pass(false, self.clock.now());
        self.take_effect(way, document, version)
    }

    /// Takes the steps that concern tables; returns the version that the model gets.
    fn take_steps(&self, way: &Transition, watcher: &mut dyn Watcher) -> Result<u64, BindError> {
        let mut version = None;
        for step in &way.work.report.steps {
            watcher.step(step);
            match step {
                Step::StoreModel { version: next } => version = Some(*next),
                step => step::take(&*self.host, &way.work.model, step)?,
            }
        }
        let version = version.ok_or_else(|| Error::defect("a migration does not store its version"))?;
        Ok(version)
    }

    /// Stores version, migration and both layouts in one commit.
    fn take_effect(&self, way: &mut Transition, document: Document, version: u64) -> Result<(), BindError> {
        let Ok(layout_change) = &way.layout_change else {
            return Err(Error::defect("a migration that is hindered takes effect").into());
        };
        let moving = DualLayout::new(
            layout_change.clone(),
            Arc::clone(&way.former),
            document.double_reads,
        );
        let stored = Stored {
            name: document.model.clone(),
            version,
            applied: self.clock.now(),
            filled_in: way.work.waiting.is_empty(),
            heads_made: way.work.heads_made(),
            text: way.work.text.clone(),
        };
        self.store_both(Held {
            stored,
            model: Ok(Arc::clone(&way.work.model)),
            migration: Some(Migration::new(document, Some(Ok(Arc::new(moving))))),
            clearing: way.work.clearing.clone(),
        })?;
        way.plan.report.outcome = Outcome::Applied;
        way.plan.report.version = Some(version);
        Ok(())
    }
}

impl Transition {
    fn new(
        work: Work,
        layout_change: Result<LayoutChange, Vec<Hindrance>>,
        former: Arc<Model>,
        come: Option<Arc<DualLayout>>,
    ) -> Self {
        let plan = MigrationPlan {
            report: work.report.clone(),
            back: come.is_some(),
            moves: Vec::new(),
            hindrances: Vec::new(),
            slow_reads: Vec::new(),
            can_be_rolled_back: false,
        };
        Transition {
            work,
            layout_change,
            come,
            former,
            moves: BTreeMap::new(),
            plan,
        }
    }

    /// The tables in which rows move, and the results of their survey.
    fn tables(&self) -> Vec<TableProgress> {
        let layout_change = self.layout_change.iter();
        let tables = layout_change.flat_map(LayoutChange::tables);
        let progress = tables.map(|table| {
            let mut rows = self.work.report.rows.iter();
            let found = rows.find(|rows| rows.table == table);
            let (rows, to_move) = found.map_or((0, 0), |rows| (rows.looked_at, rows.to_move));
            TableProgress::new(table, rows, to_move)
        });
        progress.collect()
    }

    /// The remaining steps, and whether they are possible.
    fn conclude(&mut self) {
        self.work.conclude();
        let plan = &mut self.plan;
        match &self.layout_change {
            Ok(layout_change) => {
                let rows = |entity: &str| self.moves.get(entity).copied().unwrap_or_default();
                let moves = layout_change.moves();
                plan.moves = moves
                    .map(|moved| PlannedMove::of(&moved, rows(moved.entity)))
                    .collect();
                if self.come.is_none() {
                    let (is_possible, note) = way_back(layout_change, &self.work.dropped_effects());
                    plan.can_be_rolled_back = is_possible;
                    self.work.report.notes.push(note);
                }
            }
            Err(hindrances) => plan.hindrances.clone_from(hindrances),
        }
        for pattern in &plan.slow_reads {
            self.work.report.notes.push(format!(
                "access pattern {pattern} reads the whole table while rows move: its parameters do not determine the old keys"
            ));
        }
        if !plan.hindrances.is_empty() {
            self.work.report.outcome = Outcome::Refused;
        }
        let rows = self.work.report.rows.iter().filter(|rows| rows.to_move > 0);
        let moves: Vec<Step> = rows
            .map(|rows| Step::MoveRows {
                table: rows.table.clone(),
                rows: rows.to_move,
            })
            .collect();
        self.work.report.steps.extend(moves);
        self.plan.report = self.work.report.clone();
    }
}

/// Whether a migration can be rolled back, in words.
fn way_back(layout_change: &LayoutChange, dropped: &[String]) -> (bool, String) {
    match layout_change.reversed() {
        Ok(_) if !dropped.is_empty() => (
            false,
            format!(
                "it cannot be rolled back: it drops effects of the previous version ({}); to be able to roll back, drop them \
                 with a separate version, when the migration is finished",
                dropped.join(", ")
            ),
        ),
        Ok(_) => (
            true,
            "it can be rolled back until it is finished, unless rows are written that the version before cannot hold"
                .to_owned(),
        ),
        Err(hindrances) => {
            let why = hindrances.iter().map(|hindrance| hindrance.message.as_str());
            let why: Vec<&str> = why.collect();
            (false, format!("it cannot be rolled back: {}", why.join("; ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unwatched;
    use trestle_engine::{Engine, Options};

    #[test]
    fn a_way_back_to_a_version_that_is_not_stored_says_so() {
        let engine = Engine::in_memory(Options::default()).unwrap();
        let models = Models::read(Arc::new(engine.clone()), Arc::clone(engine.clock())).unwrap();
        let text = "model = \"notes\"\n[table.notes]\nkey = [\"pk\"]\n[entity.note]\ntable = \"notes\"\nkey = { pk = \"n#{id}\" }\nattributes = { id = \"string\" }\n";
        models
            .apply(text, ApplyOptions::default(), &mut Unwatched)
            .unwrap();
        let moved = text.replace("n#", "note/");
        models
            .start_migration(&moved, StartOptions::default(), &mut Unwatched)
            .unwrap();
        engine
            .store_documents(vec![("model/notes/00000001".to_owned(), None)])
            .unwrap();
        let refused = models.roll_back_migration(None, &mut Unwatched).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the stored migration of model notes cannot continue: version 1 is not stored"
        );
    }
}
