//! The state of the application.

use std::io;
use std::sync::Arc;

use trestle::{Database, app, typed};

use crate::model::Klayers;
use crate::{LayerArn, LayerStore, PackageIndex};

/// The table, on any database.
pub type Db = Klayers<Arc<dyn Database>>;

/// The application. Cloning it is cheap.
#[derive(Clone)]
pub struct App {
    /// The table.
    pub db: Db,
    /// The store of its layers.
    pub layers: Arc<dyn LayerStore>,
    /// The source of releases.
    pub index: Arc<dyn PackageIndex>,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused it, or could not be reached.
    #[error(transparent)]
    Database(#[from] typed::Error),
    /// A layer could not be stored or removed.
    #[error("the layer store of --layers: {0}")]
    Layers(io::Error),
    /// A file could not be read or written.
    #[error(transparent)]
    Files(#[from] io::Error),
    /// The package index has no usable release.
    #[error("{0} has no release in --packages: add its version, or run where pip reaches its package index")]
    NoRelease(String),
    /// pip cannot reach its package index.
    #[error("pip cannot reach its package index; --index list needs none: {0}")]
    Unreachable(String),
    /// A release of the list would replace a release of pip.
    #[error("the package index cannot be reached; the newest build is pip's, and stays")]
    StandIn,
    /// pip could not be run, or failed.
    #[error("{0}")]
    Pip(String),
    /// The layer store returned a number that a row has already.
    #[error("{0} is another layer in the table; the next run takes the next number")]
    NumberTaken(LayerArn),
    /// A list, or an imported row, cannot be read.
    #[error("{0}")]
    List(String),
}

impl From<Error> for app::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Database(error) => error.into(),
            other => app::Error::failed(other),
        }
    }
}
