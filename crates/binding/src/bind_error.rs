//! Errors of binding models to a database, with the next step.

use trestle_api::Error;
use trestle_model::{Problem, Severity};

use crate::migration::MigrationState;

/// Why models cannot be bound to a database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The model file has errors.
    #[error("the model is not sound: {}", first_error(.0))]
    Unsound(Vec<Problem>),
    /// A model that is stored with the data has errors for this version of Trestle.
    #[error(
        "the stored model {name}, version {version}, does not load: {}; correct its file and apply it again \
         (`trestle model apply FILE --fill --data DIR`), or remove it (`trestle model remove {name} --data DIR`); \
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
        "the stored models {first} and {second} both have the table {table}; remove one of them: `trestle model \
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
    /// A migration that is stored with the data cannot continue in this version of Trestle.
    #[error("the stored migration of model {model} cannot continue: {why}")]
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
        /// The state of the migration.
        state: MigrationState,
        /// What can be done now.
        next: String,
    },
    /// No row moves between the two versions.
    #[error(
        "no key of a table differs between version {version} of model {model} and this one: no row has to move; `trestle \
         model apply FILE --fill` applies it"
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
    /// This is not possible in the migration's present state.
    #[error("the migration of model {model} is {state}, so {cannot}; {next}")]
    NotNow {
        /// The model.
        model: String,
        /// The state of the migration.
        state: MigrationState,
        /// What is not possible.
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
    debug_assert!(first.is_some(), "a model without errors loads");
    let first = first.unwrap_or_else(|| "no error is named, which is a fault of Trestle".to_owned());
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
