//! `trestle import`: rows of other databases become rows of a model.

mod cassandra;
mod live;
mod model;
mod report;
mod schema;
mod show;

use crate::exit::Failure;
use cassandra::CassandraFlags;
use clap::Subcommand;

/// Where rows come from.
#[derive(Debug, Subcommand)]
pub(crate) enum ImportCommand {
    /// Import what `COPY … TO` of cqlsh or `dsbulk unload` exported, or the tables of a live cluster, by a mapping file; or propose a
    /// model and a mapping from a CQL schema.
    ///
    /// The mapping says which table and which columns make which entity of the model; the model makes the keys. Rows are checked
    /// first, then written, then compared with the source. A row that is there already is kept if it is newer. An import that was
    /// stopped continues where it was, with the same command.
    #[command(override_usage = cassandra::USAGE)]
    Cassandra(Box<CassandraFlags>),
}

/// Imports.
pub(crate) fn import(command: &ImportCommand) -> Result<(), Failure> {
    match command {
        ImportCommand::Cassandra(flags) => cassandra::import(flags),
    }
}
