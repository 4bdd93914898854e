//! What the application works with.

use std::io;
use std::sync::Arc;

use trestle::{ApplyError, Clock, Database, Engine, typed};

use crate::model::Klayers;
use crate::{LayerStore, PackageIndex};

/// The table, on any database.
pub type Db = Klayers<Arc<dyn Database>>;

/// The application. Cloning it is cheap.
#[derive(Clone)]
pub struct App {
    pub(crate) db: Arc<Db>,
    pub(crate) clock: Arc<dyn Clock>,
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
    #[error("the layer store: {0}")]
    Layers(#[from] io::Error),
    /// The package index has no usable release.
    #[error("the package index has no release of {0}; add it, or take the package off the list")]
    NoRelease(String),
    /// The package index, or a list, cannot be read.
    #[error("{0}")]
    List(#[from] csv::Error),
}

impl App {
    /// The application on an embedded engine, to which the model is applied.
    pub fn open(
        engine: &Engine,
        layers: Arc<dyn LayerStore>,
        index: Arc<dyn PackageIndex>,
    ) -> Result<Self, ApplyError> {
        Klayers::apply_to(engine)?;
        let clock = Arc::clone(engine.clock());
        Ok(Self::on(Arc::new(engine.clone()), clock, layers, index))
    }

    /// The application on any database that has the model.
    #[must_use]
    pub fn on(
        database: Arc<dyn Database>,
        clock: Arc<dyn Clock>,
        layers: Arc<dyn LayerStore>,
        index: Arc<dyn PackageIndex>,
    ) -> Self {
        let db = Klayers::on(database)
            .with_clock(Arc::clone(&clock))
            .model_applied();
        Self {
            db: Arc::new(db),
            clock,
            layers,
            index,
        }
    }

    /// The table.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// The time as rows have it.
    pub(crate) fn now(&self) -> String {
        typed::Timestamp::from(self.clock.now()).as_str().to_owned()
    }

    /// Works with the layer store where waiting for a disk holds up nobody else.
    pub(crate) async fn with_layers<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn LayerStore) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let layers = Arc::clone(&self.layers);
        let done = tokio::task::spawn_blocking(move || work(&*layers)).await;
        Ok(done.map_err(io::Error::other)??)
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").finish_non_exhaustive()
    }
}
