//! The application on a database in memory, a clock that only the test moves, and a channel that remembers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manhunt::channel::{Channel, Notice};
use manhunt::model::{Search, SearchAttempt, SearchStatus};
use manhunt::{AttemptId, MethodDraft, Running, STEPS, Service};
use trestle::queue::{Counts, Message, Receive};
use trestle::{Clock as _, Embedded, MemoryStore, Options, Timestamp, VirtualClock};

pub(crate) const DOMAIN: &str = "db3280c";
pub(crate) const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Remembers every notice. Destinations may say that they are unreachable, or that the first attempt breaks off.
#[derive(Default)]
pub(crate) struct Recorder {
    sent: Mutex<Vec<Notice>>,
    broke_off: AtomicBool,
}

impl Recorder {
    pub(crate) fn sent(&self) -> Vec<Notice> {
        self.sent.lock().unwrap().clone()
    }

    pub(crate) fn destinations(&self) -> Vec<String> {
        self.sent().into_iter().map(|notice| notice.destination).collect()
    }
}

#[async_trait]
impl Channel for Recorder {
    async fn send(&self, notice: &Notice) -> Result<(), String> {
        if notice.destination.contains("breaks off once") && !self.broke_off.swap(true, Ordering::SeqCst) {
            panic!("as a program that dies");
        }
        self.sent.lock().unwrap().push(notice.clone());
        match notice.destination.contains("unreachable") {
            true => Err("nobody there".to_owned()),
            false => Ok(()),
        }
    }
}

/// The application under test.
pub(crate) struct World {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) embedded: Embedded,
    pub(crate) running: Running,
    pub(crate) recorder: Arc<Recorder>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let recorder = Arc::new(Recorder::default());
        Self::with(recorder.clone(), recorder).await
    }

    pub(crate) async fn with(recorder: Arc<Recorder>, channel: Arc<dyn Channel>) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let store = Arc::new(MemoryStore::new());
        let embedded = Embedded::on(store, clock.clone(), Options::default()).unwrap();
        let running = Service::start(&embedded, channel, "http://hunt").await.unwrap();
        Self {
            clock,
            embedded,
            running,
            recorder,
        }
    }

    /// Ends the application and starts it again on the same database.
    pub(crate) async fn restart(self) -> Self {
        self.running.stop().await;
        let running = Service::start(&self.embedded, self.recorder.clone(), "http://hunt")
            .await
            .unwrap();
        Self { running, ..self }
    }

    pub(crate) fn service(&self) -> &Service {
        &self.running.service
    }

    /// A contact with a text method for each wait, in this order.
    pub(crate) async fn contact(&self, waits: &[u32]) -> String {
        let contact = self.service().add_contact(DOMAIN, "Zavier Curtis").await.unwrap();
        for (order, wait) in (0..).zip(waits) {
            self.method(&contact.contact_id, text(&format!("+{order}"), *wait, order))
                .await;
        }
        contact.contact_id
    }

    /// Adds a method; answers with its id.
    pub(crate) async fn method(&self, contact: &str, draft: MethodDraft) -> String {
        let added = self.service().add_method(DOMAIN, contact, draft).await;
        added.unwrap().method_id
    }

    pub(crate) async fn begin(&self, contact: &str) -> String {
        let begun = self.service().begin(DOMAIN, contact, BTreeMap::new()).await;
        begun.unwrap().search_id
    }

    /// The first attempt of a search for this contact.
    pub(crate) async fn attempted(&self, contact: &str) -> AttemptId {
        let search = self.begin(contact).await;
        self.settle(1).await;
        AttemptId { search, number: 0 }
    }

    pub(crate) async fn look(&self, search: &str) -> (Search, Vec<SearchAttempt>) {
        self.service().search(DOMAIN, search).await.unwrap()
    }

    pub(crate) async fn status(&self, search: &str) -> SearchStatus {
        self.look(search).await.0.status
    }

    pub(crate) async fn counts(&self) -> Counts {
        self.service().queues.counts(STEPS).await.unwrap()
    }

    /// Waits until so many searches have become first steps, and no step is due or under way.
    pub(crate) async fn settle(&self, searches: u64) {
        self.until("the steps to be made", async || {
            let counts = self.counts().await;
            let routed = self.running.router.status()[0].delivered;
            routed >= searches && counts.visible == 0 && counts.in_flight == 0
        })
        .await;
    }

    /// Moves the clock, and waits until what is due then has happened.
    pub(crate) async fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.settle(0).await;
    }

    pub(crate) async fn until<F: Future<Output = bool>>(&self, what: &str, holds: impl Fn() -> F) {
        let wait = async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        assert!(
            tokio::time::timeout(PATIENCE, wait).await.is_ok(),
            "waited for {what} in vain"
        );
    }

    /// Dead letters of the steps.
    pub(crate) async fn dead(&self) -> Vec<Message> {
        let ask = Receive {
            max: 10,
            ..Receive::default()
        };
        let queues = &self.service().queues;
        queues.receive(&format!("{STEPS}-dead"), ask).await.unwrap()
    }

    /// Seconds since the test began.
    pub(crate) fn now(&self) -> u64 {
        self.clock.now().since(START).as_secs()
    }
}

/// A text method.
pub(crate) fn text(destination: &str, wait: u32, order: i64) -> MethodDraft {
    draft("text", destination, wait, order)
}

pub(crate) fn draft(kind: &str, destination: &str, wait: u32, order: i64) -> MethodDraft {
    MethodDraft {
        r#type: kind.parse().unwrap(),
        destination: destination.to_owned(),
        wait_seconds: Some(wait),
        enabled: None,
        order: Some(order),
    }
}
