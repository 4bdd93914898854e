//! The models of one database: those that are stored with it, enforced by its commits.

mod apply;
mod begin;
mod clear;
mod held;
mod repair;
mod steer;
mod sweep;
mod versions;
mod work;

use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::Error;
use trestle_engine::Engine;
use trestle_env::{Clock, iso_8601_millis};
use trestle_model::{Model, Problem, Severity};

use crate::clearing;
use crate::counts;
use crate::migration::{self, MigrationState};
use crate::report::ModelSummary;
use crate::stored;
use held::loaded;
pub(crate) use held::{Held, read, together};

pub use apply::ApplyOptions;
pub use begin::{PlanOptions, StartOptions};
pub use repair::RepairOptions;
pub(crate) use sweep::Swept;
pub use versions::Standing;

/// Why models cannot be bound to a database.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The model file has errors.
    #[error("the model is not sound: {}", first_error(.0))]
    Unsound(Vec<Problem>),
    /// A model that is stored with the data has errors, as this version of Trestle sees it.
    #[error(
        "the stored model {name}, version {version}, does not load: {}; correct its file and apply it again \
         (`trestle model apply FILE --data DIR`), or let go of it (`trestle model remove {name} --data DIR`); \
         `trestle model list {name} --data DIR` prints it",
        first_error(problems)
    )]
    StoredUnsound {
        /// The model.
        name: String,
        /// Its version.
        version: u64,
        /// What is wrong with it.
        problems: Vec<Problem>,
    },
    /// Two stored models have the same table.
    #[error(
        "the stored models {first} and {second} both have the table {table}; let go of one of them: `trestle model \
         remove NAME --data DIR`"
    )]
    SameTable {
        /// One model.
        first: String,
        /// The other.
        second: String,
        /// The table.
        table: String,
    },
    /// There is no such model.
    #[error("there is no model {name}; {}", there_is(known))]
    NoModel {
        /// The name.
        name: String,
        /// The models there are.
        known: Vec<String>,
    },
    /// A migration that is stored with the data cannot go on, as this version of Trestle sees it.
    #[error("the stored migration of model {model} cannot go on: {why}")]
    StoredMigration {
        /// The model.
        model: String,
        /// Why.
        why: String,
    },
    /// The model is being migrated.
    #[error("the rows of model {model} are on the move ({state}); {next}")]
    OnTheMove {
        /// The model.
        model: String,
        /// Where the migration stands.
        state: MigrationState,
        /// What can be done now.
        next: String,
    },
    /// Nothing moves between the two versions.
    #[error(
        "no key of a table differs between version {version} of model {model} and this one: no row has to move; `trestle \
         model apply FILE` applies it"
    )]
    NothingMoves {
        /// The model.
        model: String,
        /// Its version.
        version: u64,
    },
    /// There is no such migration.
    #[error("there is no migration of {}; {}", .name.as_deref().unwrap_or("any model that is not over"), migrations(known))]
    NoMigration {
        /// The model, if one was named.
        name: Option<String>,
        /// The migrations there are.
        known: Vec<String>,
    },
    /// A migration cannot do that where it stands.
    #[error("the migration of model {model} is {state}, so {cannot}; {next}")]
    NotNow {
        /// The model.
        model: String,
        /// Where the migration stands.
        state: MigrationState,
        /// What it cannot.
        cannot: &'static str,
        /// What can be done now.
        next: String,
    },
    /// The database refused.
    #[error(transparent)]
    Database(#[from] Error),
}

fn first_error(problems: &[Problem]) -> String {
    let mut errors = problems
        .iter()
        .filter(|problem| problem.severity == Severity::Error);
    let first = errors
        .next()
        .map(|problem| format!("line {}: {}", problem.line, problem.message));
    let first = first.unwrap_or_default();
    match errors.count() {
        0 => first,
        more => format!("{first} (and {more} more)"),
    }
}

fn migrations(known: &[String]) -> String {
    match known {
        [] => "`trestle migrate plan FILE` plans one".to_owned(),
        known => format!("there is one of {}: name it", known.join(", ")),
    }
}

fn there_is(known: &[String]) -> String {
    match known {
        [] => "none is stored".to_owned(),
        known => format!("there is {}", known.join(", ")),
    }
}

/// The models of one database. Shared by reference; one model is applied at a time.
#[derive(Debug)]
pub struct Binding {
    engine: Engine,
    clock: Arc<dyn Clock>,
    held: Mutex<Vec<Held>>,
    /// Held while a model is applied or removed, so that the list can be read meanwhile.
    applying: Mutex<()>,
}

impl Binding {
    /// Loads the models that are stored with the data and lets the engine enforce them.
    pub fn open(engine: Engine, clock: Arc<dyn Clock>) -> Result<Self, BindError> {
        let binding = Self::read(engine, clock)?;
        binding.enforce()?;
        Ok(binding)
    }

    /// Lets the engine enforce all stored models from now on.
    pub fn enforce(&self) -> Result<(), BindError> {
        let _one_at_a_time = self.applying.lock();
        let held = self.held.lock().clone();
        let hook = together(&held)?;
        counts::ensure(&self.engine, loaded(&held))?;
        Ok(self.engine.install(Vec::new(), Some(Arc::new(hook)))?)
    }

    /// Reads the stored models without enforcing them, and without minding those that do not load: for tools that put
    /// things right. [`Binding::enforce`] does, and so does applying a model.
    pub fn read(engine: Engine, clock: Arc<dyn Clock>) -> Result<Self, BindError> {
        let held = held::read(engine.documents()?)?;
        Ok(Binding {
            engine,
            clock,
            held: Mutex::new(held),
            applying: Mutex::new(()),
        })
    }

    /// The clock that everything here follows.
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

    /// Forgets a model and all its versions. Its tables and rows stay as they are, and nothing is enforced any more.
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
        let versions = stored::all(&self.engine)?.into_iter();
        let gone = versions.filter(|stored| stored.name == name);
        let mut gone: Vec<_> = gone.map(|stored| (stored.document(), None)).collect();
        gone.push((migration::Document::name(name), None));
        gone.push((clearing::Document::name(name), None));
        // Whoever clears up may have more than one to clear up.
        let hook = together(&rest).ok().map(|models| Arc::new(models) as _);
        self.engine.install(gone, hook)?;
        *self.held.lock() = rest;
        Ok(())
    }
}

fn no_model(held: &[Held], name: &str) -> BindError {
    BindError::NoModel {
        name: name.to_owned(),
        known: held.iter().map(|held| held.stored.name.clone()).collect(),
    }
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
