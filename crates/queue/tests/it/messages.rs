//! Sending, receiving, deleting, and when a message is visible.

use std::time::Duration;

use trestle_queue::{ErrorCode, MessageAttribute, NewMessage, Receive};

use crate::support::{Fixture, START, bodies};

#[tokio::test]
async fn a_message_is_received_with_everything_it_was_sent_with() {
    let fixture = Fixture::with_queue(&[]).await;
    let sent = NewMessage {
        attributes: [("kind".to_owned(), MessageAttribute::binary([0, 159, 255]))].into(),
        trace_header: Some("Root=1".to_owned()),
        group: Some("tenant".to_owned()),
        ..NewMessage::from("hello")
    };
    let id = fixture.queues.send("work", sent.clone()).await.unwrap();
    fixture.advance(3);
    let got = fixture.receive("work", 10).await.pop().unwrap();
    assert_eq!((&got.id, got.body.as_str()), (&id, "hello"));
    assert_eq!(got.attributes, sent.attributes);
    assert_eq!((got.trace_header, got.group), (sent.trace_header, sent.group));
    assert_eq!((got.sent, got.receives), (START, 1));
    assert_eq!(got.first_received, START.plus(Duration::from_secs(3)));
    assert_eq!(got.dead_letter_source, None);
}

#[tokio::test]
async fn a_deleted_message_never_comes_back_and_deleting_it_again_is_no_error() {
    let fixture = Fixture::with_queue(&[]).await;
    fixture.queues.send("work", "once").await.unwrap();
    let got = fixture.receive("work", 1).await.pop().unwrap();
    for _ in 0..2 {
        fixture.queues.delete("work", &got.receipt_handle).await.unwrap();
    }
    fixture.advance(3600);
    assert!(fixture.bodies("work").await.is_empty());
}

#[tokio::test]
async fn only_the_newest_handle_deletes() {
    let fixture = Fixture::with_queue(&[]).await;
    fixture.queues.send("work", "twice").await.unwrap();
    let first = fixture.receive("work", 1).await.pop().unwrap();
    fixture.advance(30);
    let second = fixture.receive("work", 1).await.pop().unwrap();
    assert_eq!(second.receives, 2);
    fixture
        .queues
        .delete("work", &first.receipt_handle)
        .await
        .unwrap();
    assert_eq!(fixture.queues.counts("work").await.unwrap().in_flight, 1);
    fixture
        .queues
        .delete("work", &second.receipt_handle)
        .await
        .unwrap();
    assert_eq!(fixture.queues.counts("work").await.unwrap(), Default::default());
}

#[tokio::test]
async fn a_handle_works_after_its_time_unless_somebody_else_has_the_message() {
    let fixture = Fixture::with_queue(&[]).await;
    fixture.queues.send("work", "late").await.unwrap();
    let got = fixture.receive("work", 1).await.pop().unwrap();
    fixture.advance(31);
    fixture.queues.delete("work", &got.receipt_handle).await.unwrap();
    assert!(fixture.bodies("work").await.is_empty());
}

#[tokio::test]
async fn visibility_can_be_shortened_extended_and_ended() {
    let fixture = Fixture::with_queue(&[]).await;
    fixture.queues.send("work", "a").await.unwrap();
    let got = fixture.receive("work", 1).await.pop().unwrap();
    let change = |seconds| {
        let handle = got.receipt_handle.clone();
        let queues = fixture.queues.clone();
        async move {
            let timeout = Duration::from_secs(seconds);
            queues.change_visibility("work", &handle, timeout).await
        }
    };
    change(100).await.unwrap();
    fixture.advance(99);
    assert!(fixture.bodies("work").await.is_empty());
    let too_long = change(43_200).await.unwrap_err();
    assert!(too_long.message().contains("beyond the limit [43200 seconds]"));
    change(0).await.unwrap();
    let again = fixture.receive("work", 1).await.pop().unwrap();
    assert_eq!(again.receives, 2);
    // An earlier handle is equally valid, and so is any handle after the timeout.
    change(1).await.unwrap();
    fixture.advance(1);
    change(5).await.unwrap();
    fixture.advance(4);
    assert!(fixture.bodies("work").await.is_empty());
    assert_eq!(fixture.queues.counts("work").await.unwrap().in_flight, 1);
    fixture
        .queues
        .delete("work", &again.receipt_handle)
        .await
        .unwrap();
    assert_eq!(
        change(1).await.unwrap_err().code(),
        ErrorCode::InvalidParameterValue
    );
}

#[tokio::test]
async fn delays_are_the_queues_the_messages_or_ours_for_months() {
    let fixture = Fixture::with_queue(&[("DelaySeconds", "5")]).await;
    fixture.queues.send("work", "5 s").await.unwrap();
    let now = NewMessage {
        delay: Some(Duration::ZERO),
        ..NewMessage::from("now")
    };
    fixture.queues.send("work", now).await.unwrap();
    let month = NewMessage {
        attributes: [(
            "TrestleDelaySeconds".to_owned(),
            MessageAttribute::number(2_592_000),
        )]
        .into(),
        ..NewMessage::from("a month")
    };
    fixture.queues.send("work", month).await.unwrap();
    assert_eq!(fixture.bodies("work").await, ["now"]);
    assert_eq!(fixture.queues.counts("work").await.unwrap().delayed, 2);
    fixture.advance(5);
    assert_eq!(fixture.bodies("work").await, ["5 s"]);
    fixture.advance(2_591_995);
    // The retention of four days is not shortened: it begins when the message becomes visible.
    assert_eq!(fixture.bodies("work").await, ["a month"]);
}

#[tokio::test]
async fn messages_go_when_their_retention_is_over_and_leave_no_rows() {
    let mut fixture = Fixture::with_queue(&[("MessageRetentionPeriod", "60")]).await;
    fixture.queues.send("work", "old").await.unwrap();
    fixture.advance(30);
    fixture.queues.send("work", "young").await.unwrap();
    fixture.receive("work", 1).await;
    fixture.advance(30);
    assert_eq!(fixture.bodies("work").await, ["young"]);
    fixture.advance(60);
    assert_eq!(fixture.queues.counts("work").await.unwrap(), Default::default());
    fixture.forget();
    assert_eq!(fixture.queues.counts("work").await.unwrap(), Default::default());
}

#[tokio::test]
async fn a_message_of_a_mebibyte_is_stored_whole_and_deleted_whole() {
    let fixture = Fixture::with_queue(&[]).await;
    let rows_before = fixture.rows();
    let body = "ä".repeat(1024 * 512);
    let id = fixture.queues.send("work", body.clone()).await.unwrap();
    assert!(fixture.rows() > rows_before + 1);
    let got = fixture.receive("work", 1).await.pop().unwrap();
    assert_eq!(got.id, id);
    assert!(got.body == body, "the body changed");
    fixture.queues.delete("work", &got.receipt_handle).await.unwrap();
    assert_eq!(fixture.rows(), rows_before);
    let refused = fixture.queues.send("work", body + "x").await.unwrap_err();
    assert!(
        refused.message().contains("shorter than 1048576 bytes"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_batch_sends_what_it_can_and_says_what_it_cannot() {
    let fixture = Fixture::with_queue(&[("MaximumMessageSize", "1024")]).await;
    let batch = [
        "one".to_owned(),
        String::new(),
        "x".repeat(1025),
        "two".to_owned(),
    ];
    let answers = fixture
        .queues
        .send_batch("work", batch.into_iter().map(NewMessage::from).collect())
        .await
        .unwrap();
    let sent: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(sent, [true, false, false, true]);
    let got = fixture.receive("work", 10).await;
    assert_eq!(bodies(&got), ["one", "two"]);
    let handles = [got[0].receipt_handle.as_str(), "nonsense"];
    let deleted = fixture.queues.delete_batch("work", &handles).await.unwrap();
    assert!(deleted[0].is_ok());
    assert_eq!(
        deleted[1].as_ref().unwrap_err().code(),
        ErrorCode::ReceiptHandleIsInvalid
    );
    fixture.advance(30);
    assert_eq!(fixture.bodies("work").await, ["two"]);
}

#[tokio::test]
async fn many_receivers_share_the_messages_without_meeting() {
    let fixture = Fixture::with_queue(&[]).await;
    for chunk in 0..50 {
        let batch = (0..10).map(|n| NewMessage::from(format!("{}", chunk * 10 + n)));
        fixture.queues.send_batch("work", batch.collect()).await.unwrap();
    }
    let receivers: Vec<_> = (0..8)
        .map(|_| {
            let queues = fixture.queues.clone();
            tokio::spawn(async move {
                let mut got = Vec::new();
                loop {
                    let receive = Receive {
                        max: 3,
                        ..Receive::default()
                    };
                    let messages = queues.receive("work", receive).await.unwrap();
                    if messages.is_empty() {
                        return got;
                    }
                    for message in messages {
                        queues.delete("work", &message.receipt_handle).await.unwrap();
                        got.push(message.body.parse::<u32>().unwrap());
                    }
                }
            })
        })
        .collect();
    let mut all = Vec::new();
    for receiver in receivers {
        all.extend(receiver.await.unwrap());
    }
    all.sort_unstable();
    assert_eq!(all, (0..500).collect::<Vec<_>>());
}

#[tokio::test]
async fn messages_that_a_busy_database_does_not_read_are_not_taken_for_gone() {
    let (fixture, database) = Fixture::on_busy_database();
    fixture.create("work", &[]).await;
    for body in ["one", "two"] {
        fixture.queues.send("work", body).await.unwrap();
    }
    let both = Receive {
        max: 2,
        ..Receive::default()
    };
    database.be(true);
    let refused = fixture.queues.receive("work", both).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InternalError);
    database.be(false);
    assert_eq!(fixture.bodies("work").await.len(), 2);
}
