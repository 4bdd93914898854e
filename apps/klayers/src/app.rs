//! What the application works with.

use std::io;
use std::sync::Arc;

use trestle::{Database, typed};

use crate::model::Klayers;
use crate::{LayerArn, LayerStore, PackageIndex};

/// The table, on any database.
pub type Db = Klayers<Arc<dyn Database>>;

/// The application. Cloning it is cheap.
#[derive(Clone)]
pub struct App {
    /// The table.
    pub db: Db,
    pub(crate) layers: Arc<dyn LayerStore>,
    pub(crate) index: Arc<dyn PackageIndex>,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database refused, or could not be reached.
    #[error(transparent)]
    Database(#[from] typed::Error),
    /// A layer could not be stored or removed.
    #[error("the layer store of --layers: {0}")]
    Layers(#[from] io::Error),
    /// The package index has no usable release.
    #[error("the package index has no release of {0}; add it, or take the package off the list")]
    NoRelease(String),
    /// The layer store gave a number that a row has already.
    #[error("{0} is another layer in the table: are these the layers of this table? See --layers")]
    NotOurLayers(LayerArn),
    /// The package index, or a list, cannot be read.
    #[error("{0}")]
    List(#[from] csv::Error),
}

impl App {
    /// The application on a database that has the model.
    #[must_use]
    pub fn new(db: Db, layers: Arc<dyn LayerStore>, index: Arc<dyn PackageIndex>) -> Self {
        Self { db, layers, index }
    }
}
