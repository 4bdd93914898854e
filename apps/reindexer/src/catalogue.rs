//! The application: its database, its queues and object store, and its background work.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use tokio::sync::RwLock;
use trestle::AnyDatabase;
use trestle::app::Objects;
use trestle::events::{Events, Router};
use trestle::queue::{Queues, WorkerSettings, Workers};
use trestle::reindex::{ReindexBudget, Touch, Units};

use crate::jobs::jobs;
use crate::model::Reindexer;
use crate::pipeline::{Pipeline, RECEIVES_MAX, narrow};
use crate::shards::{self, Shards};
use crate::{Result, segments};

/// The state of requests and workers.
pub struct Catalogue {
    /// The typed client.
    pub db: Reindexer<AnyDatabase>,
    /// The queues of the reindexers and the pipelines.
    pub queues: Queues,
    /// The reindexes by segments: the database's own.
    pub reindexer: trestle::reindex::Reindexer,
    /// The reindexers. They are idle when every record was sent or touched, or is a dead letter.
    pub workers: Workers,
    /// Delivers changes of records to pipelines, once it is started.
    pub(crate) router: OnceLock<Router>,
    pub(crate) setup: Setup,
    pub(crate) writes: Units,
    pub(crate) pipelines: RwLock<BTreeMap<String, Arc<Pipeline>>>,
}

/// The settings of a catalogue.
pub struct Setup {
    /// The database.
    pub database: AnyDatabase,
    /// How rows are raised to a version: by the same database, unless a test replaces it.
    pub touch: Arc<dyn Touch>,
    /// Where payloads lie.
    pub objects: Objects,
    /// Where indexes lie.
    pub indexes: PathBuf,
    /// The size of shards in the first design.
    pub shards: Shards,
    /// Segments that are sent at once; a table has at least that many. Each sends one record at a time, and
    /// all of them share commits.
    pub segments: u32,
    /// What reindexes may cost: read units of segments, write units of shards. The pipelines that a reindex
    /// feeds write to the same database: a reindex that yielded would take that for live traffic and pause
    /// all the time.
    pub budget: ReindexBudget,
    /// The settings of workers.
    pub workers: WorkerSettings,
}

impl Setup {
    /// The usual settings on a database.
    pub fn new(database: &AnyDatabase, objects: Objects, indexes: PathBuf) -> Self {
        Self {
            database: database.clone(),
            touch: Arc::new(database.clone()),
            objects,
            indexes,
            shards: Shards(1_500),
            segments: 16,
            budget: ReindexBudget {
                yields: false,
                ..ReindexBudget::default()
            },
            workers: WorkerSettings::default(),
        }
    }
}

impl Catalogue {
    /// Starts the application: its pipelines, the routes to them, and its reindexers.
    pub async fn start(setup: Setup) -> std::result::Result<Arc<Self>, Box<dyn std::error::Error>> {
        let database = setup.database.clone();
        let app = Arc::new(Catalogue {
            db: Reindexer::apply_to(&database)?,
            queues: database.queues().clone(),
            reindexer: database.reindexer(),
            workers: Workers::new(database.queues()),
            router: OnceLock::new(),
            writes: Units::new(Arc::clone(database.clock()), setup.budget.write_units),
            setup,
            pipelines: RwLock::default(),
        });
        // After the first one, rows have a version, without which they would not be in the index of shards.
        database.set_reindex_version(shards::TABLE, Some("record"), 0)?;
        for row in app.db.pipelines().collect().await? {
            app.open_pipeline(row).await?;
        }
        let routes = jobs().fold(Events::of(&database), |events, job| {
            let (app, destination) = (Arc::clone(&app), job.destination);
            let publish = move |change| Arc::clone(&app).publish(destination, change);
            events.on(&job.job_config_id, |all| narrow(all, job.source), publish)
        });
        // Segments are sent to routes, so these must exist first.
        let router = routes.start().await?;
        app.router.get_or_init(|| router);
        app.work().await?;
        Ok(app)
    }

    /// The workers of both reindexers, in the order of processing. A table has one reindex by segments at a
    /// time.
    async fn work(self: &Arc<Self>) -> Result<()> {
        let (workers, settings) = (&self.workers, self.setup.workers);
        let (runs, shards, rows) = (settings.at_once(1), settings.at_once(3), settings.at_once(100));
        workers
            .add(segments::QUEUE, RECEIVES_MAX, runs, self, Self::send_run)
            .await?;
        workers
            .add(shards::SHARD_QUEUE, 50, shards, self, Self::request_rows)
            .await?;
        workers
            .add(shards::REQUEST_QUEUE, 3, rows, self, Self::raise)
            .await?;
        Ok(())
    }

    /// Stops the background work. Running work is finished; the rest continues after the next start.
    pub async fn stop(&self) {
        if let Some(router) = self.router.get() {
            router.stop().await;
        }
        self.workers.stop().await;
        // Pipelines hold the catalogue, so the catalogue releases them.
        for pipeline in std::mem::take(&mut *self.pipelines.write().await).values() {
            pipeline.workers.stop().await;
        }
    }
}
