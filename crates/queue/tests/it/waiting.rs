//! Long polling: a waiting receiver gets a message as soon as there is one, with any clock.

use std::time::Duration;

use tokio::task::JoinHandle;
use trestle_queue::{Message, NewMessage, Receive};

use crate::support::{Fixture, bodies};

fn poll(fixture: &Fixture, seconds: u64) -> JoinHandle<Vec<Message>> {
    let queues = fixture.queues.clone();
    tokio::spawn(async move {
        let receive = Receive {
            wait: Some(Duration::from_secs(seconds)),
            ..Receive::default()
        };
        queues.receive("work", receive).await.unwrap()
    })
}

/// Runs the other tasks until they wait.
async fn advance() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_message_wakes_one_of_those_who_wait() {
    let fixture = Fixture::with_queue(&[]).await;
    let (first, second) = (poll(&fixture, 20), poll(&fixture, 20));
    advance().await;
    fixture.queues.send("work", "a").await.unwrap();
    fixture.queues.send("work", "b").await.unwrap();
    let mut got = bodies(&first.await.unwrap());
    got.extend(bodies(&second.await.unwrap()));
    got.sort();
    assert_eq!(got, ["a", "b"]);
}

#[tokio::test]
async fn a_wait_ends_empty_when_its_time_is_over() {
    let fixture = Fixture::with_queue(&[]).await;
    let waiting = poll(&fixture, 20);
    advance().await;
    fixture.advance(19);
    advance().await;
    assert!(!waiting.is_finished());
    fixture.advance(1);
    assert!(waiting.await.unwrap().is_empty());
}

#[tokio::test]
async fn a_delayed_message_that_becomes_visible_wakes_a_waiter() {
    let fixture = Fixture::with_queue(&[]).await;
    let waiting = poll(&fixture, 20);
    advance().await;
    let delayed = NewMessage {
        delay: Some(Duration::from_secs(5)),
        ..NewMessage::from("later")
    };
    fixture.queues.send("work", delayed).await.unwrap();
    advance().await;
    assert!(!waiting.is_finished());
    fixture.advance(5);
    assert_eq!(bodies(&waiting.await.unwrap()), ["later"]);
}

#[tokio::test]
async fn a_message_given_back_wakes_a_waiter() {
    let fixture = Fixture::with_queue(&[]).await;
    fixture.queues.send("work", "a").await.unwrap();
    let got = fixture.receive("work", 1).await.pop().unwrap();
    let waiting = poll(&fixture, 20);
    advance().await;
    fixture
        .queues
        .change_visibility("work", &got.receipt_handle, Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(bodies(&waiting.await.unwrap()), ["a"]);
}

#[tokio::test]
async fn the_queue_says_how_long_to_wait_unless_told() {
    let fixture = Fixture::with_queue(&[("ReceiveMessageWaitTimeSeconds", "10")]).await;
    let queues = fixture.queues.clone();
    let waiting = tokio::spawn(async move { queues.receive("work", Receive::default()).await.unwrap() });
    advance().await;
    assert!(!waiting.is_finished());
    fixture.queues.send("work", "a").await.unwrap();
    assert_eq!(bodies(&waiting.await.unwrap()), ["a"]);
}

#[tokio::test]
async fn whoever_waits_is_told_when_the_queue_is_deleted_or_everything_closes() {
    let fixture = Fixture::with_queue(&[]).await;
    fixture.create("other", &[]).await;
    let queues = fixture.queues.clone();
    let on_other = tokio::spawn(async move {
        let receive = Receive {
            wait: Some(Duration::from_secs(20)),
            ..Receive::default()
        };
        queues.receive("other", receive).await
    });
    let waiting = poll(&fixture, 20);
    advance().await;
    fixture.queues.delete_queue("other").await.unwrap();
    assert!(on_other.await.unwrap().is_err());
    assert!(!waiting.is_finished());
    fixture.queues.close();
    assert!(waiting.await.unwrap().is_empty());
}

#[tokio::test]
async fn a_waiter_that_goes_away_takes_no_message_with_it() {
    let fixture = Fixture::with_queue(&[]).await;
    let (gone, stays) = (poll(&fixture, 20), poll(&fixture, 20));
    advance().await;
    gone.abort();
    fixture.queues.send("work", "a").await.unwrap();
    assert_eq!(bodies(&stays.await.unwrap()), ["a"]);
}
