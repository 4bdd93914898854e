//! The application: its database, its queues and object store, and what works in the background.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::RwLock;
use trestle::Embedded;
use trestle::events::{Events, Router};
use trestle::queue::{Queues, WorkerSettings, Workers};
use trestle::reindex::{ReindexBudget, Touch, Units};

use crate::jobs::JOBS;
use crate::model::Reindexer;
use crate::objects::Objects;
use crate::pipeline::{Pipeline, narrow};
use crate::shards::{self, Shards};
use crate::{Result, segments};

/// What requests and workers work with.
pub struct Catalogue {
    /// The typed client.
    pub db: Reindexer<Embedded>,
    /// The queues of the reindexers and the pipelines.
    pub queues: Queues,
    /// The reindexes by segments: the database's own.
    pub reindexer: trestle::reindex::Reindexer,
    pub(crate) setup: Setup,
    pub(crate) writes: Units,
    pub(crate) pipelines: RwLock<BTreeMap<String, Arc<Pipeline>>>,
}

/// What a catalogue is started with.
pub struct Setup {
    /// The database.
    pub embedded: Embedded,
    /// How rows are raised to a version: by the same database, unless a test stands between them.
    pub touch: Arc<dyn Touch>,
    /// Where payloads lie.
    pub objects: Arc<dyn Objects>,
    /// Where indexes lie; in memory unless given.
    pub indexes: Option<PathBuf>,
    /// The shards of the first design.
    pub shards: Shards,
    /// Segments that are sent at once; a table has that many at least.
    pub segments: u32,
    /// What reindexes may cost: read units of segments, write units of shards.
    pub budget: ReindexBudget,
    /// How long a message or a segment is its worker's after the last sign of life.
    pub lease: Duration,
    /// How long a message waits after its first failure.
    pub first_retry: Duration,
}

impl Setup {
    /// The usual settings on a database.
    pub fn new(embedded: &Embedded, objects: Arc<dyn Objects>) -> Self {
        let usual = WorkerSettings::default();
        Self {
            embedded: embedded.clone(),
            touch: Arc::new(embedded.clone()),
            objects,
            indexes: None,
            shards: Shards::new(shards::SHARD_SIZE),
            segments: segments::AT_ONCE,
            budget: segments::budget(),
            lease: usual.visibility,
            first_retry: usual.first_retry,
        }
    }
}

/// A catalogue with its background work.
pub struct Running {
    /// What requests work with.
    pub app: Arc<Catalogue>,
    /// Brings changes of records to pipelines.
    pub router: Router,
    pub(crate) workers: Workers,
}

impl Catalogue {
    /// Starts the application: its pipelines, the routes to them, and its reindexers.
    pub async fn start(setup: Setup) -> std::result::Result<Running, Box<dyn std::error::Error>> {
        let embedded = setup.embedded.clone();
        let app = Arc::new(Catalogue {
            db: Reindexer::apply_to(&embedded)?,
            queues: embedded.queues().clone(),
            reindexer: embedded.reindexer().with_lease(setup.lease),
            writes: Units::new(Arc::clone(embedded.clock()), setup.budget.write_units),
            setup,
            pipelines: RwLock::default(),
        });
        // From the first one on, rows have a version, without which they would not be in the index of shards.
        embedded.set_reindex_version(shards::TABLE, Some("record"), 0)?;
        for row in app.db.pipelines().collect().await? {
            app.open_pipeline(row).await?;
        }
        let routes = JOBS.iter().fold(Events::of(&embedded), |events, job| {
            let (app, destination) = (Arc::clone(&app), job.2);
            let publish = move |change| Arc::clone(&app).publish(destination, change);
            events.on(job.0, |all| narrow(all, job.1), publish)
        });
        // Segments are sent to routes, so these are there first.
        let router = routes.start().await?;
        let workers = app.work().await?;
        Ok(Running { app, router, workers })
    }

    /// The workers of both reindexers, in the order of the way.
    async fn work(self: &Arc<Self>) -> Result<Workers> {
        let workers = Workers::new(&self.queues);
        let (queue, most, at_once) = segments::QUEUE;
        let settings = self.at_once(at_once);
        workers.add(queue, most, settings, self, Self::send_run).await?;
        let (queue, most, at_once) = shards::SHARD_QUEUE;
        let settings = self.at_once(at_once);
        workers
            .add(queue, most, settings, self, Self::request_rows)
            .await?;
        let (queue, most, at_once) = shards::REQUEST_QUEUE;
        workers
            .add(queue, most, self.at_once(at_once), self, Self::raise)
            .await?;
        Ok(workers)
    }

    pub(crate) fn at_once(&self, concurrency: usize) -> WorkerSettings {
        WorkerSettings {
            concurrency,
            visibility: self.setup.lease,
            first_retry: self.setup.first_retry,
            ..WorkerSettings::default()
        }
    }
}

impl Running {
    /// Stops the background work. What is under way is finished; the rest goes on after the next start.
    pub async fn stop(&self) {
        self.router.stop().await;
        self.workers.stop().await;
        // Pipelines know the catalogue, so it lets go of them.
        for pipeline in std::mem::take(&mut *self.app.pipelines.write().await).values() {
            pipeline.workers.stop().await;
        }
    }
}
