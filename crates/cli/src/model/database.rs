//! A database to read from: a running server, or a directory that no server has open.

use crate::admin_call::Caller;
use crate::exit::Failure;
use crate::server_flags::signing_hint;
use crate::verify::cannot_open;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use trestle_api::{Error, Operation};
use trestle_engine::{Engine, Options};
use trestle_env::SystemClock;
use trestle_store::FjallStore;

/// More than any page, whose items are at most 1 MB.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Whoever looks at rows does not want them to vanish meanwhile.
const NEVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Where operations are sent.
pub(super) enum Database<'a> {
    Server(Caller<'a>),
    Directory(Engine),
}

impl<'a> Database<'a> {
    pub(super) fn in_directory(directory: &Path) -> Result<Self, Failure> {
        let store = FjallStore::open_existing(directory, trestle_store::Settings::default());
        let store = store.map_err(|error| cannot_open(directory, &error))?;
        let options = Options {
            expiry_interval: NEVER,
            ..Options::default()
        };
        let engine = Engine::on(Arc::new(store), Arc::new(SystemClock::new()), options);
        let engine = engine.map_err(|error| Failure::failed(format!("cannot open the database: {error}")))?;
        Ok(Database::Directory(engine))
    }

    /// Carries out an operation.
    pub(super) fn run<O: Operation>(&self, operation: O) -> Result<O::Output, Failure> {
        let answered = self.try_run(operation)?;
        answered.map_err(|error| self.refused::<O>(&error))
    }

    /// Carries out an operation that the database may refuse: the outer error is of the way there.
    pub(super) fn try_run<O: Operation>(&self, operation: O) -> Result<Result<O::Output, Error>, Failure> {
        match self {
            Database::Directory(engine) => Ok(engine.run(operation)),
            Database::Server(caller) => ask(caller, operation),
        }
    }

    /// Says that the database refused an operation, and what to do about it.
    pub(super) fn refused<O: Operation>(&self, error: &Error) -> Failure {
        let hint = match self {
            Database::Server(caller) => signing_hint(caller, &error.to_string()),
            Database::Directory(_) => "",
        };
        Failure::failed(format!("{} was refused: {error}{hint}", O::NAME))
    }
}

/// The outer error is of the way there, the inner one of the database.
fn ask<O: Operation>(caller: &Caller<'_>, operation: O) -> Result<Result<O::Output, Error>, Failure> {
    let request = operation.into_request();
    let target = trestle_wire::target_of(&request);
    let answered = caller.call_operation(&target, &trestle_wire::encode_request(&request))?;
    let mut body = Vec::new();
    let read = answered.body.take(ANSWER_BYTES_MAX).read_to_end(&mut body);
    read.map_err(|error| Failure::failed(format!("the answer of {} broke off: {error}", caller.endpoint)))?;
    if answered.status != "200" {
        let status = answered.status.parse().unwrap_or_default();
        return Ok(Err(trestle_wire::decode_error(status, &body)));
    }
    let response = trestle_wire::decode_response(O::NAME, &body);
    let other = || Error::internal(format!("the answer to {} is of another kind", O::NAME));
    Ok(response.and_then(|response| O::from_response(response).ok_or_else(other)))
}
