//! The location of a database: a running server, or a directory that no server has open.

use super::{DirectoryAdministration, RunningServer, USE_DATA};
use crate::database::Database;
use crate::exit::Failure;
use crate::open;
use crate::server_flags::ServerFlags;
use clap::Args;
use std::path::PathBuf;
use trestle_admin::Administration;

/// Flags that say where.
#[derive(Debug, Args)]
pub(crate) struct PlaceFlags {
    #[command(flatten)]
    pub(crate) server: ServerFlags,
    /// Use this data directory, which no server has open, instead of a server
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

impl PlaceFlags {
    /// The administration there.
    pub(crate) fn administration(&self) -> Result<Box<dyn Administration>, Failure> {
        Ok(match &self.data {
            Some(directory) => Box::new(DirectoryAdministration::new(open::for_models(directory)?)),
            None => Box::new(RunningServer::new(&self.server, USE_DATA)?),
        })
    }

    /// The administration there, for applying a model, which may be the first command on a database.
    pub(crate) fn administration_to_apply(&self) -> Result<Box<dyn Administration>, Failure> {
        match &self.data {
            Some(directory) => Ok(Box::new(DirectoryAdministration::new(open::for_first_model(
                directory,
            )?))),
            None => self.administration(),
        }
    }

    /// The database there, for writing rows.
    pub(crate) fn database_to_write(&self) -> Result<Database, Failure> {
        match &self.data {
            Some(directory) => open::to_write(directory).map(Database::Directory),
            None => Database::of_server(&self.server, USE_DATA),
        }
    }

    /// The database there, for reading.
    pub(crate) fn database(&self) -> Result<Database, Failure> {
        match &self.data {
            Some(directory) => Database::in_directory(directory),
            None => Database::of_server(&self.server, USE_DATA),
        }
    }
}
