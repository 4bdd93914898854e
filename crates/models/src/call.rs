//! Calling a database from a thread that may block: applying a model takes seconds on one thread.

use trestle_api::{Database, DatabaseExt, Error, Operation, Wait};

/// Carries out one operation and waits for its answer.
pub(crate) fn call<O: Operation>(database: &dyn Database, operation: O) -> Result<O::Output, Error> {
    database.call(operation).wait()
}
