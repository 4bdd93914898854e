//! Messages as part of a client's transaction: sent exactly when it succeeds.

use trestle_api::{CreateTable, Put, TransactWriteItem, TransactWriteItems};
use trestle_item::{Item, Map};
use trestle_queue::NewMessage;

use crate::support::Fixture;

/// A checkpoint that advances from one number to the next, or refuses.
fn checkpoint(from: i64) -> TransactWriteItem {
    let mut item = Item::new();
    item.insert("pk", "checkpoint");
    item.insert("at", from + 1);
    let mut values = Map::new();
    values.insert(":from", from);
    TransactWriteItem {
        put: Some(Box::new(Put {
            item,
            table_name: "checkpoints".to_owned(),
            condition_expression: Some("attribute_not_exists(pk) OR #at = :from".to_owned()),
            expression_attribute_names: Some([("#at".to_owned(), "at".to_owned())].into()),
            expression_attribute_values: Some(values),
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    }
}

async fn with_checkpoints() -> Fixture {
    let fixture = Fixture::with_queue(&[]).await;
    let table = r#"{"TableName":"checkpoints","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;
    let create: CreateTable = serde_json::from_str(table).unwrap();
    fixture.engine.run(create).unwrap();
    fixture
}

/// Delivers a change as a router does; returns whether the checkpoint had not been passed yet.
async fn hand_over(fixture: &Fixture, at: i64, body: &str) -> bool {
    let mut enlisted = fixture
        .queues
        .enlist("work", vec![NewMessage::from(body)])
        .await
        .unwrap();
    let mut transact_items = enlisted.take_writes();
    transact_items.push(checkpoint(at));
    let transaction = TransactWriteItems {
        transact_items,
        ..TransactWriteItems::default()
    };
    let done = fixture.engine.run(transaction).is_ok();
    if done {
        enlisted.committed();
    }
    done
}

#[tokio::test]
async fn redelivered_changes_are_in_the_queue_exactly_once() {
    let mut fixture = with_checkpoints().await;
    for at in 0..20 {
        // A router that crashed after the commit does not know the outcome, and tries again.
        assert!(hand_over(&fixture, at, &format!("change {at}")).await);
        assert!(!hand_over(&fixture, at, &format!("change {at}")).await);
        if at % 7 == 0 {
            fixture.forget();
        }
    }
    let mut got = fixture.bodies("work").await;
    got.extend(fixture.bodies("work").await);
    let expected: Vec<String> = (0..20).map(|at| format!("change {at}")).collect();
    assert_eq!(got, expected);
    assert!(fixture.bodies("work").await.is_empty());
}

#[tokio::test]
async fn what_was_enlisted_and_not_committed_never_was_there() {
    let mut fixture = with_checkpoints().await;
    let enlisted = fixture
        .queues
        .enlist("work", vec![NewMessage::from("never")])
        .await
        .unwrap();
    assert_eq!(enlisted.writes.len(), 1);
    drop(enlisted);
    assert!(fixture.bodies("work").await.is_empty());
    fixture.forget();
    assert!(fixture.bodies("work").await.is_empty());
}

#[tokio::test]
async fn a_commit_that_nobody_told_the_queue_of_is_found_at_the_next_start() {
    let mut fixture = with_checkpoints().await;
    let mut enlisted = fixture
        .queues
        .enlist("work", vec![NewMessage::from("found")])
        .await
        .unwrap();
    let transaction = TransactWriteItems {
        transact_items: enlisted.take_writes(),
        ..TransactWriteItems::default()
    };
    fixture.engine.run(transaction).unwrap();
    drop(enlisted);
    fixture.forget();
    assert_eq!(fixture.bodies("work").await, ["found"]);
}
