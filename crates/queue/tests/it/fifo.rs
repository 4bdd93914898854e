//! FIFO queues: order, groups, duplicates.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use trestle_api::{Database, Error, Request, ResponseFuture};
use trestle_engine::Engine;
use trestle_queue::{ErrorCode, MoveStatus, NewMessage, Queues, Receive, Settings};

use crate::support::{Fixture, attributes, bodies, redrive};

const QUEUE: &str = "work.fifo";

async fn with(more: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::new();
    create(&fixture, QUEUE, more).await;
    fixture
}

async fn create(fixture: &Fixture, name: &str, more: &[(&str, &str)]) {
    let mut given = vec![("FifoQueue", "true"), ("ContentBasedDeduplication", "true")];
    given.extend(more);
    fixture.create(name, &given).await;
}

fn message(group: &str, body: &str) -> NewMessage {
    NewMessage {
        group: Some(group.to_owned()),
        ..NewMessage::from(body)
    }
}

fn with_id(group: &str, body: &str, id: &str) -> NewMessage {
    NewMessage {
        deduplication_id: Some(id.to_owned()),
        ..message(group, body)
    }
}

/// Sends messages called `GROUP-NUMBER`.
async fn send(fixture: &Fixture, names: &[&str]) {
    for name in names {
        let (group, _) = name.split_once('-').unwrap();
        fixture.queues.send(QUEUE, message(group, name)).await.unwrap();
    }
}

#[tokio::test]
async fn a_group_is_received_in_order_and_waits_for_its_first_message_only() {
    let fixture = with(&[]).await;
    send(&fixture, &["a-1", "b-1", "a-2", "b-2", "a-3", "a-4", "c-1"]).await;
    let first = fixture.receive(QUEUE, 2).await;
    assert_eq!(bodies(&first), ["a-1", "a-2"]);
    assert_eq!(bodies(&fixture.receive(QUEUE, 1).await), ["b-1"]);
    fixture
        .queues
        .delete(QUEUE, &first[0].receipt_handle)
        .await
        .unwrap();
    assert_eq!(fixture.bodies(QUEUE).await, ["c-1"], "a-2 and b-1 are in flight");
    fixture
        .queues
        .delete(QUEUE, &first[1].receipt_handle)
        .await
        .unwrap();
    assert_eq!(fixture.bodies(QUEUE).await, ["a-3", "a-4"]);
    fixture.advance(30);
    // Messages that were due earlier are received first.
    assert_eq!(fixture.bodies(QUEUE).await, ["b-1", "b-2", "a-3", "a-4", "c-1"]);
}

#[tokio::test]
async fn a_group_that_comes_back_is_behind_those_that_wait() {
    let fixture = with(&[]).await;
    send(&fixture, &["a-1", "b-1", "b-2", "c-1", "a-2"]).await;
    let at_once = Receive {
        max: 3,
        visibility: Some(Duration::ZERO),
        wait: None,
    };
    fixture.advance(1);
    let got = fixture.queues.receive(QUEUE, at_once).await.unwrap();
    assert_eq!(bodies(&got), ["a-1", "a-2", "b-1"]);
    assert_eq!(fixture.bodies(QUEUE).await, ["c-1", "a-1", "a-2", "b-1", "b-2"]);
}

#[tokio::test]
async fn a_longer_visibility_holds_up_what_is_behind_it() {
    for (extended, expected) in [(0, &[][..]), (1, &["a-1"]), (2, &["a-1", "a-2"])] {
        let fixture = with(&[]).await;
        send(&fixture, &["a-1", "a-2", "a-3"]).await;
        let got = fixture.receive(QUEUE, 10).await;
        let handle = &got[extended].receipt_handle;
        let longer = Duration::from_secs(100);
        fixture
            .queues
            .change_visibility(QUEUE, handle, longer)
            .await
            .unwrap();
        fixture.advance(30);
        assert_eq!(fixture.bodies(QUEUE).await, expected);
    }
}

#[tokio::test]
async fn an_expired_handle_deletes_and_changes_nothing() {
    let fixture = with(&[]).await;
    send(&fixture, &["a-1"]).await;
    let old = fixture.receive(QUEUE, 1).await.remove(0).receipt_handle;
    fixture.advance(30);
    let refused = fixture.queues.delete(QUEUE, &old).await.unwrap_err();
    assert_eq!(
        refused.message(),
        format!(
            "Value {old} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired."
        )
    );
    let change = fixture
        .queues
        .change_visibility(QUEUE, &old, Duration::ZERO)
        .await;
    assert_eq!(change.unwrap_err().code(), ErrorCode::InvalidParameterValue);
    let new = fixture.receive(QUEUE, 1).await.remove(0).receipt_handle;
    assert!(fixture.queues.delete(QUEUE, &old).await.is_err());
    fixture.queues.delete(QUEUE, &new).await.unwrap();
    fixture.queues.delete(QUEUE, &new).await.unwrap();
}

#[tokio::test]
async fn a_duplicate_is_not_sent_for_five_minutes_also_after_a_restart() {
    let mut fixture = with(&[("ContentBasedDeduplication", "false")]).await;
    let id = fixture
        .queues
        .send(QUEUE, with_id("a", "first", "x"))
        .await
        .unwrap();
    let got = fixture.receive(QUEUE, 1).await;
    assert_eq!(got[0].deduplication_id.as_deref(), Some("x"));
    assert_eq!(got[0].sequence_number.as_ref().map(String::len), Some(20));
    fixture
        .queues
        .delete(QUEUE, &got[0].receipt_handle)
        .await
        .unwrap();
    for _ in 0..2 {
        let again = fixture.queues.send(QUEUE, with_id("b", "second", "x")).await;
        assert_eq!(again, Ok(id.clone()));
        assert_eq!(fixture.queues.counts(QUEUE).await.unwrap().total(), 0);
        fixture.forget();
    }
    fixture.advance(299);
    let late = fixture.queues.send(QUEUE, with_id("b", "second", "x")).await;
    assert_eq!(late, Ok(id.clone()));
    fixture.advance(1);
    let other = fixture
        .queues
        .send(QUEUE, with_id("b", "second", "x"))
        .await
        .unwrap();
    assert_ne!(other, id);
    // The queue, the message and the remembered duplicate; the first one has been forgotten.
    assert_eq!(fixture.rows(), 3);
    assert_eq!(fixture.bodies(QUEUE).await, ["second"]);
}

#[tokio::test]
async fn a_duplicate_is_told_by_its_body_or_by_its_group_too() {
    let fixture = with(&[("DeduplicationScope", "messageGroup")]).await;
    let mut sent = Vec::new();
    for (group, body) in [("a", "x"), ("a", "x"), ("b", "x"), ("a", "y")] {
        sent.push(fixture.queues.send(QUEUE, message(group, body)).await.unwrap());
    }
    assert_eq!(sent[0], sent[1]);
    assert_eq!(fixture.bodies(QUEUE).await, ["x", "y", "x"]);
    fixture.queues.purge(QUEUE).await.unwrap();
    assert_ne!(
        fixture.queues.send(QUEUE, message("a", "x")).await.unwrap(),
        sent[0]
    );
}

#[tokio::test]
async fn duplicates_in_a_batch_and_at_the_same_time_are_sent_once() {
    let mut fixture = Fixture::on_slow_database();
    create(&fixture, QUEUE, &[]).await;
    let batch = vec![message("a", "x"), message("a", "y"), message("a", "x")];
    let sends = (0..5).map(|_| fixture.queues.send_batch(QUEUE, batch.clone()));
    let mut answers = Vec::new();
    let mut running: Vec<_> = sends.map(Box::pin).collect();
    // Each starts before the first has ended.
    for send in &mut running {
        assert!(
            std::future::poll_fn(|context| std::task::Poll::Ready(send.as_mut().poll(context)))
                .await
                .is_pending()
        );
    }
    for send in running {
        let sent: Vec<String> = send.await.unwrap().into_iter().map(Result::unwrap).collect();
        answers.push(sent);
    }
    assert_eq!(answers[0][0], answers[0][2]);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
    fixture.forget();
    assert_eq!(fixture.bodies(QUEUE).await, ["x", "y"]);
}

/// A database that refuses transactions while it is broken.
struct Broken {
    engine: Engine,
    is_broken: AtomicBool,
}

impl Database for Broken {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        match request {
            Request::TransactWriteItems(_) if self.is_broken.load(Ordering::SeqCst) => {
                Box::pin(std::future::ready(Err(Error::throttled())))
            }
            request => self.engine.execute(request),
        }
    }
}

#[tokio::test]
async fn a_message_that_could_not_be_stored_holds_up_no_other() {
    let mut fixture = with(&[]).await;
    let broken = Arc::new(Broken {
        engine: fixture.engine.clone(),
        is_broken: AtomicBool::new(true),
    });
    fixture.queues = Queues::new(broken.clone(), fixture.clock.clone(), Settings::default());
    assert!(fixture.queues.send(QUEUE, message("a", "x")).await.is_err());
    broken.is_broken.store(false, Ordering::SeqCst);
    drop(
        fixture
            .queues
            .enlist(QUEUE, vec![message("a", "not committed")])
            .await
            .unwrap(),
    );
    fixture.queues.send(QUEUE, message("a", "x")).await.unwrap();
    fixture
        .queues
        .send(QUEUE, message("a", "not committed"))
        .await
        .unwrap();
    assert_eq!(fixture.bodies(QUEUE).await, ["x", "not committed"]);
}

#[tokio::test]
async fn a_message_needs_a_group_and_something_that_tells_it_from_others() {
    let fixture = with(&[("ContentBasedDeduplication", "false")]).await;
    let refused = async |message: NewMessage| {
        let alone = fixture.queues.send(QUEUE, message.clone()).await.unwrap_err();
        let batch = vec![with_id("a", "good", "1"), message];
        (alone, fixture.queues.send_batch(QUEUE, batch).await)
    };
    let (alone, batch) = refused(NewMessage::from("x")).await;
    assert_eq!(
        (alone.code(), alone.message()),
        (
            ErrorCode::MissingParameter,
            "The request must contain the parameter MessageGroupId."
        )
    );
    assert_eq!(batch.unwrap_err().code(), ErrorCode::InvalidParameterValue);
    let (alone, batch) = refused(message("a", "x")).await;
    assert!(alone.message().contains("ContentBasedDeduplication enabled"));
    assert_eq!(batch.unwrap_err(), alone);
    let (alone, batch) = refused(with_id("a", "x", "a b")).await;
    assert!(
        alone
            .message()
            .contains("MessageDeduplicationId can only include")
    );
    assert!(matches!(batch.unwrap().as_slice(), [Ok(_), Err(error)] if *error == alone));
    let delayed = NewMessage {
        delay: Some(Duration::from_secs(2)),
        ..with_id("a", "x", "2")
    };
    assert_eq!(
        refused(delayed).await.0.message(),
        "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for \
         this queue type."
    );
    fixture.create("standard", &[]).await;
    assert!(
        fixture
            .queues
            .send("standard", with_id("a", "x", "1"))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn the_kind_of_a_queue_is_in_its_name_and_stays() {
    let fixture = with(&[]).await;
    let none = Default::default();
    let create = async |name, given: &[(&str, &str)]| {
        let created = fixture.queues.create(name, &attributes(given), &none).await;
        created.map_err(|error| error.code())
    };
    let invalid = Err(ErrorCode::InvalidParameterValue);
    assert_eq!(create("other.fifo", &[]).await, invalid);
    assert_eq!(create("other", &[("FifoQueue", "true")]).await, invalid);
    let same = [("FifoQueue", "True"), ("ContentBasedDeduplication", "True")];
    assert_eq!(create(QUEUE, &same).await, Ok(()));
    let limit = [
        ("FifoQueue", "true"),
        ("FifoThroughputLimit", "perMessageGroupId"),
    ];
    assert_eq!(
        create("other.fifo", &limit).await,
        Err(ErrorCode::InvalidAttributeValue)
    );
    let change = attributes(&[("FifoQueue", "false")]);
    let refused = fixture.queues.set_attributes(QUEUE, &change).await.unwrap_err();
    assert!(
        refused
            .message()
            .ends_with("Modifying queue type is not supported.")
    );
    let shown = fixture.queues.attributes(QUEUE).await.unwrap();
    assert_eq!(
        (shown["FifoQueue"].as_str(), shown["DeduplicationScope"].as_str()),
        ("true", "queue")
    );
}

#[tokio::test]
async fn dead_letters_and_their_way_back_keep_the_order() {
    let mut fixture = Fixture::new();
    fixture.create("standard", &[]).await;
    create(&fixture, "dead.fifo", &[]).await;
    let other_kind = attributes(&[("RedrivePolicy", &redrive("standard", 1))]);
    create(&fixture, QUEUE, &[("RedrivePolicy", &redrive("dead.fifo", 1))]).await;
    let refused = fixture
        .queues
        .set_attributes(QUEUE, &other_kind)
        .await
        .unwrap_err();
    assert!(
        refused
            .message()
            .ends_with("must be same type of queue as the source.")
    );
    send(&fixture, &["a-1", "a-2", "b-1", "a-3"]).await;
    let got = fixture.receive(QUEUE, 2).await;
    assert_eq!(bodies(&got), ["a-1", "a-2"]);
    fixture.advance(30);
    // Messages after dead ones of their group are available as soon as those have been moved.
    assert_eq!(fixture.bodies(QUEUE).await, ["b-1"]);
    assert_eq!(fixture.bodies(QUEUE).await, ["a-3"]);
    fixture.advance(30);
    assert!(fixture.bodies(QUEUE).await.is_empty());
    let dead = fixture.receive("dead.fifo", 10).await;
    assert_eq!(bodies(&dead), ["a-1", "a-2", "a-3", "b-1"]);
    assert_eq!(dead[0].deduplication_id.as_ref(), Some(&dead[0].id));
    assert_eq!(dead[0].group.as_deref(), Some("a"));
    fixture.advance(30);
    let elsewhere = fixture
        .queues
        .start_move("dead.fifo", Some("standard"), None)
        .await;
    assert!(elsewhere.unwrap_err().message().contains("both be FIFO"));
    fixture.queues.start_move("dead.fifo", None, None).await.unwrap();
    while fixture.queues.moves("dead.fifo").await.unwrap()[0].status == MoveStatus::Running {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    fixture.forget();
    assert_eq!(fixture.bodies(QUEUE).await, ["a-1", "a-2", "a-3", "b-1"]);
    assert_eq!(fixture.queues.counts("dead.fifo").await.unwrap().total(), 0);
}

#[tokio::test]
async fn an_attempt_that_is_repeated_gets_the_same_messages() {
    let fixture = with(&[]).await;
    send(&fixture, &["a-1", "a-2", "b-1"]).await;
    let attempt = async |id| {
        let two = Receive {
            max: 2,
            ..Receive::default()
        };
        fixture.queues.receive_attempt(QUEUE, two, id).await.unwrap()
    };
    let first = attempt("one").await;
    assert_eq!(bodies(&first), ["a-1", "a-2"]);
    fixture.advance(20);
    assert_eq!(attempt("one").await, first);
    fixture.advance(29);
    assert_eq!(bodies(&attempt("two").await), ["b-1"], "the timeout began again");
    fixture
        .queues
        .delete(QUEUE, &first[0].receipt_handle)
        .await
        .unwrap();
    assert!(attempt("one").await.is_empty(), "one of them is gone");
    fixture.create("standard", &[]).await;
    let standard = fixture
        .queues
        .receive_attempt("standard", Receive::default(), "one")
        .await;
    assert!(standard.is_err());
}

#[tokio::test]
async fn a_receiver_that_waits_gets_the_next_message_when_the_one_before_is_deleted() {
    let fixture = with(&[]).await;
    send(&fixture, &["a-1", "a-2"]).await;
    let first = fixture.receive(QUEUE, 1).await.remove(0);
    let queues = fixture.queues.clone();
    let waiting = tokio::spawn(async move {
        let wait = Receive {
            wait: Some(Duration::from_secs(20)),
            ..Receive::default()
        };
        queues.receive(QUEUE, wait).await.unwrap()
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!waiting.is_finished());
    fixture.queues.delete(QUEUE, &first.receipt_handle).await.unwrap();
    let got = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    assert_eq!(bodies(&got.unwrap().unwrap()), ["a-2"]);
}

#[tokio::test]
async fn a_worker_has_a_dead_letter_queue_of_the_same_kind() {
    let fixture = Fixture::new();
    let dead = fixture.queues.create_with_dead_letters(QUEUE, 1).await.unwrap();
    assert_eq!(dead, "work-dead.fifo");
    fixture.queues.send(QUEUE, with_id("a", "x", "1")).await.unwrap();
    let got = fixture.receive(QUEUE, 1).await.remove(0);
    assert!(
        fixture
            .queues
            .give_up(QUEUE, &got.receipt_handle, "no")
            .await
            .unwrap()
    );
    assert_eq!(fixture.queues.given_up(QUEUE, 1).await.unwrap()[0].body, "x");
}
