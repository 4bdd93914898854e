//! Messages that were received too often, and how they are moved back.

use std::time::Duration;

use trestle_queue::{ErrorCode, MoveStatus, MoveTask};

use crate::support::{Fixture, START, redrive};

async fn with_dead_letters(receives_max: u32) -> Fixture {
    let fixture = Fixture::new();
    fixture.create("dead", &[]).await;
    let policy = redrive("dead", receives_max);
    fixture.create("work", &[("RedrivePolicy", &policy)]).await;
    fixture
}

#[tokio::test]
async fn jobs_are_sent_as_json_and_those_given_up_are_looked_at_without_being_taken() {
    let fixture = Fixture::new();
    let queues = &fixture.queues;
    let dead = queues.create_with_dead_letters("work", 1).await.unwrap();
    queues.send_jobs("work", [1, 2]).await.unwrap();
    assert_eq!(queues.counts("work").await.unwrap().total(), 2);
    assert_eq!(queues.given_up("work", 10).await.unwrap(), []);
    fail(&fixture, 1).await;
    for _ in 0..2 {
        let letters = queues.given_up("work", 10).await.unwrap();
        let bodies: Vec<&str> = letters.iter().map(|letter| letter.body.as_str()).collect();
        assert_eq!(bodies, ["1", "2"]);
    }
    assert_eq!(queues.given_up("work", 1).await.unwrap().len(), 1);
    assert_eq!(queues.counts(&dead).await.unwrap().visible, 2);
    let missing = queues.given_up("dead", 1).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::QueueDoesNotExist);
}

/// Receives everything until all messages are dead letters.
async fn fail(fixture: &Fixture, times: u32) {
    for _ in 0..times {
        while !fixture.receive("work", 10).await.is_empty() {}
        fixture.advance(30);
    }
    assert!(fixture.bodies("work").await.is_empty());
}

#[tokio::test]
async fn a_message_received_too_often_moves_with_its_id_and_its_age() {
    let fixture = with_dead_letters(2).await;
    let id = fixture.queues.send("work", "poison").await.unwrap();
    let large = "x".repeat(700_000);
    fixture.queues.send("work", large.clone()).await.unwrap();
    fail(&fixture, 2).await;
    let dead = fixture.receive("dead", 10).await;
    assert_eq!(dead.len(), 2);
    assert_eq!((&dead[0].id, dead[0].body.as_str()), (&id, "poison"));
    // The count continues.
    assert_eq!((dead[0].sent, dead[0].receives), (START, 3));
    assert!(dead[1].body == large);
    let source = "arn:aws:sqs:us-east-1:000000000000:work";
    assert_eq!(dead[0].dead_letter_source.as_deref(), Some(source));
    assert_eq!(fixture.queues.counts("work").await.unwrap(), Default::default());
}

#[tokio::test]
async fn in_a_chain_each_queue_counts_for_itself_and_receivers_see_the_sum() {
    let mut fixture = Fixture::new();
    fixture.create("last", &[]).await;
    let policy = redrive("last", 1);
    fixture.create("dead", &[("RedrivePolicy", &policy)]).await;
    let policy = redrive("dead", 1);
    fixture.create("work", &[("RedrivePolicy", &policy)]).await;
    fixture.queues.send("work", "poison").await.unwrap();
    for (queue, receives) in [("work", 1), ("dead", 2), ("last", 3)] {
        let got = fixture.receive(queue, 1).await.pop().unwrap();
        assert_eq!((got.body.as_str(), got.receives), ("poison", receives));
        fixture.advance(30);
        fixture.receive(queue, 1).await;
        fixture.queues.tag("work", &Default::default()).await.unwrap();
        fixture.forget();
    }
}

#[tokio::test]
async fn a_queue_may_be_its_own_dead_letter_queue() {
    let fixture = Fixture::with_queue(&[]).await;
    let policy = redrive("work", 1);
    let policy = crate::support::attributes(&[("RedrivePolicy", &policy)]);
    fixture.queues.set_attributes("work", &policy).await.unwrap();
    fixture.queues.send("work", "again").await.unwrap();
    for receives in 1..4 {
        let got = fixture.receive("work", 1).await.pop().unwrap();
        assert_eq!(
            (got.receives, got.dead_letter_source.is_some()),
            (receives, receives > 1)
        );
        fixture.advance(30);
    }
    assert_eq!(
        fixture.queues.dead_letter_sources("work").await.unwrap(),
        ["work"]
    );
}

#[tokio::test]
async fn other_messages_are_received_in_the_same_breath() {
    let fixture = with_dead_letters(1).await;
    fixture.queues.send("work", "poison").await.unwrap();
    fixture.receive("work", 1).await;
    fixture.advance(30);
    fixture.queues.send("work", "good").await.unwrap();
    assert_eq!(fixture.bodies("work").await, ["good"]);
    assert_eq!(fixture.bodies("dead").await, ["poison"]);
}

#[tokio::test]
async fn without_its_dead_letter_queue_a_message_stays() {
    let fixture = with_dead_letters(1).await;
    fixture.queues.send("work", "poison").await.unwrap();
    fixture.queues.delete_queue("dead").await.unwrap();
    for _ in 0..3 {
        assert_eq!(fixture.bodies("work").await, ["poison"]);
        fixture.advance(30);
    }
}

/// Waits until a task has ended; it runs as a task of the runtime.
async fn ended(fixture: &Fixture, source: &str) -> MoveTask {
    loop {
        let task = fixture.queues.moves(source).await.unwrap().remove(0);
        if !matches!(task.status, MoveStatus::Running | MoveStatus::Cancelling) {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn dead_letters_go_back_to_where_they_came_from() {
    let mut fixture = with_dead_letters(1).await;
    let ids = [
        fixture.queues.send("work", "a").await.unwrap(),
        fixture.queues.send("work", "b").await.unwrap(),
    ];
    fail(&fixture, 1).await;
    fixture.queues.start_move("dead", None, None).await.unwrap();
    let task = ended(&fixture, "dead").await;
    assert_eq!(
        (task.status, task.moved, task.to_move),
        (MoveStatus::Completed, 2, 2)
    );
    fixture.forget();
    assert_eq!(fixture.queues.moves("dead").await.unwrap(), [task]);
    let back = fixture.receive("work", 10).await;
    assert_eq!((back[0].body.as_str(), back[1].body.as_str()), ("a", "b"));
    assert!(!ids.contains(&back[0].id), "moved messages are new ones");
    assert_eq!((back[0].receives, &back[0].dead_letter_source), (1, &None));
    assert!(fixture.bodies("dead").await.is_empty());
}

#[tokio::test]
async fn a_move_keeps_to_its_rate_and_can_be_cancelled() {
    let fixture = with_dead_letters(1).await;
    fixture.create("elsewhere", &[]).await;
    for body in ["a", "b", "c"] {
        fixture.queues.send("work", body).await.unwrap();
    }
    fail(&fixture, 1).await;
    let id = fixture
        .queues
        .start_move("dead", Some("elsewhere"), Some(1))
        .await
        .unwrap();
    let twice = fixture.queues.start_move("dead", None, None).await.unwrap_err();
    assert!(twice.message().contains("already a task running"));
    while fixture.queues.moves("dead").await.unwrap()[0].moved < 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    fixture.advance(1);
    while fixture.queues.moves("dead").await.unwrap()[0].moved < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(fixture.queues.cancel_move(&id).await.unwrap(), 2);
    let task = ended(&fixture, "dead").await;
    assert_eq!((task.status, task.moved), (MoveStatus::Cancelled, 2));
    assert_eq!(fixture.bodies("elsewhere").await, ["a", "b"]);
    assert_eq!(fixture.bodies("dead").await, ["c"]);
    let late = fixture.queues.cancel_move(&id).await.unwrap_err();
    assert_eq!(late.code(), ErrorCode::UnsupportedOperation);
}

#[tokio::test]
async fn a_move_that_makes_no_sense_is_refused_and_one_that_cannot_end_says_why() {
    let fixture = with_dead_letters(1).await;
    let start = async |source, destination| {
        let started = fixture.queues.start_move(source, destination, None).await;
        started.unwrap_err()
    };
    assert_eq!(
        start("none", None).await.code(),
        ErrorCode::ResourceNotFoundException
    );
    assert_eq!(
        start("dead", Some("none")).await.code(),
        ErrorCode::ResourceNotFoundException
    );
    assert!(start("work", None).await.message().contains("Dead Letter Queue"));
    assert!(
        start("dead", Some("dead"))
            .await
            .message()
            .contains("cannot be the same")
    );
    // It was sent directly to this queue, so it has no source.
    fixture.queues.send("dead", "stray").await.unwrap();
    fixture.queues.start_move("dead", None, None).await.unwrap();
    let task = ended(&fixture, "dead").await;
    assert_eq!(task.status, MoveStatus::Failed);
    assert_eq!(task.failure.as_deref(), Some("CouldNotDetermineMessageSource"));
    assert_eq!(fixture.bodies("dead").await, ["stray"]);
}
