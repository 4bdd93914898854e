//! The models that are stored with a database, enforced by its commits.
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod admit;
mod apply;
mod audit;
mod begin;
mod call;
mod clear;
mod copies;
mod describe;
mod fill;
mod hidden_tables;
mod inspect;
mod large_values;
mod mending;
mod near;
mod own_rows;
mod proof;
mod repair;
mod steer;
mod step;
mod survey;
mod sweep;
mod sweeper;
mod value_audit;
mod versions;
mod versions_in_force;
mod watcher;
mod work;
mod write_isolation;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use trestle_api::Error;
use trestle_binding::ModelSummary;
use trestle_binding::clearing;
use trestle_binding::held::{self, Held, loaded, together};
use trestle_binding::migration::GuardDocument;
use trestle_binding::stored::{self, Stored};
use trestle_binding::{BindError, ModelHook, VersionsInForce, migration};
use trestle_env::{Clock, iso_8601_millis};
use trestle_hook::Hook;
use trestle_hook::Host;
use trestle_model::Model;

pub use admit::Objection;
pub use apply::ApplyOptions;
pub use begin::{PlanOptions, StartOptions};
pub use describe::describe;
pub use near::NearRepair;
pub use proof::{ProofWatcher, prove};
pub use repair::RepairOptions;
pub use sweeper::Sweeper;
pub use versions::Standing;
pub use watcher::{Unwatched, Watcher};
pub use write_isolation::{is_exact, isolate, write_isolation};

/// The models of one database. Shared by reference; one model is applied at a time.
#[derive(Debug)]
pub struct Models {
    host: Arc<dyn Host>,
    clock: Arc<dyn Clock>,
    held: Mutex<Vec<Held>>,
    /// Held while a model is applied or removed, so that the list can be read meanwhile.
    applying: Mutex<()>,
    /// The versions that inserted rows get.
    versions_in_force: Mutex<VersionsInForce>,
    /// Whether the engine enforces all of them. `false` before the first time, and while a model does not
    /// load.
    in_force: AtomicBool,
    /// Whether a migration is about to begin, here or in another process that shares the rows. The hook is
    /// guarded then.
    guarded: AtomicBool,
    /// The number of the last turn to move rows.
    sweep_turn: AtomicU64,
    /// Held while a client deletes a table of a model or creates a table, so that nothing about the deleted
    /// table is left when it is created again.
    changing_table: Mutex<()>,
}

impl Models {
    /// Lets the engine enforce all stored models from now on.
    pub fn enforce(&self) -> Result<(), BindError> {
        let _one_at_a_time = self.applying.lock();
        let held = self.held.lock().clone();
        together(&held)?;
        let mut documents = Vec::new();
        if self.forget_versions_of_gone()? {
            documents.push(self.versions_in_force.lock().to_document()?);
        }
        let hook = self.hook_of(&held)?;
        let hook = self.guarded_by_others(hook, &held, &self.host.documents()?)?;
        hidden_tables::ensure(&*self.host, loaded(&held))?;
        self.forget_what_is_gone(&held)?;
        self.install(documents, Some(hook))
    }

    /// The hook, guarded if another process that shares the rows is about to begin a migration.
    fn guarded_by_others(
        &self,
        hook: ModelHook,
        held: &[Held],
        documents: &[(String, Vec<u8>)],
    ) -> Result<Arc<dyn Hook>, BindError> {
        let guarded = match GuardDocument::read(documents)? {
            Some(document) => document.guard(hook, held)?,
            None => Err(hook),
        };
        self.guarded.store(guarded.is_ok(), Ordering::Release);
        Ok(match guarded {
            Ok(guard) => Arc::new(guard),
            Err(hook) => Arc::new(hook),
        })
    }

    /// Whether a migration is about to begin, so that the hook is guarded.
    #[must_use]
    pub fn are_guarded(&self) -> bool {
        self.guarded.load(Ordering::Acquire)
    }

    /// Whether the engine enforces all stored models.
    pub fn are_in_force(&self) -> bool {
        self.in_force.load(Ordering::Acquire)
    }

    /// Why the stored models cannot be enforced, if they cannot.
    pub fn why_not_in_force(&self) -> Option<BindError> {
        together(&self.held.lock()).err()
    }

    /// Stores documents and installs a hook of all models in the same commit; no hook if they cannot be
    /// enforced.
    fn install(
        &self,
        documents: Vec<(String, Option<Vec<u8>>)>,
        hook: Option<Arc<dyn Hook>>,
    ) -> Result<(), BindError> {
        let is_enforced = hook.is_some();
        self.host.install(documents, hook)?;
        self.in_force.store(is_enforced, Ordering::Release);
        Ok(())
    }

    /// Reads the stored models without enforcing them, and ignores those that do not load: for repair tools.
    /// [`Models::enforce`] enforces them, and so does applying a model.
    pub fn read(host: Arc<dyn Host>, clock: Arc<dyn Clock>) -> Result<Self, BindError> {
        let documents = host.documents()?;
        let versions_in_force = VersionsInForce::read(&documents)?;
        let held = held::read(documents)?;
        Ok(Models {
            versions_in_force: Mutex::new(versions_in_force),
            host,
            clock,
            held: Mutex::new(held),
            applying: Mutex::new(()),
            in_force: AtomicBool::new(false),
            guarded: AtomicBool::new(false),
            sweep_turn: AtomicU64::new(0),
            changing_table: Mutex::new(()),
        })
    }

    /// Reads the stored models again after another process has changed them, and enforces them.
    pub fn reload(&self) -> Result<(), BindError> {
        let _one_at_a_time = self.applying.lock();
        let documents = self.host.documents()?;
        *self.versions_in_force.lock() = VersionsInForce::read(&documents)?;
        let held = held::read(documents.clone())?;
        go_on_counting(&self.held.lock(), &held);
        let hook = self.hook_of(&held);
        let hook = hook.and_then(|hook| self.guarded_by_others(hook, &held, &documents));
        let installed = match hook {
            Ok(hook) => self.install(Vec::new(), Some(hook)),
            // Nothing is enforced, and therefore nothing written, until that is corrected.
            Err(error) => self.install(Vec::new(), None).and(Err(error)),
        };
        *self.held.lock() = held;
        // There may be rows to move.
        self.clock.signal().ring();
        installed
    }

    /// The clock of all work here.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// The stored models.
    pub fn list(&self) -> Vec<ModelSummary> {
        let held = self.held.lock();
        held.iter().map(summary).collect()
    }

    /// The text of a stored model.
    pub fn text(&self, name: &str) -> Result<String, BindError> {
        let held = self.held.lock();
        let found = held.iter().find(|held| held.stored.name == name);
        match found {
            Some(found) => Ok(found.stored.text.clone()),
            None => Err(no_model(&held, name)),
        }
    }

    /// A stored model.
    pub fn model(&self, name: &str) -> Result<Arc<Model>, BindError> {
        let held = self.held.lock();
        match held.iter().find(|held| held.stored.name == name) {
            Some(found) => found.model().map(Arc::clone),
            None => Err(no_model(&held, name)),
        }
    }

    /// Removes a model and all its versions. Its tables and rows stay, and are no longer checked.
    pub fn remove(&self, name: &str) -> Result<(), BindError> {
        let _one_at_a_time = self.applying.lock();
        let held = self.held.lock().clone();
        let rest: Vec<Held> = held
            .iter()
            .filter(|held| held.stored.name != name)
            .cloned()
            .collect();
        let Some(found) = held.iter().find(|held| held.stored.name == name) else {
            return Err(no_model(&held, name));
        };
        found.refuse_while_rows_move()?;
        let versions = self.stored_versions()?.into_iter();
        let gone = versions.filter(|stored| stored.name == name);
        let mut gone: Vec<_> = gone.map(|stored| (stored.document(), None)).collect();
        gone.push((migration::Document::name(name), None));
        gone.push((clearing::Document::name(name), None));
        gone.push(own_rows::removal(name));
        // More than one model may have rows to clear.
        let hook = self.hook_of(&rest).ok().map(|models| Arc::new(models) as _);
        self.install(gone, hook)?;
        *self.held.lock() = rest;
        Ok(self.forget_model(name)?)
    }
}

impl Models {
    /// Every stored version of every model, in the order of names and versions.
    fn stored_versions(&self) -> Result<Vec<Stored>, Error> {
        stored::read(self.host.documents()?)
    }
}

/// Keeps the count of double reads that is not stored yet.
fn go_on_counting(before: &[Held], held: &[Held]) {
    let moving = |held: &Held| {
        held.migration
            .as_ref()
            .and_then(|migration| migration.moving().ok()?.cloned())
    };
    for held in held {
        let known = before.iter().find(|known| known.stored.name == held.stored.name);
        if let (Some(known), Some(now)) = (known.and_then(moving), moving(held)) {
            now.count_at_least(known.double_reads());
        }
    }
}

fn no_model(held: &[Held], name: &str) -> BindError {
    BindError::NoModel {
        name: name.to_owned(),
        known: held.iter().map(|held| held.stored.name.clone()).collect(),
    }
}

/// A model is not locked while its rows are processed. Models change in turns, so it cannot have been removed
/// meanwhile.
#[track_caller]
fn not_held(model: &str) -> BindError {
    Error::defect(format_args!(
        "model {model} is not held while its rows are worked on"
    ))
    .into()
}

fn summary(held: &Held) -> ModelSummary {
    let model = held.model.as_ref().ok();
    let tables = model.iter().flat_map(|model| model.tables());
    ModelSummary {
        name: held.stored.name.clone(),
        version: held.stored.version,
        applied: format!("{}Z", iso_8601_millis(held.stored.applied)),
        loads: model.is_some(),
        filled_in: held.stored.filled_in,
        tables: tables.map(|table| table.table_name().to_owned()).collect(),
        entities: model.map_or(0, |model| model.entities().len()),
    }
}
