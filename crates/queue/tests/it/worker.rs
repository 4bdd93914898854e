//! Workers: the outcome of a message when its handler succeeds, fails, takes long or panics.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::Deserialize;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore};
use trestle_api::Scan;
use trestle_env::Clock as _;
use trestle_queue::{Job, NewMessage, Worker, WorkerSettings};

use crate::support::Fixture;

#[derive(Debug, Deserialize)]
struct Task {
    n: u32,
}

/// With a queue `work` whose messages become dead letters after three receptions.
pub(crate) async fn fixture() -> Fixture {
    let fixture = Fixture::new();
    let dead = fixture.queues.create_with_dead_letters("work", 3).await.unwrap();
    assert_eq!(dead, "work-dead");
    fixture
}

/// A worker that reports each job, then returns the given result.
fn reporting(fixture: &Fixture, answer: Result<(), &'static str>) -> (Worker, UnboundedReceiver<Job<Task>>) {
    let (report, reports) = unbounded_channel();
    let handler = move |job: Job<Task>| {
        let report: UnboundedSender<Job<Task>> = report.clone();
        async move {
            report.send(job).unwrap();
            answer
        }
    };
    let worker = fixture.queues.work("work", WorkerSettings::default(), handler);
    (worker, reports)
}

pub(crate) async fn counts(fixture: &Fixture, queue: &str) -> (usize, usize, usize) {
    let counts = fixture.queues.counts(queue).await.unwrap();
    (counts.visible, counts.in_flight, counts.delayed)
}

/// The due times of messages in flight, from their rows.
fn due_rows(fixture: &Fixture) -> Vec<u64> {
    let scan = Scan {
        table_name: "_trestle.queues".to_owned(),
        ..Scan::default()
    };
    let rows = fixture.engine.run(scan).unwrap().items.unwrap().to_vec();
    let due = rows
        .iter()
        .filter_map(|row| row.get("due")?.as_n()?.to_string().parse().ok());
    due.collect()
}

/// Runs other tasks until a condition holds.
pub(crate) async fn until<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    let patience = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), patience)
        .await
        .expect("it should have come to this");
}

#[tokio::test]
async fn a_message_is_gone_when_its_handler_has_succeeded() {
    let fixture = fixture().await;
    let (worker, mut jobs) = reporting(&fixture, Ok(()));
    let id = fixture.queues.send("work", r#"{"n":1}"#).await.unwrap();
    let job = jobs.recv().await.unwrap();
    assert_eq!((job.id, job.receives, job.body.n), (id, 1, 1));
    worker.stop().await;
    assert_eq!(counts(&fixture, "work").await, (0, 0, 0));
    assert_eq!(counts(&fixture, "work-dead").await, (0, 0, 0));
}

#[tokio::test]
async fn a_failed_message_comes_again_later_each_time_and_ends_as_a_dead_letter_with_the_reason() {
    let fixture = fixture().await;
    let (worker, mut jobs) = reporting(&fixture, Err("the line is busy"));
    let id = fixture.queues.send("work", r#"{"n":1}"#).await.unwrap();
    for (receives, wait) in [(1, 1), (2, 2)] {
        assert_eq!(jobs.recv().await.unwrap().receives, receives);
        let waits = async || counts(&fixture, "work").await == (0, 1, 0);
        until(waits).await;
        // No worker receives it too early.
        fixture.clock.advance(Duration::from_millis(wait * 1000 - 1));
        assert!(jobs.try_recv().is_err());
        fixture.clock.advance(Duration::from_millis(1));
    }
    assert_eq!(jobs.recv().await.unwrap().receives, 3);
    until(async || counts(&fixture, "work-dead").await.0 == 1).await;
    worker.stop().await;
    let dead = fixture.receive("work-dead", 10).await;
    assert_eq!(dead[0].id, id);
    assert_eq!(dead[0].dead_letter_reason.as_deref(), Some("the line is busy"));
    assert!(dead[0].dead_letter_source.as_deref().unwrap().ends_with(":work"));
    assert_eq!(counts(&fixture, "work").await, (0, 0, 0));
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_given_up_at_once() {
    let fixture = fixture().await;
    let (worker, mut jobs) = reporting(&fixture, Ok(()));
    fixture.queues.send("work", r#"{"m":1}"#).await.unwrap();
    until(async || counts(&fixture, "work-dead").await.0 == 1).await;
    worker.stop().await;
    assert!(jobs.try_recv().is_err());
    let dead = fixture.receive("work-dead", 1).await;
    let reason = dead[0].dead_letter_reason.as_deref().unwrap();
    assert!(reason.contains("missing field `n`"), "{reason}");
}

#[tokio::test]
async fn a_handler_that_panics_has_failed() {
    let fixture = Fixture::new();
    fixture.queues.create_with_dead_letters("work", 1).await.unwrap();
    let panics = |_: Job<Task>| async {
        if true {
            panic!("on purpose")
        } else {
            Ok::<(), String>(())
        }
    };
    let worker = fixture.queues.work("work", WorkerSettings::default(), panics);
    fixture.queues.send("work", r#"{"n":1}"#).await.unwrap();
    until(async || counts(&fixture, "work-dead").await.0 == 1).await;
    worker.stop().await;
}

#[tokio::test]
async fn work_that_takes_long_keeps_its_message_and_is_waited_for() {
    let fixture = fixture().await;
    let (begun, finish) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
    let runs = Arc::new(AtomicUsize::new(0));
    let handler = {
        let (begun, finish, runs) = (begun.clone(), finish.clone(), runs.clone());
        move |_: Job<Task>| {
            let (begun, finish, runs) = (begun.clone(), finish.clone(), runs.clone());
            async move {
                runs.fetch_add(1, Ordering::SeqCst);
                begun.add_permits(1);
                finish.notified().await;
                Ok::<(), String>(())
            }
        }
    };
    let worker = fixture.queues.work("work", WorkerSettings::default(), handler);
    fixture.queues.send("work", r#"{"n":1}"#).await.unwrap();
    begun.acquire().await.unwrap().forget();
    // Each extension gives it another 30 seconds.
    for _ in 0..8 {
        fixture.advance(15);
        let renewed = fixture.clock.now().plus(Duration::from_secs(30));
        until(async || due_rows(&fixture) == [renewed.as_millis()]).await;
    }
    assert_eq!(counts(&fixture, "work").await, (0, 1, 0));
    let mut stopping = std::pin::pin!(worker.stop());
    let soon = tokio::time::timeout(Duration::ZERO, &mut stopping).await;
    assert!(soon.is_err(), "a job is under way");
    finish.notify_one();
    stopping.await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(counts(&fixture, "work").await, (0, 0, 0));
}

#[tokio::test]
async fn a_message_may_wait_longer_than_fifteen_minutes() {
    let fixture = fixture().await;
    let (worker, mut jobs) = reporting(&fixture, Ok(()));
    let later = NewMessage {
        delay: Some(Duration::from_secs(7200)),
        ..NewMessage::from(r#"{"n":1}"#)
    };
    fixture.queues.send("work", later).await.unwrap();
    fixture.advance(7199);
    assert_eq!(counts(&fixture, "work").await, (0, 0, 1));
    fixture.advance(1);
    assert_eq!(jobs.recv().await.unwrap().body.n, 1);
    worker.stop().await;
}

#[tokio::test]
async fn never_more_jobs_at_once_than_allowed() {
    let fixture = fixture().await;
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let handler = {
        let (now, most) = (now.clone(), most.clone());
        move |_: Job<Task>| {
            let (now, most) = (now.clone(), most.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok::<(), String>(())
            }
        }
    };
    for n in 0..50 {
        fixture
            .queues
            .send("work", format!(r#"{{"n":{n}}}"#))
            .await
            .unwrap();
    }
    let settings = WorkerSettings {
        concurrency: 3,
        ..WorkerSettings::default()
    };
    let worker = fixture.queues.work("work", settings, handler);
    until(async || counts(&fixture, "work").await == (0, 0, 0)).await;
    worker.stop().await;
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn work_for_later_is_kept_as_long_as_a_queue_can_unless_its_retention_was_set() {
    let fixture = Fixture::new();
    let retention = async |queue: &str| {
        let attributes = fixture.queues.attributes(queue).await.unwrap();
        attributes["MessageRetentionPeriod"].clone()
    };
    let dead = fixture.queues.create_with_dead_letters("work", 3).await.unwrap();
    assert_eq!(retention("work").await, "1209600");
    assert_eq!(retention(&dead).await, "1209600");
    let hour = [("MessageRetentionPeriod".to_owned(), "3600".to_owned())].into();
    fixture.queues.set_attributes("work", &hour).await.unwrap();
    fixture.queues.create_with_dead_letters("work", 3).await.unwrap();
    assert_eq!(retention("work").await, "3600", "an operator's choice stays");
}
