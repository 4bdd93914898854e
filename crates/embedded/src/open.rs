//! Opens a database, in a fixed order.

use std::path::Path;
use std::sync::Arc;

use trestle_binding::BindError;
use trestle_engine::Engine;
use trestle_env::{Clock, SystemClock};
use trestle_store::{FjallStore, MemoryStore, Store, StoreError};

use crate::opened::Opened;
use crate::route_holds::RouteHolds;
use crate::{Background, Embedded, Options};
use trestle_models::Models;

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The data cannot be read; the message says what to do.
    #[error(transparent)]
    Engine(#[from] trestle_engine::OpenError),
    /// A stored model or migration cannot be enforced; the message says how to correct or remove it.
    #[error(transparent)]
    Models(#[from] BindError),
    /// The system could not start a thread.
    #[error("cannot start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

impl OpenError {
    /// The error of the store, if it is the cause.
    #[must_use]
    pub fn store_error(&self) -> Option<&StoreError> {
        match self {
            OpenError::Engine(trestle_engine::OpenError::Store(error)) => Some(error),
            _ => None,
        }
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        OpenError::Engine(error.into())
    }
}

impl Embedded {
    /// Opens the database in `directory`, which is created unless [`Options::must_exist`]. Only one process
    /// can have it open.
    ///
    /// The stored models are in force when this returns, and no background work was done without them. Fails
    /// if a stored model does not load: see [`Embedded::open_for_repair`].
    pub fn open(directory: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        Self::open_with_clock(directory, Arc::new(SystemClock::new()), options)
    }

    /// Like [`Embedded::open`], with any clock.
    pub fn open_with_clock(
        directory: impl AsRef<Path>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let store = store_in(directory.as_ref(), &options)?;
        Self::on(store, clock, options)
    }

    /// A database in memory, dropped with its last handle.
    pub fn in_memory(options: Options) -> Result<Self, OpenError> {
        Self::on(
            Arc::new(MemoryStore::new()),
            Arc::new(SystemClock::new()),
            options,
        )
    }

    /// A database on any store and clock.
    pub fn on(store: Arc<dyn Store>, clock: Arc<dyn Clock>, options: Options) -> Result<Self, OpenError> {
        let opened = load(store, clock, &options)?;
        opened.begin(options.background)?;
        Ok(Self::of(opened, &options))
    }

    /// Opens a database whose stored models may not load, so that they can be corrected or removed.
    ///
    /// If all of them load, they are enforced. Otherwise none is enforced and writes are refused until they
    /// do, which is as soon as the last invalid one has been applied again or removed. In both cases no row
    /// expires and no migration continues before [`Embedded::begin_work`].
    pub fn open_for_repair(directory: impl AsRef<Path>, options: Options) -> Result<Self, OpenError> {
        Self::open_for_repair_with_clock(directory, Arc::new(SystemClock::new()), options)
    }

    /// Like [`Embedded::open_for_repair`], with any clock.
    pub fn open_for_repair_with_clock(
        directory: impl AsRef<Path>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let store = store_in(directory.as_ref(), &options)?;
        Self::on_for_repair(store, clock, options)
    }

    /// Like [`Embedded::open_for_repair`], on any store and clock.
    pub fn on_for_repair(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        options: Options,
    ) -> Result<Self, OpenError> {
        let opened = load(store, clock, &options)?;
        let background = options.background.without_rows();
        match opened.begin(background) {
            Ok(()) => {}
            // The models may be the reason for calling this function.
            Err(OpenError::Models(error)) if !matches!(error, BindError::Database(_)) => {
                opened.keep_up(background)?;
            }
            Err(error) => return Err(error),
        }
        Ok(Self::of(opened, &options))
    }

    /// Enforces the models and starts all background work, after [`Embedded::open_for_repair`] or with
    /// [`Background::Tables`]. Fails while a stored model does not load. Repeating the call has no effect.
    pub fn begin_work(&self) -> Result<(), OpenError> {
        self.opened().begin(Background::Everything)
    }
}

fn store_in(directory: &Path, options: &Options) -> Result<Arc<dyn Store>, StoreError> {
    let settings = options.store.clone();
    let store = match options.must_exist {
        true => FjallStore::open_existing(directory, settings)?,
        false => FjallStore::open(directory, settings)?,
    };
    Ok(Arc::new(store))
}

/// Engine and models, without background work. Nothing is enforced yet. From now on, undelivered changes are
/// kept for routes: the janitor, which trims, is started later.
fn load(store: Arc<dyn Store>, clock: Arc<dyn Clock>, options: &Options) -> Result<Opened, OpenError> {
    let engine = Engine::load(store, Arc::clone(&clock), options.engine.clone())?;
    engine.hold_changes(Arc::new(RouteHolds));
    let models = Arc::new(Models::read(Arc::new(engine.clone()), clock)?);
    Ok(Opened::new(engine, models))
}
