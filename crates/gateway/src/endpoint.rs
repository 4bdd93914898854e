//! An endpoint at which models are in force.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OnceCell, RwLock};
use trestle_api::{Database, Error};
use trestle_env::Clock;
use trestle_hook::Hook;

use crate::documents::InForce;
use crate::fleet::{Member, Sightings};
use crate::intent::OwnIntents;
use crate::known_rows::KnownRows;
use crate::moment::HeldMoment;
use crate::scan_both::Windows;
use crate::table_shape::TableShapes;

/// The maximum number of rounds in which a computation requests rows that depend on rows requested before.
const ROUNDS_MAX: usize = 32;

/// A remote endpoint, and the hook that interprets its rows.
pub(crate) struct Endpoint {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) clock: Arc<dyn Clock>,
    /// The hook in force.
    hook: Mutex<Option<Arc<dyn Hook>>>,
    /// Held for reading by each write of a modelled row from its first read to its response, and for writing
    /// while the models in force change.
    pub(crate) writing: Arc<RwLock<()>>,
    /// Held for writing while a change moves rows: no read begins meanwhile.
    pub(crate) reading: Arc<RwLock<()>>,
    /// Counts changes after which rows may be under other keys. A read that began before such a change must be repeated.
    pub(crate) layouts: AtomicU64,
    pub(crate) windows: Windows,
    pub(crate) member: Member,
    pub(crate) shapes: TableShapes,
    /// The generation at the endpoint when the models in force here were read.
    pub(crate) generation: AtomicU64,
    /// The generation of the documents only.
    pub(crate) of_documents: AtomicU64,
    /// Held while this gateway changes the models in force.
    pub(crate) changing: Mutex<()>,
    pub(crate) moment: Mutex<HeldMoment>,
    /// Whether the endpoint supports transactions, once it is known.
    pub(crate) transactions: OnceCell<bool>,
    /// Set once the table of intents exists. At an endpoint with transactions, only writes that look for rows need it.
    pub(crate) intents: OnceCell<()>,
    /// The intents of this gateway.
    pub(crate) own_intents: Mutex<OwnIntents>,
    /// Held while this gateway finishes an intent that it abandoned or took over.
    pub(crate) finishing: tokio::sync::Mutex<()>,
    /// The last renewals seen of other gateways with intents.
    pub(crate) sightings: Mutex<Sightings>,
    /// The number of submitted writes.
    pub(crate) writes: AtomicU64,
}

impl Endpoint {
    pub(crate) fn new(database: Arc<dyn Database>, clock: Arc<dyn Clock>) -> Self {
        Endpoint {
            database,
            clock,
            hook: Mutex::new(None),
            writing: Arc::default(),
            reading: Arc::default(),
            layouts: AtomicU64::new(0),
            windows: Windows::default(),
            member: Member::default(),
            shapes: TableShapes::default(),
            generation: AtomicU64::new(0),
            of_documents: AtomicU64::new(0),
            changing: Mutex::default(),
            moment: Mutex::default(),
            transactions: OnceCell::new(),
            intents: OnceCell::new(),
            own_intents: Mutex::default(),
            finishing: tokio::sync::Mutex::default(),
            sightings: Mutex::default(),
            writes: AtomicU64::new(0),
        }
    }

    /// The hook in force.
    pub(crate) fn hook(&self) -> Option<Arc<dyn Hook>> {
        self.hook.lock().clone()
    }

    /// The hook in force, and the count of changes of the layout. Waits during such a change.
    pub(crate) async fn layout(&self) -> (u64, Option<Arc<dyn Hook>>) {
        let _unchanged = self.reading.read().await;
        (self.layouts.load(Ordering::Acquire), self.hook())
    }

    /// Whether a read that began under this layout is valid. Otherwise it must be repeated.
    pub(crate) fn is_layout(&self, layouts: u64) -> Result<bool, Error> {
        self.member.check_read()?;
        Ok(self.layouts.load(Ordering::Acquire) == layouts)
    }

    pub(crate) fn set_hook(&self, hook: Option<Arc<dyn Hook>>) {
        *self.hook.lock() = hook;
    }

    /// The generation of the models in force here.
    pub(crate) fn known_generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Whether the models here are outdated, given this state of the endpoint.
    pub(crate) fn has_old_models(&self, found: &InForce) -> bool {
        found.documents > self.of_documents.load(Ordering::Acquire)
    }

    /// Records that models were read after this state of the endpoint: those in force here are at least as
    /// new.
    pub(crate) fn take_up(&self, found: &InForce) {
        self.of_documents.store(found.documents, Ordering::Release);
        self.generation.store(found.generation, Ordering::Release);
        let moment = found.moment.as_ref().map(|moment| moment.id.as_str());
        self.moment.lock().set(moment);
    }

    /// Runs a pure computation on rows of the endpoint, and repeats it until no row is missing.
    pub(crate) async fn settle<T>(
        &self,
        known: &mut KnownRows,
        mut run: impl FnMut(&KnownRows) -> Result<T, Error>,
    ) -> Result<T, Error> {
        for _ in 0..ROUNDS_MAX {
            known.begin_run();
            let result = run(known);
            if !known.lacks() {
                return result;
            }
            self.fetch(known).await?;
        }
        Err(Error::internal(format!(
            "what follows from the write was not known after {ROUNDS_MAX} reads, each of which depended on the one before"
        )))
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").finish_non_exhaustive()
    }
}
