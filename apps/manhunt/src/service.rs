//! The application: its database, its queue, and what works in the background.

use std::error::Error;
use std::sync::Arc;

use trestle::events::{Events, Router};
use trestle::queue::{Queues, Worker, WorkerSettings};
use trestle::typed::Timestamp;
use trestle::{Clock, Embedded};

use crate::channel::Channel;
use crate::lines::Lines;
use crate::model::Manhunt;

/// The queue of steps. The model's route brings it the first step of each search.
pub const STEPS: &str = "manhunt-steps";

/// Steps at work at once. Each takes little: most of them wait for a receiver.
const STEPS_MAX: usize = 10_000;

/// How often a step is tried before it is given up.
const STEP_RECEIVES_MAX: u32 = 5;

/// What requests and steps work with.
pub struct Service {
    /// The typed client.
    pub db: Manhunt<Embedded>,
    /// The queues, with [`STEPS`] and its dead letters among them.
    pub queues: Queues,
    pub(crate) channel: Arc<dyn Channel>,
    pub(crate) lines: Lines,
    pub(crate) base_url: String,
    clock: Arc<dyn Clock>,
}

/// A service with its background work.
pub struct Running {
    /// What requests work with.
    pub service: Arc<Service>,
    /// Turns new searches into first steps.
    pub router: Router,
    worker: Worker,
}

impl Service {
    /// Starts the application on a database. Links in messages begin with `base_url`.
    pub async fn start(
        database: &Embedded,
        channel: Arc<dyn Channel>,
        base_url: impl Into<String>,
    ) -> Result<Running, Box<dyn Error>> {
        let service = Arc::new(Service {
            db: Manhunt::apply_to(database)?,
            queues: database.queues().clone(),
            channel,
            lines: Lines::default(),
            base_url: base_url.into(),
            clock: Arc::clone(database.clock()),
        });
        let queues = &service.queues;
        queues.create_with_dead_letters(STEPS, STEP_RECEIVES_MAX).await?;
        let routes = Events::of(database).routes_of(&service.db);
        let router = routes.start().await?;
        let hunter = Arc::clone(&service);
        let step = move |job| Arc::clone(&hunter).step(job);
        let settings = WorkerSettings {
            concurrency: STEPS_MAX,
            ..WorkerSettings::default()
        };
        let worker = queues.work(STEPS, settings, step);
        Ok(Running {
            service,
            router,
            worker,
        })
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now().into()
    }
}

impl Running {
    /// Stops the background work; notices under way are finished, those that wait for their turn are sent after the next
    /// start.
    pub async fn stop(self) {
        self.router.stop().await;
        self.service.lines.close();
        self.worker.stop().await;
    }
}
