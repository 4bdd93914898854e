//! Workers whose handler takes several messages at once.

use std::sync::{Arc, Mutex};

use tokio::sync::Semaphore;
use trestle_queue::{Job, NewMessage, Worker, WorkerSettings};

use crate::support::Fixture;
use crate::worker::{counts, fixture, until};

type Batches = Arc<Mutex<Vec<Vec<u32>>>>;

/// A worker that waits for a permit before each batch. It refuses batches that contain a 7, and panics at an
/// 8.
fn batched(fixture: &Fixture, most: usize) -> (Worker, Batches, Arc<Semaphore>) {
    let (batches, permits) = (Batches::default(), Arc::new(Semaphore::new(0)));
    let settings = WorkerSettings::default().at_once(most);
    let (seen, permitted) = (batches.clone(), permits.clone());
    let worker = fixture
        .queues
        .work_in_batches("work", settings, move |jobs: Vec<Job<u32>>| {
            let (seen, permitted) = (seen.clone(), permitted.clone());
            async move {
                permitted.acquire().await.unwrap().forget();
                let numbers: Vec<u32> = jobs.iter().map(|job| job.body).collect();
                let is_bad = numbers.contains(&7);
                assert!(!numbers.contains(&8), "a panic that the test wants");
                seen.lock().unwrap().push(numbers);
                if is_bad { Err("seven") } else { Ok(()) }
            }
        });
    (worker, batches, permits)
}

async fn send(fixture: &Fixture, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        let message = NewMessage::job(&number).unwrap();
        fixture.queues.send("work", message).await.unwrap();
    }
}

fn sorted(batches: &Batches) -> Vec<u32> {
    let mut all: Vec<u32> = batches.lock().unwrap().concat();
    all.sort_unstable();
    all
}

#[tokio::test]
async fn messages_that_wait_are_handled_together() {
    let fixture = fixture().await;
    let (worker, batches, permits) = batched(&fixture, 50);
    send(&fixture, 100..140).await;
    // The first batch is being handled; the others collect meanwhile.
    until(|| async { counts(&fixture, "work").await.1 == 40 }).await;
    permits.add_permits(100);
    until(|| async { counts(&fixture, "work").await == (0, 0, 0) }).await;
    assert_eq!(sorted(&batches), (100..140).collect::<Vec<_>>());
    let sizes: Vec<usize> = batches.lock().unwrap().iter().map(Vec::len).collect();
    assert!(sizes.len() < 10, "{sizes:?}");
    worker.stop().await;
}

#[tokio::test]
async fn never_more_messages_together_than_at_once() {
    let fixture = fixture().await;
    let (worker, batches, permits) = batched(&fixture, 3);
    permits.add_permits(100);
    send(&fixture, 100..120).await;
    until(|| async { counts(&fixture, "work").await == (0, 0, 0) }).await;
    assert_eq!(sorted(&batches), (100..120).collect::<Vec<_>>());
    assert!(batches.lock().unwrap().iter().all(|batch| batch.len() <= 3));
    worker.stop().await;
}

#[tokio::test]
async fn one_bad_message_fails_alone() {
    for bad in [7, 8] {
        let fixture = fixture().await;
        let (worker, batches, permits) = batched(&fixture, 50);
        send(&fixture, [1, 2, bad, 3, 4]).await;
        until(|| async { counts(&fixture, "work").await.1 == 5 }).await;
        permits.add_permits(100);
        // All but one are done, and that one is received again later.
        until(|| async { counts(&fixture, "work").await == (0, 1, 0) }).await;
        let handled = sorted(&batches);
        assert!((1..=4).all(|number| handled.contains(&number)), "{handled:?}");
        worker.stop().await;
    }
}
