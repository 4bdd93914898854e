//! A receiver that never answers delays nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::post;
use manhunt::Service;
use manhunt::channel::{Channels, Webhook};
use manhunt::model::SearchAttemptOutcome;
use tokio::sync::watch;

use crate::support::{World, draft};

/// Longer than any test waits: what hangs, hangs until its end.
const FOREVER: Duration = Duration::from_secs(3600);

/// A server of its own.
struct Receiver {
    url: String,
    /// How many requests came.
    asked: Arc<AtomicUsize>,
    answers: watch::Sender<bool>,
}

impl Receiver {
    /// Answers every request, or none yet.
    async fn new(answers: bool) -> Self {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let (answers, answering) = watch::channel(answers);
        let take = move || async move {
            count.fetch_add(1, Ordering::SeqCst);
            answering.clone().wait_for(|answers| *answers).await.unwrap();
            StatusCode::NO_CONTENT
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let app = axum::Router::new().route("/{path}", post(take));
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self { url, asked, answers }
    }

    fn answer(&self) {
        self.answers.send_replace(true);
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn world() -> World {
    let webhook = Webhook::with_timeout(FOREVER).unwrap();
    World::with(Arc::default(), Arc::new(Channels::new(None, webhook))).await
}

/// A contact with a webhook; answers with a search for them.
async fn begin(world: &World, url: &str) -> String {
    let contact = world.contact(&[]).await;
    world.method(&contact, draft("webhook", url, 60, 0)).await;
    world.begin(&contact).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contact_is_told_while_100_searches_wait_for_a_webhook_that_never_answers() {
    let world = world().await;
    let (silent, healthy) = (Receiver::new(false).await, Receiver::new(true).await);
    for at in 0..100 {
        begin(&world, &format!("{}/{at}", silent.url)).await;
    }
    world
        .until("requests to the silent receiver", async || silent.asked() > 0)
        .await;
    let search = begin(&world, &format!("{}/hook", healthy.url)).await;
    world
        .until("the healthy contact", async || {
            let (_, attempts) = world.look(&search).await;
            attempts.first().and_then(|attempt| attempt.outcome) == Some(SearchAttemptOutcome::Sent)
        })
        .await;
    assert_eq!(healthy.asked(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_gets_32_notices_at_once_and_those_that_wait_are_sent_after_the_next_start() {
    let world = world().await;
    let receiver = Receiver::new(false).await;
    for at in 0..50 {
        begin(&world, &format!("{}/{at}", receiver.url)).await;
    }
    world
        .until("all steps to be at work", async || {
            world.counts().await.in_flight == 50
        })
        .await;
    world.until("32 requests", async || receiver.asked() == 32).await;
    let World {
        embedded,
        running,
        clock,
        recorder,
    } = world;
    let stopped = tokio::spawn(running.stop());
    receiver.answer();
    stopped.await.unwrap();

    let webhook = Webhook::with_timeout(FOREVER).unwrap();
    let channel = Arc::new(Channels::new(None, webhook));
    let running = Service::start(&embedded, channel, "http://hunt").await.unwrap();
    let world = World {
        embedded,
        running,
        clock,
        recorder,
    };
    world.advance(2).await;
    assert_eq!(
        receiver.asked(),
        50,
        "each once, before the end or after the start"
    );
    assert_eq!(world.dead().await, []);
}
