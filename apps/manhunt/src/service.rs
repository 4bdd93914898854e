//! The application: its database, its queue, and what works in the background.

use std::sync::Arc;

use trestle::events::{ApplyError as RouteError, ChangeEvent, Events, Route, Router};
use trestle::queue::{self, Job, QueueError, Queues, Worker, WorkerSettings};
use trestle::typed::Timestamp;
use trestle::{ApplyError, Clock, Engine};

use crate::Step;
use crate::channel::Channels;
use crate::model::{Manhunt, Search};

/// The queue of steps.
pub const STEPS: &str = "manhunt-steps";

/// How often a step is tried before it is given up.
const STEP_RECEIVES_MAX: u32 = 5;

/// What requests and steps work with.
pub struct Service {
    pub(crate) db: Manhunt<Engine>,
    pub(crate) queues: Queues,
    pub(crate) channels: Channels,
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

/// Why the application did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The database cannot have the model.
    #[error(transparent)]
    Model(#[from] ApplyError),
    /// The queue cannot be made.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The route cannot work.
    #[error(transparent)]
    Route(#[from] RouteError),
}

impl Service {
    /// Starts the application on a database. Links in messages begin with `base_url`.
    pub async fn start(
        engine: &Engine,
        channels: Channels,
        base_url: impl Into<String>,
    ) -> Result<Running, StartError> {
        let service = Arc::new(Service {
            db: Manhunt::apply_to(engine)?,
            queues: queue::of(engine),
            channels,
            base_url: base_url.into(),
            clock: Arc::clone(engine.clock()),
        });
        service
            .queues
            .create_with_dead_letters(STEPS, STEP_RECEIVES_MAX)
            .await?;
        let router = Events::of(engine)
            .to_queue::<Search>("search-begun", new_searches, &service.queues, STEPS)
            .start()
            .await?;
        let hunter = Arc::clone(&service);
        let worker = service
            .queues
            .work(STEPS, WorkerSettings::default(), move |job: Job<Step>| {
                let hunter = Arc::clone(&hunter);
                async move { hunter.step(job).await }
            });
        Ok(Running {
            service,
            router,
            worker,
        })
    }

    /// The typed client.
    pub fn db(&self) -> &Manhunt<Engine> {
        &self.db
    }

    /// The queues, with [`STEPS`] and its dead letters among them.
    pub fn queues(&self) -> &Queues {
        &self.queues
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now().into()
    }
}

impl Running {
    /// Stops the background work; steps under way are finished.
    pub async fn stop(self) {
        self.router.stop().await;
        self.worker.stop().await;
    }
}

/// Only the insert of a search says anything; what becomes of it later is no news here.
fn new_searches(all: Route) -> Route {
    Route {
        events: vec![ChangeEvent::Insert],
        input: Some(r#"{"search": <new.searchId>, "number": 0}"#.to_owned()),
        ..all
    }
}
