//! Creating, changing, listing, purging and deleting queues.

use std::collections::BTreeMap;
use std::time::Duration;

use trestle_api::{ListTables, PutItem};
use trestle_item::Item;
use trestle_queue::{ErrorCode, QueueError};

use crate::support::{Fixture, attributes, redrive};

fn code<T: std::fmt::Debug>(result: Result<T, QueueError>) -> ErrorCode {
    result.unwrap_err().code()
}

#[tokio::test]
async fn a_queue_can_be_made_again_with_the_attributes_it_has() {
    let fixture = Fixture::with_queue(&[("VisibilityTimeout", "7")]).await;
    let make = async |given: &[(&str, &str)]| {
        let given = attributes(given);
        fixture.queues.create("work", &given, &BTreeMap::new()).await
    };
    make(&[]).await.unwrap();
    make(&[("VisibilityTimeout", "7"), ("DelaySeconds", "0")])
        .await
        .unwrap();
    let refused = make(&[("VisibilityTimeout", "8")]).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::QueueNameExists);
    assert!(refused.message().ends_with("attribute VisibilityTimeout"));
}

#[tokio::test]
async fn attributes_show_what_was_set_what_is_default_and_what_is_counted() {
    let fixture = Fixture::with_queue(&[("VisibilityTimeout", "7")]).await;
    fixture.queues.send("work", "a").await.unwrap();
    fixture.advance(10);
    let given = attributes(&[("DelaySeconds", "9"), ("Policy", "{}")]);
    fixture.queues.set_attributes("work", &given).await.unwrap();
    fixture.queues.send("work", "b").await.unwrap();
    let all = fixture.queues.attributes("work").await.unwrap();
    for (name, value) in [
        ("VisibilityTimeout", "7"),
        ("DelaySeconds", "9"),
        ("Policy", "{}"),
        ("MessageRetentionPeriod", "345600"),
        ("MaximumMessageSize", "1048576"),
        ("QueueArn", "arn:aws:sqs:us-east-1:000000000000:work"),
        ("CreatedTimestamp", "1800000000"),
        ("LastModifiedTimestamp", "1800000010"),
        ("ApproximateNumberOfMessages", "1"),
        ("ApproximateNumberOfMessagesDelayed", "1"),
        ("ApproximateNumberOfMessagesNotVisible", "0"),
    ] {
        assert_eq!(all.get(name).map(String::as_str), Some(value), "{name}");
    }
    let cleared = attributes(&[("Policy", "")]);
    fixture.queues.set_attributes("work", &cleared).await.unwrap();
    let all = fixture.queues.attributes("work").await.unwrap();
    assert!(!all.contains_key("Policy"));
    let wrong = attributes(&[("DelaySeconds", "")]);
    assert_eq!(
        code(fixture.queues.set_attributes("work", &wrong).await),
        ErrorCode::InvalidAttributeValue
    );
}

#[tokio::test]
async fn queues_are_listed_by_prefix_in_order() {
    let fixture = Fixture::new();
    for name in ["b-1", "a", "b-2", "c", "b"] {
        fixture.create(name, &[]).await;
    }
    let list = async |prefix, after, limit| fixture.queues.list(prefix, after, limit).await.unwrap();
    assert_eq!(list("", None, 9).await, ["a", "b", "b-1", "b-2", "c"]);
    assert_eq!(list("b-", None, 9).await, ["b-1", "b-2"]);
    assert_eq!(list("b", Some("b"), 1).await, ["b-1"]);
    assert!(list("d", None, 9).await.is_empty());
}

#[tokio::test]
async fn a_deleted_queue_is_gone_with_its_messages_and_its_name_is_free() {
    let mut fixture = Fixture::with_queue(&[]).await;
    fixture.queues.send("work", "lost").await.unwrap();
    let got = fixture.receive("work", 1).await.pop().unwrap();
    fixture.queues.delete_queue("work").await.unwrap();
    assert_eq!(
        code(fixture.queues.send("work", "x").await),
        ErrorCode::QueueDoesNotExist
    );
    fixture.create("work", &[]).await;
    let foreign = fixture.queues.delete("work", &got.receipt_handle).await;
    assert_eq!(code(foreign), ErrorCode::ReceiptHandleIsInvalid);
    fixture.advance(60);
    assert!(fixture.bodies("work").await.is_empty());
    fixture.forget();
    assert!(fixture.bodies("work").await.is_empty());
}

#[tokio::test]
async fn a_purge_removes_every_message_and_only_one_is_allowed_a_minute() {
    let mut fixture = Fixture::with_queue(&[]).await;
    for body in ["a", "b"] {
        fixture.queues.send("work", body).await.unwrap();
    }
    let got = fixture.receive("work", 1).await.pop().unwrap();
    fixture.queues.purge("work").await.unwrap();
    assert_eq!(fixture.queues.counts("work").await.unwrap(), Default::default());
    fixture.queues.delete("work", &got.receipt_handle).await.unwrap();
    fixture.queues.send("work", "new").await.unwrap();
    assert_eq!(
        code(fixture.queues.purge("work").await),
        ErrorCode::PurgeQueueInProgress
    );
    fixture.forget();
    assert_eq!(fixture.bodies("work").await, ["new"]);
    fixture.advance(60);
    fixture.queues.purge("work").await.unwrap();
    assert!(fixture.bodies("work").await.is_empty());
}

#[tokio::test]
async fn a_message_sent_while_its_queue_is_purged_leaves_no_row_behind() {
    let fixture = Fixture::on_slow_database();
    fixture.create("work", &[]).await;
    let rows = fixture.rows();
    for turns in 0..16 {
        let queues = fixture.queues.clone();
        let sending = tokio::spawn(async move { queues.send("work", "x").await });
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        fixture.queues.purge("work").await.unwrap();
        sending.await.unwrap().unwrap();
        fixture.advance(60);
    }
    fixture.queues.purge("work").await.unwrap();
    let swept = async {
        while fixture.rows() > rows {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), swept)
        .await
        .unwrap();
}

#[tokio::test]
async fn tags_are_kept_added_and_removed() {
    let mut fixture = Fixture::with_queue(&[]).await;
    let tags = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())]);
    fixture.queues.tag("work", &tags).await.unwrap();
    fixture.queues.untag("work", &["a".to_owned()]).await.unwrap();
    fixture.forget();
    let left = fixture.queues.tags("work").await.unwrap();
    assert_eq!(left, BTreeMap::from([("b".to_owned(), "2".to_owned())]));
    let many = (0..51).map(|n| (n.to_string(), String::new())).collect();
    assert_eq!(
        code(fixture.queues.tag("work", &many).await),
        ErrorCode::InvalidParameterValue
    );
}

#[tokio::test]
async fn a_dead_letter_queue_must_exist_and_allow_it() {
    let fixture = Fixture::with_queue(&[]).await;
    let set = async |target: &str| {
        let given = attributes(&[("RedrivePolicy", &redrive(target, 3))]);
        fixture.queues.set_attributes("work", &given).await
    };
    assert!(
        set("dead")
            .await
            .unwrap_err()
            .message()
            .contains("does not exist")
    );
    let denied = [("RedriveAllowPolicy", r#"{"redrivePermission":"denyAll"}"#)];
    fixture.create("dead", &denied).await;
    assert!(
        set("dead")
            .await
            .unwrap_err()
            .message()
            .contains("does not allow")
    );
    let allowed = attributes(&[("RedriveAllowPolicy", "")]);
    fixture.queues.set_attributes("dead", &allowed).await.unwrap();
    set("dead").await.unwrap();
    assert_eq!(
        fixture.queues.dead_letter_sources("dead").await.unwrap(),
        ["work"]
    );
}

#[tokio::test]
async fn the_table_behind_the_queues_is_not_listed() {
    let fixture = Fixture::with_queue(&[]).await;
    let listed = fixture.engine.run(ListTables::default()).unwrap();
    assert!(listed.table_names.is_empty());
    // It exists nevertheless.
    let mut item = Item::new();
    item.insert("pk", "x");
    item.insert("sk", "x");
    let put = PutItem {
        table_name: "_trestle.queues".to_owned(),
        item,
        ..PutItem::default()
    };
    fixture.engine.run(put).unwrap();
}

#[tokio::test]
async fn a_thousand_queues_are_made_listed_and_used() {
    let mut fixture = Fixture::new();
    for number in 0..1000 {
        fixture.create(&format!("q{number:04}"), &[]).await;
    }
    fixture.forget();
    assert_eq!(fixture.queues.list("", None, 2000).await.unwrap().len(), 1000);
    fixture.queues.send("q0999", "last").await.unwrap();
    assert_eq!(fixture.bodies("q0999").await, ["last"]);
}
