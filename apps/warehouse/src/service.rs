//! The application: its database, its queues, and what works in the background.

use std::sync::Arc;
use std::time::Duration;

use trestle::AnyDatabase;
use trestle::app::{self, PublicFiles, Webhooks};
use trestle::events::Events;
use trestle::queue::{Queues, WorkerSettings, Workers};

use crate::model::Warehouse;
use crate::{Bundler, JOBS, WEBHOOKS};

/// How often a message is tried before it becomes a dead letter. A program that is killed while it works has tried, too.
const RECEIVES_MAX: u32 = 20;

/// How long after a crash the jobs that were under way are done again.
const VISIBILITY: Duration = Duration::from_secs(5);

/// Webhooks under way at once.
const POSTS_AT_ONCE: usize = 16;

/// What the application is made of.
pub struct Setup {
    /// Where built files are.
    pub assets: PublicFiles,
    /// What builds packages.
    pub bundler: Arc<dyn Bundler>,
    /// Who is told of builds.
    pub hooks: Webhooks,
    /// What URLs of tarballs begin with.
    pub base_url: String,
    /// Builds at once.
    pub builds_at_once: usize,
}

/// What requests and jobs work with.
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
