//! The model for the imported rows: the one stored in the database, or a file.

use crate::administration::{PlaceFlags, USE_DATA};
use crate::database::Database;
use crate::exit::Failure;
use crate::known;
use crate::open;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trestle_cassandra::Plan;
use trestle_model::Model;

/// Flags that say which model.
#[derive(Debug, Args)]
pub(crate) struct ModelFlags {
    /// The model file: for --dry-run, and for endpoints that store no models
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    model: Option<PathBuf>,
}

/// A model, and the database to which rows are written.
pub(super) struct ImportModel {
    pub(super) model: Arc<Model>,
    /// `None` if nothing is written or read.
    pub(super) database: Option<Database>,
    pub(super) writer: KeyWriter,
}

/// What writes derived rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyWriter {
    /// The database, which has the model.
    Database,
    /// Nothing: the endpoint does not have the model.
    Nothing,
}

impl KeyWriter {
    /// Whether rows get their times before they are sent.
    pub(super) fn keeps_times(self) -> bool {
        self == KeyWriter::Nothing
    }

    /// Refuses an import if the database does not have the model and derived rows would be missing.
    pub(super) fn check(self, plan: &Plan) -> Result<(), Failure> {
        let follows = |entity: &&str| {
            plan.model
                .entity(entity)
                .is_some_and(trestle_model::Entity::is_followed)
        };
        let mut entities = plan.imports.iter().map(|import| import.entity.as_str());
        match entities.find(|entity| self == KeyWriter::Nothing && follows(entity)) {
            Some(entity) => Err(Failure::usage(format!(
                "rows follow from those of {entity}, and the endpoint does not know the model; import into Trestle, with the \
                 model applied"
            ))),
            None => Ok(()),
        }
    }
}

impl ImportModel {
    pub(super) fn find(
        flags: &ModelFlags,
        place: &PlaceFlags,
        name: &str,
        dry_run: bool,
    ) -> Result<Self, Failure> {
        match (&flags.model, &place.data) {
            (Some(file), _) if dry_run => Ok(ImportModel {
                model: known::model_file(file)?,
                database: None,
                writer: KeyWriter::Database,
            }),
            (Some(_), Some(_)) => Err(Failure::usage(
                "--model is for --dry-run and for endpoints: with --data, the models that are stored with the data hold",
            )),
            (None, Some(directory)) => {
                // A mistyped name must not create a database.
                if !directory.exists() {
                    return Err(no_directory(directory));
                }
                let db = open::to_write(directory)?;
                let model = db
                    .models()
                    .model(name)
                    .map_err(|_| missing(name, &directory.display().to_string()))?;
                Ok(ImportModel {
                    model,
                    database: Some(Database::Directory(db)),
                    writer: KeyWriter::Database,
                })
            }
            (file, None) => Self::at_endpoint(file.as_ref(), place, name),
        }
    }

    fn at_endpoint(file: Option<&PathBuf>, place: &PlaceFlags, name: &str) -> Result<Self, Failure> {
        let stored = known::models(&place.server)?;
        let stored = stored.into_iter().find(|known| known.model.name() == name);
        let (model, writer) = match (stored, file) {
            (Some(known), None) => (known.model, KeyWriter::Database),
            (Some(_), Some(_)) => {
                return Err(Failure::usage(format!(
                    "the server has the model {name} already, and enforces it; leave --model out"
                )));
            }
            (None, Some(file)) => (known::model_file(file)?, KeyWriter::Nothing),
            (None, None) => return Err(missing(name, &place.server.endpoint)),
        };
        Ok(ImportModel {
            model,
            database: Some(Database::of_server(&place.server, USE_DATA)?),
            writer,
        })
    }
}

fn no_directory(directory: &Path) -> Failure {
    let shown = directory.display();
    Failure::usage(format!(
        "there is no directory {shown}; `trestle model apply FILE --data {shown}` makes it and stores the model there"
    ))
}

fn missing(name: &str, place: &str) -> Failure {
    Failure::usage(format!(
        "there is no model {name} in {place}; `trestle model apply FILE` stores it there"
    ))
}
