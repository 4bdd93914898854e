//! The application on a database in memory, a clock that only the test advances, and a channel that records
//! notices.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use manhunt::channel::{Channel, Channels, Email, Failure, Notice, Webhook};
use manhunt::model::{Search, SearchAttempt, SearchStatus};
use manhunt::{AttemptId, MethodDraft, Running, STEPS, SearchDraft, Service, Settings};
use testing::TestPlace;
use trestle::queue::{Counts, Message, Receive};
use trestle::{AnyDatabase, Clock as _, Timestamp, VirtualClock};

pub(crate) const DOMAIN: &str = "db3280c";
pub(crate) const START: Timestamp = Timestamp::from_secs(1_800_000_000);

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Records every notice that is sent or refused. The host name of a webhook can mean that it is unreachable,
/// that it fails so often before it accepts a notice (`fails-2`), or that the program dies at its first
/// notice. A number that ends in 888 fails once.
#[derive(Default)]
pub(crate) struct Recorder {
    sent: Mutex<Vec<Notice>>,
    tries: Mutex<Vec<String>>,
}

impl Recorder {
    pub(crate) fn sent(&self) -> Vec<Notice> {
        self.sent.lock().unwrap().clone()
    }

    /// The destinations of notices: numbers, and the names given to [`text`].
    pub(crate) fn destinations(&self) -> Vec<String> {
        let sent = self.sent().into_iter();
        sent.map(|notice| named(&notice.destination)).collect()
    }

    /// How often any destination was tried.
    pub(crate) fn tried(&self) -> usize {
        self.tries.lock().unwrap().len()
    }

    /// How often a destination was tried, including this time.
    fn tries(&self, destination: &str) -> usize {
        let mut tries = self.tries.lock().unwrap();
        tries.push(destination.to_owned());
        tries.iter().filter(|tried| *tried == destination).count()
    }
}

#[async_trait]
impl Channel for Recorder {
    async fn send(&self, notice: &Notice) -> Result<(), Failure> {
        let name = named(&notice.destination);
        let tries = self.tries(&name);
        if name == "breaks off once" && tries == 1 {
            panic!("as a program that dies");
        }
        let is_busy = name.starts_with('+') && name.ends_with("888");
        let fails = name.strip_prefix("fails ").or(is_busy.then_some("1"));
        if let Some(often) = fails
            && tries <= often.parse().unwrap()
        {
            return Err(Failure::passing(format!("not at try {tries}")));
        }
        self.sent.lock().unwrap().push(notice.clone());
        match name.contains("unreachable") {
            true => Err(Failure::lasting("no such host")),
            false => Ok(()),
        }
    }
}

/// Mail and webhooks, and a log for the rest.
pub(crate) fn channels(email: Option<Email>, webhook: Webhook) -> Arc<Channels> {
    let telephone = None;
    Arc::new(Channels {
        email,
        telephone,
        webhook,
    })
}

/// The application under test.
pub(crate) struct World {
    pub(crate) clock: Arc<VirtualClock>,
    pub(crate) stored: AnyDatabase,
    pub(crate) running: Running,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) place: TestPlace,
}

impl World {
    pub(crate) async fn new() -> Self {
        let recorder = Arc::new(Recorder::default());
        Self::set_up(recorder.clone(), recorder, settings()).await
    }

    pub(crate) async fn with(recorder: Arc<Recorder>, channel: Arc<dyn Channel>) -> Self {
        Self::set_up(recorder, channel, settings()).await
    }

    pub(crate) async fn set_up(
        recorder: Arc<Recorder>,
        channel: Arc<dyn Channel>,
        settings: Settings,
    ) -> Self {
        let clock = Arc::new(VirtualClock::starting_at(START));
        let place = TestPlace::new("manhunt");
        let stored = place.open(clock.clone());
        let running = Service::start(&stored, channel, settings).await.unwrap();
        Self {
            clock,
            stored,
            running,
            recorder,
            place,
        }
    }

    /// Ends the application and starts it again on the same database.
    pub(crate) async fn restart(self) -> Self {
        self.running.service.end_waiting();
        self.running.stop().await;
        let running = Service::start(&self.stored, self.recorder.clone(), settings())
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
            self.method(
                &contact.contact_id,
                text(&format!("+493010{order}"), *wait, order),
            )
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
        let begun = self.service().begin(DOMAIN, searching(contact)).await;
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

    /// Advances the clock, and waits until what is due then has happened.
    pub(crate) async fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
        self.settle(0).await;
    }

    /// Advances the clock by a second. Running steps have some time to end: after thirty seconds, their
    /// messages are received again.
    pub(crate) async fn tick(&self) {
        tokio::time::sleep(Duration::from_millis(10)).await;
        self.clock.advance(Duration::from_secs(1));
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

/// Links to `http://hunt` that are valid for a day, and an open API.
pub(crate) fn settings() -> Settings {
    Settings {
        base_url: "http://hunt".to_owned(),
        link_life: Duration::from_secs(24 * 3600),
        admin_key: None,
        telephone: None,
    }
}

/// A search for this contact, without words.
pub(crate) fn searching(contact: &str) -> SearchDraft {
    SearchDraft {
        contact_id: contact.to_owned(),
        ..SearchDraft::default()
    }
}

/// A text to a number, or a webhook whose host has this name.
pub(crate) fn text(destination: &str, wait: u32, order: i64) -> MethodDraft {
    match destination.starts_with('+') {
        true => draft("text", destination, wait, order),
        false => draft("webhook", &host(destination), wait, order),
    }
}

/// The URL of the receiver with this name.
pub(crate) fn host(name: &str) -> String {
    format!("http://{}.test/", name.replace(' ', "-"))
}

/// The name in a URL that [`host`] made.
fn named(destination: &str) -> String {
    let name = destination.strip_prefix("http://");
    let name = name.and_then(|name| name.strip_suffix(".test/"));
    name.map_or_else(|| destination.to_owned(), |name| name.replace('-', " "))
}

pub(crate) fn draft(kind: &str, destination: &str, wait: u32, order: i64) -> MethodDraft {
    MethodDraft {
        r#type: Some(kind.parse().unwrap()),
        destination: Some(destination.to_owned()),
        wait_seconds: Some(wait.into()),
        enabled: None,
        order: Some(order),
        retries: None,
        retry_seconds: None,
    }
}

/// The log, kept by the test.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    /// Listens to the log of this thread, until the guard is dropped.
    pub(crate) fn listen() -> (Self, tracing::subscriber::DefaultGuard) {
        let said = Self::default();
        let writer = said.clone();
        let log = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || writer.clone());
        let guard = tracing::subscriber::set_default(log.finish());
        (said, guard)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Said {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
