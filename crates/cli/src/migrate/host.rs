//! The location of migrations: a running server, or a directory that no server has open.

use crate::administration::{DirectoryAdministration, PlaceFlags, RunningServer, USE_DATA, reported};
use crate::exit::Failure;
use crate::open;
use trestle_admin::{Administration, AdministrationExt, Call, MigrationPlan, RollBackMigration, RolledBack};
use trestle_embedded::Models;

/// A location that stays open while a command runs.
pub(super) enum MigrationHost {
    Server(Box<RunningServer>),
    Directory(DirectoryAdministration),
}

impl MigrationHost {
    pub(super) fn open(flags: &PlaceFlags) -> Result<Self, Failure> {
        match &flags.data {
            Some(directory) => {
                let db = open::to_write(directory)?;
                Ok(MigrationHost::Directory(DirectoryAdministration::new(db)))
            }
            None => {
                let server = RunningServer::new(&flags.server, USE_DATA)?;
                Ok(MigrationHost::Server(Box::new(server)))
            }
        }
    }

    /// The models of the directory, if it is one: then this process moves the rows.
    pub(super) fn models(&self) -> Option<&Models> {
        match self {
            MigrationHost::Directory(administration) => Some(administration.models()),
            MigrationHost::Server(_) => None,
        }
    }

    /// Makes a call.
    pub(super) fn ask<C: Call>(&self, call: C) -> Result<C::Answer, Failure> {
        Ok(self.administration().ask(call)?)
    }

    /// Makes a call that returns a plan, also in its refusal.
    pub(super) fn ask_plan(&self, call: impl Call<Answer = MigrationPlan>) -> Result<MigrationPlan, Failure> {
        self.administration().ask(call).or_else(reported)
    }

    /// Rolls back; the inner error is the plan that was refused.
    pub(super) fn roll_back(
        &self,
        call: RollBackMigration,
    ) -> Result<Result<RolledBack, MigrationPlan>, Failure> {
        match self.administration().ask(call) {
            Ok(rolled_back) => Ok(Ok(rolled_back)),
            Err(error) => reported(error).map(Err),
        }
    }

    fn administration(&self) -> &dyn Administration {
        match self {
            MigrationHost::Server(server) => &**server,
            MigrationHost::Directory(directory) => directory,
        }
    }
}
