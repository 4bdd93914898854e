//! The database of a command: a running server, or a directory that no server has open.

use crate::administration::no_answer;
use crate::exit::Failure;
use crate::open;
use crate::runtime;
use crate::server_flags::ServerFlags;
use std::path::Path;
use std::pin::Pin;
use tokio::runtime::Runtime;
use trestle_api::{DescribeTable, Error, ErrorKind, ListTables, Operation, TableDescription, Wait};
use trestle_embedded::Embedded;
use trestle_remote::Remote;

/// The destination of operations.
pub(crate) enum Database {
    Server(Server),
    Directory(Embedded),
}

/// A running server that is called on this thread, one request after the other.
pub(crate) struct Server {
    remote: Remote,
    runtime: Runtime,
    without_server: &'static str,
}

impl Database {
    /// The database of a running server; without one, the failure says what to do.
    pub(crate) fn of_server(server: &ServerFlags, without_server: &'static str) -> Result<Self, Failure> {
        Ok(Database::Server(Server {
            remote: server.remote()?,
            runtime: runtime::on_this_thread()?,
            without_server,
        }))
    }

    pub(crate) fn in_directory(directory: &Path) -> Result<Self, Failure> {
        open::to_read(directory).map(Database::Directory)
    }

    /// Blocks on a future that runs several operations.
    pub(crate) fn wait<'a, T>(
        &'a self,
        work: impl FnOnce(&'a dyn trestle_api::Database) -> Pin<Box<dyn Future<Output = T> + 'a>>,
    ) -> T {
        match self {
            Database::Directory(db) => work(db).wait(),
            Database::Server(server) => server.runtime.block_on(work(&server.remote)),
        }
    }

    /// Runs an operation.
    pub(crate) fn run<O: Operation>(&self, operation: O) -> Result<O::Output, Failure> {
        let answered = self.try_run(operation)?;
        answered.map_err(|error| refused::<O>(&error))
    }

    /// Runs an operation that the database may refuse: the outer error means that it was not reached.
    fn try_run<O: Operation>(&self, operation: O) -> Result<Result<O::Output, Error>, Failure> {
        match self {
            Database::Directory(db) => Ok(db.run(operation)),
            Database::Server(server) => server.ask(operation),
        }
    }

    /// Describes a table; if it does not exist, the error lists the existing tables.
    pub(crate) fn describe(&self, table: &str) -> Result<TableDescription, Failure> {
        let described = self.try_run(DescribeTable {
            table_name: table.to_owned(),
        })?;
        match described {
            Ok(described) => Ok(*described.table),
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => Err(self.no_table(table)?),
            Err(error) => Err(refused::<DescribeTable>(&error)),
        }
    }

    /// One page with a hundred tables is enough to notice a typing error.
    fn no_table(&self, table: &str) -> Result<Failure, Failure> {
        let listed = self.run(ListTables::default())?;
        let more = if listed.last_evaluated_table_name.is_some() {
            " and more"
        } else {
            ""
        };
        Ok(Failure::usage(if listed.table_names.is_empty() {
            format!(
                "there is no table {table}, nor any other; `trestle model apply FILE` creates those of a model"
            )
        } else {
            format!(
                "there is no table {table}; there is {}{more}",
                listed.table_names.join(", ")
            )
        }))
    }
}

/// The failure for an operation that the database refused.
fn refused<O: Operation>(error: &Error) -> Failure {
    Failure::failed(format!("{} was refused: {error}", O::NAME))
}

impl Server {
    /// The outer error means that the database was not reached; the inner one is its answer.
    fn ask<O: Operation>(&self, operation: O) -> Result<Result<O::Output, Error>, Failure> {
        let asked = self.remote.ask(operation.into_request());
        let response = self.runtime.block_on(asked);
        let response = response.map_err(|lost| Failure::failed(no_answer(&lost, self.without_server)))?;
        let other = || Error::internal(format!("the answer to {} is of another kind", O::NAME));
        Ok(response.and_then(|response| O::from_response(response).ok_or_else(other)))
    }
}
