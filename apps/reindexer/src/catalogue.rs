//! The application: its database, its queues and object store, and what works in the background.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::RwLock;
use trestle::events::{Events, Router};
use trestle::queue::{Queues, Worker, WorkerSettings};
use trestle::typed::Timestamp;
use trestle::{Clock, Database, Embedded};

use crate::model::Reindexer;
use crate::objects::Objects;
use crate::pipeline::Pipeline;
use crate::shards::Shards;
use crate::{Result, segments, shards};

/// What requests and workers work with.
pub struct Catalogue {
    /// The typed client.
    pub db: Reindexer<Arc<dyn Database>>,
    /// The queues of the reindexers and the pipelines.
    pub queues: Queues,
    pub(crate) database: Arc<dyn Database>,
    pub(crate) objects: Arc<dyn Objects>,
    pub(crate) indexes: Option<PathBuf>,
    pub(crate) pipelines: RwLock<BTreeMap<String, Arc<Pipeline>>>,
    pub(crate) shards: Shards,
    clock: Arc<dyn Clock>,
    first_retry: Duration,
}

/// What a catalogue is started with.
pub struct Setup {
    /// The database.
    pub embedded: Embedded,
    /// How the application reaches its tables: the same database, unless a test stands between them.
    pub database: Arc<dyn Database>,
    /// Where payloads lie.
    pub objects: Arc<dyn Objects>,
    /// Where indexes lie; in memory unless given.
    pub indexes: Option<PathBuf>,
    /// Records in a shard, about.
    pub shard_size: u64,
    /// How long a message waits after its first failure.
    pub first_retry: Duration,
}

impl Setup {
    /// The usual settings on a database.
    pub fn new(embedded: &Embedded, objects: Arc<dyn Objects>) -> Self {
        Self {
            embedded: embedded.clone(),
            database: Arc::new(embedded.clone()),
            objects,
            indexes: None,
            shard_size: shards::SHARD_SIZE,
            first_retry: WorkerSettings::default().first_retry,
        }
    }
}

/// A catalogue with its background work.
pub struct Running {
    /// What requests work with.
    pub app: Arc<Catalogue>,
    /// Brings changes of records to pipelines.
    pub router: Router,
    workers: tokio::sync::Mutex<Vec<Worker>>,
}

impl Catalogue {
    /// Starts the application: its pipelines, its reindexers, and the route from records to pipelines.
    pub async fn start(setup: Setup) -> std::result::Result<Running, Box<dyn std::error::Error>> {
        Reindexer::apply_to(&setup.embedded)?;
        let clock = Arc::clone(setup.embedded.clock());
        let db = Reindexer::on(Arc::clone(&setup.database));
        let app = Arc::new(Catalogue {
            db: db.with_clock(Arc::clone(&clock)).model_applied(),
            queues: setup.embedded.queues().clone(),
            database: setup.database,
            objects: setup.objects,
            indexes: setup.indexes,
            pipelines: RwLock::default(),
            shards: Shards::new(setup.shard_size),
            clock,
            first_retry: setup.first_retry,
        });
        for row in app.db.pipelines().collect().await? {
            app.open_pipeline(row).await?;
        }
        let workers = app.work().await?;
        let publisher = Arc::clone(&app);
        let router = Events::of(&setup.embedded)
            .routes_in(include_str!("../routes.toml"))
            .handler("publish", move |change| Arc::clone(&publisher).publish(change))
            .start()
            .await?;
        Ok(Running {
            app,
            router,
            workers: workers.into(),
        })
    }

    /// The workers of both reindexers.
    async fn work(self: &Arc<Self>) -> Result<Vec<Worker>> {
        for (queue, receives_max) in [segments::QUEUE, shards::SHARD_QUEUE, shards::REQUEST_QUEUE] {
            self.queues.create_with_dead_letters(queue, receives_max).await?;
        }
        let (segments, shards, requests) = (Arc::clone(self), Arc::clone(self), Arc::clone(self));
        Ok(vec![
            self.queues
                .work(segments::QUEUE.0, self.at_once(segments::AT_ONCE), move |job| {
                    Arc::clone(&segments).send_part(job)
                }),
            self.queues.work(
                shards::SHARD_QUEUE.0,
                self.at_once(shards::SHARDS_AT_ONCE),
                move |job| Arc::clone(&shards).request_shard(job),
            ),
            self.queues.work(
                shards::REQUEST_QUEUE.0,
                self.at_once(shards::ROWS_AT_ONCE),
                move |job| Arc::clone(&requests).touch(job),
            ),
        ])
    }

    pub(crate) fn at_once(&self, concurrency: usize) -> WorkerSettings {
        WorkerSettings {
            concurrency,
            first_retry: self.first_retry,
            ..WorkerSettings::default()
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now().into()
    }

    /// Seconds since 1970: what a reindex of the first design raises rows to, unless told otherwise.
    pub(crate) fn seconds(&self) -> i64 {
        i64::try_from(self.clock.now().as_secs()).unwrap_or(i64::MAX)
    }
}

impl Running {
    /// Stops the background work. What is under way is finished; the rest goes on after the next start.
    pub async fn stop(&self) {
        self.router.stop().await;
        for worker in self.workers.lock().await.drain(..) {
            worker.stop().await;
        }
        for pipeline in self.app.pipelines.write().await.values() {
            pipeline.stop().await;
        }
    }
}
