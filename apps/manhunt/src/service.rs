//! The application: its database, its queue, and its background work.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use trestle::app::{self, Lines, Tokens, random_bytes};
use trestle::events::Events;
use trestle::queue::{Queues, WorkerSettings, Workers};
use trestle::typed::Timestamp;
use trestle::{AnyDatabase, Clock};

use crate::channel::{Channel, Twilio};
use crate::metrics::Metrics;
use crate::model::{Manhunt, NewSetting, SettingKey};

/// The queue of steps. The model's route sends it the first step of each search.
pub const STEPS: &str = "manhunt-steps";

/// Concurrent steps. Each needs few resources: most of them wait for a receiver.
const STEPS_MAX: usize = 10_000;

/// The most notices that are being sent to one receiver.
const UNDERWAY_MAX: usize = 32;
/// The most notices that wait for one receiver, each as a step in progress. Further ones stay in the queue
/// for a while.
const WAITING_MAX: usize = 1_000;

/// How often a step is tried before it becomes a dead letter.
const STEP_RECEIVES_MAX: u32 = 5;

/// The secret that signs links, among the settings.
pub(crate) const LINK_SECRET: &str = "link-secret";

/// How the application is set up.
#[derive(Clone)]
pub struct Settings {
    /// The prefix of links in messages, without a final slash.
    pub base_url: String,
    /// How long links are valid.
    pub link_life: Duration,
    /// The key of the administrator. With one, every request needs a key; without, the API is open.
    pub admin_key: Option<String>,
    /// The provider whose replies to texts and calls are accepted.
    pub telephone: Option<Arc<Twilio>>,
}

/// The state of requests and steps.
pub struct Service {
    /// The typed client.
    pub db: Manhunt<AnyDatabase>,
    /// The queues, with [`STEPS`] and its dead letters among them.
    pub queues: Queues,
    pub(crate) channel: Arc<dyn Channel>,
    pub(crate) lines: Lines,
    pub(crate) tokens: Tokens,
    pub(crate) metrics: Metrics,
    pub(crate) settings: Settings,
    /// Held while dead letters are read or replayed, because the next reader's receipt handles replace the
    /// earlier ones.
    pub(crate) letters: tokio::sync::Mutex<()>,
    clock: Arc<dyn Clock>,
}

/// A service with its background work. Before it is stopped, [`Service::end_waiting`] is called.
pub type Running = app::Running<Service>;

impl Service {
    /// Starts the application on a database.
    pub async fn start(
        database: &AnyDatabase,
        channel: Arc<dyn Channel>,
        settings: Settings,
    ) -> Result<Running, Box<dyn Error>> {
        let db = Manhunt::apply_to(database)?;
        let secret = link_secret(&db).await?;
        let service = Arc::new(Service {
            db,
            queues: database.queues().clone(),
            channel,
            lines: Lines::new(UNDERWAY_MAX, WAITING_MAX),
            tokens: Tokens::new(&secret),
            metrics: Metrics::default(),
            settings,
            letters: tokio::sync::Mutex::default(),
            clock: Arc::clone(database.clock()),
        });
        let (workers, settings) = (Workers::new(&service.queues), WorkerSettings::default());
        let settings = settings.at_once(STEPS_MAX);
        let added = workers.add(STEPS, STEP_RECEIVES_MAX, settings, &service, Service::step);
        added.await?;
        let router = Events::of(database).routes_of(&service.db).start().await?;
        Ok(Running {
            service,
            router,
            workers,
        })
    }

    /// Defers notices that wait for their turn to the next start; running ones are finished.
    pub fn end_waiting(&self) {
        self.lines.close();
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now().into()
    }
}

/// The secret that signs links: created at the first start, and read at later ones.
async fn link_secret(db: &Manhunt<AnyDatabase>) -> Result<Vec<u8>, Box<dyn Error>> {
    let key = SettingKey::new(LINK_SECRET);
    if let Some(found) = db.get(&key).consistent().await? {
        return Ok(found.value);
    }
    let made = NewSetting {
        name: LINK_SECRET.to_owned(),
        value: random_bytes()?.to_vec(),
    };
    db.put(&made).if_not_exists().await?;
    Ok(made.value)
}
