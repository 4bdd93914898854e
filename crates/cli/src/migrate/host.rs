//! Where migrations are: with a running server, or in a directory that no server has open.

use super::call::as_request;
use crate::admin_call::{Caller, USE_DATA};
use crate::exit::Failure;
use crate::model::keeper::Keeper;
use crate::model::place::PlaceFlags;
use crate::model::progress::Progress;
use crate::model::waiting;
use crate::open;
use trestle_embedded::Models;
use trestle_server::{MigrationCall, ModelAnswer};

const PATH: &str = "/_trestle/migrations";

/// A place that stays open for as long as a command runs.
pub(super) enum MigrationHost {
    Server { caller: Box<Caller>, endpoint: String },
    Directory(Keeper),
}

impl MigrationHost {
    pub(super) fn open(flags: &PlaceFlags) -> Result<Self, Failure> {
        match &flags.data {
            Some(directory) => Ok(MigrationHost::Directory(Keeper(open::for_migrations(directory)?))),
            None => Ok(MigrationHost::Server {
                caller: Box::new(Caller::new(&flags.server, USE_DATA)?),
                endpoint: flags.server.endpoint.clone(),
            }),
        }
    }

    /// The models of the directory, if it is one: nobody else moves rows there.
    pub(super) fn models(&self) -> Option<&Models> {
        match self {
            MigrationHost::Directory(keeper) => Some(keeper.models()),
            MigrationHost::Server { .. } => None,
        }
    }

    /// Asks there.
    pub(super) fn ask(&self, call: MigrationCall) -> Result<ModelAnswer, Failure> {
        match self {
            MigrationHost::Directory(keeper) => {
                let mut progress = Progress::new();
                let answered = keeper.migrate_watched(call, &mut progress);
                progress.clear();
                Ok(answered)
            }
            MigrationHost::Server { caller, endpoint } => {
                let (method, query, body) = as_request(&call);
                let path = format!("{PATH}{query}");
                let said = waiting::shown(endpoint, || caller.ask(method, &path, body))?;
                Ok(match said.status {
                    200 => ModelAnswer::Done(said.text),
                    409 => ModelAnswer::Refused(said.text),
                    404 => ModelAnswer::Unknown(said.text.trim().to_owned()),
                    _ => ModelAnswer::Failed(caller.refusal(&said)),
                })
            }
        }
    }
}
