//! The application: its database, its queues, and its background work.

use std::sync::Arc;
use std::time::Duration;

use trestle::AnyDatabase;
use trestle::app::{self, PublicFiles, Webhooks};
use trestle::events::Events;
use trestle::queue::{Queues, WorkerSettings, Workers};

use crate::model::Warehouse;
use crate::{Bundler, JOBS, WEBHOOKS};

/// How often a message is tried before it becomes a dead letter. A kill of the program counts as an attempt.
const RECEIVES_MAX: u32 = 20;

/// How long after a crash interrupted jobs are repeated.
const VISIBILITY: Duration = Duration::from_secs(5);

/// Concurrent webhooks.
const POSTS_AT_ONCE: usize = 16;

/// The parts of the application.
pub struct Setup {
    /// The place of built files.
    pub assets: PublicFiles,
    /// What builds packages.
    pub bundler: Arc<dyn Bundler>,
    /// The receivers of webhooks about builds.
    pub hooks: Webhooks,
    /// The prefix of URLs of tarballs.
    pub base_url: String,
    /// Builds at once.
    pub builds_at_once: usize,
}

/// The state of requests and jobs.
pub struct Service {
    /// The typed client.
    pub db: Warehouse<AnyDatabase>,
    /// The queues, with [`JOBS`] and [`WEBHOOKS`] among them.
    pub queues: Queues,
    pub(crate) setup: Setup,
}

/// A service with its background work.
pub type Running = app::Running<Service>;

impl Service {
    /// Starts the application on a database.
    pub async fn start(database: &AnyDatabase, setup: Setup) -> Result<Running, Box<dyn std::error::Error>> {
        let service = Arc::new(Service {
            db: Warehouse::apply_to(database)?,
            queues: database.queues().clone(),
            setup,
        });
        let workers = Workers::new(&service.queues);
        let settings = |concurrency| WorkerSettings {
            concurrency,
            visibility: VISIBILITY,
            first_retry: Duration::from_millis(200),
            longest_retry: Duration::from_secs(30),
        };
        let (builds, posts) = (settings(service.setup.builds_at_once), settings(POSTS_AT_ONCE));
        let added = workers.add(JOBS, RECEIVES_MAX, builds, &service, Service::work);
        added.await?;
        let added = workers.add(WEBHOOKS, RECEIVES_MAX, posts, &service, Service::tell);
        added.await?;
        let router = Events::of(database).routes_of(&service.db).start().await?;
        Ok(Running {
            service,
            router,
            workers,
        })
    }
}
