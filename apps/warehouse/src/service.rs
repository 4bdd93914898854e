//! The application: its database, its queues, and what works in the background.

use std::sync::Arc;
use std::time::Duration;

use trestle::Embedded;
use trestle::events::{Events, Router};
use trestle::queue::{Queues, Worker, WorkerSettings};

use crate::model::Warehouse;
use crate::{Assets, Bundler, Hooks, JOBS, WEBHOOKS};

/// How often a message is tried before it becomes a dead letter. A program that is killed while it works has tried, too.
const RECEIVES_MAX: u32 = 20;

/// How long after a crash the jobs that were under way are done again.
const VISIBILITY: Duration = Duration::from_secs(5);

/// What the application is made of.
pub struct Setup {
    /// Where tarballs and built files are.
    pub assets: Assets,
    /// What builds packages.
    pub bundler: Arc<dyn Bundler>,
    /// Who is told of builds.
    pub hooks: Hooks,
    /// What URLs of tarballs begin with.
    pub base_url: String,
    /// Builds at once.
    pub builds_at_once: usize,
}

/// What requests and jobs work with.
pub struct Service {
    /// The typed client.
    pub db: Warehouse<Embedded>,
    /// The queues, with [`JOBS`] and [`WEBHOOKS`] among them.
    pub queues: Queues,
    pub(crate) setup: Setup,
}

/// A service with its background work.
pub struct Running {
    /// What requests work with.
    pub service: Arc<Service>,
    /// Turns changes of statuses into webhooks.
    pub router: Router,
    workers: Vec<Worker>,
}

impl Service {
    /// Starts the application on a database.
    pub async fn start(database: &Embedded, setup: Setup) -> Result<Running, Box<dyn std::error::Error>> {
        let service = Arc::new(Service {
            db: Warehouse::apply_to(database)?,
            queues: database.queues().clone(),
            setup,
        });
        let queues = &service.queues;
        for queue in [JOBS, WEBHOOKS] {
            queues.create_with_dead_letters(queue, RECEIVES_MAX).await?;
        }
        let router = Events::of(database).routes_of(&service.db).start().await?;
        let settings = |concurrency| WorkerSettings {
            concurrency,
            visibility: VISIBILITY,
            first_retry: Duration::from_millis(200),
            longest_retry: Duration::from_secs(30),
            ..WorkerSettings::default()
        };
        let (builder, messenger) = (Arc::clone(&service), Arc::clone(&service));
        let workers = vec![
            queues.work(JOBS, settings(service.setup.builds_at_once), move |job| {
                Arc::clone(&builder).work(job)
            }),
            queues.work(WEBHOOKS, settings(16), move |job| Arc::clone(&messenger).tell(job)),
        ];
        Ok(Running {
            service,
            router,
            workers,
        })
    }
}

impl Running {
    /// Stops the background work; jobs under way are finished.
    pub async fn stop(self) {
        self.router.stop().await;
        for worker in self.workers {
            worker.stop().await;
        }
    }
}
