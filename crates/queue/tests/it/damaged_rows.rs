//! Rows that the queues did not write like this: the queue reports which, and no message is lost or received
//! twice.

use trestle_api::{PutItem, Scan};
use trestle_item::{AttributeValue, Item};
use trestle_queue::{ErrorCode, NewMessage, QueueError, Receive};

use crate::support::Fixture;

const TABLE: &str = "_trestle.queues";

fn rows(fixture: &Fixture) -> Vec<Item> {
    let request = Scan {
        table_name: TABLE.into(),
        ..Scan::default()
    };
    fixture.engine.run(request).unwrap().items.unwrap().to_vec()
}

fn put(fixture: &Fixture, row: &Item) {
    let request = PutItem {
        table_name: TABLE.into(),
        item: row.clone(),
        ..PutItem::default()
    };
    fixture.engine.run(request).unwrap();
}

fn text<'i>(row: &'i Item, name: &str) -> &'i str {
    row.get(name).and_then(AttributeValue::as_s).unwrap()
}

async fn receive(fixture: &Fixture) -> Result<Vec<String>, QueueError> {
    let receive = Receive {
        max: 10,
        ..Receive::default()
    };
    let messages = fixture.queues.receive("work", receive).await?;
    Ok(messages.into_iter().map(|message| message.body).collect())
}

fn assert_named(error: &QueueError, row: &Item, attribute: &str) {
    assert_eq!(error.code(), ErrorCode::InternalError);
    for part in [TABLE, text(row, "pk"), text(row, "sk"), attribute, "Restore"] {
        assert!(error.message().contains(part), "{part} is not in: {error}");
    }
}

#[tokio::test]
async fn a_damaged_row_is_named_and_once_mended_every_message_is_there_once() {
    let mut fixture = Fixture::with_queue(&[]).await;
    for body in ["one", "two", "three"] {
        let message = NewMessage {
            group: Some("group".to_owned()),
            delay: Some(std::time::Duration::from_secs(1)),
            ..NewMessage::from(body)
        };
        fixture.queues.send("work", message).await.unwrap();
    }
    fixture.advance(2);
    let first = fixture.receive("work", 1).await;
    assert_eq!(first[0].body, "one");
    // The reception is stored after the message was delivered.
    let is_state = |row: &Item| text(row, "sk").ends_with('+');
    while !rows(&fixture).iter().any(is_state) {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    let required = ["sent", "id", "body", "receives", "first", "doc"];
    let optional = ["kept", "group"];
    let mut cases = 0;
    for row in rows(&fixture) {
        let is_state = is_state(&row);
        let mut damages: Vec<(&str, Option<AttributeValue>)> = Vec::new();
        for name in required.iter().chain(&optional).chain(&["due"]) {
            if row.contains_key(name) {
                damages.push((name, Some(AttributeValue::Null)));
            }
            let is_required = required.contains(name) || (is_state && *name == "due");
            if is_required && row.contains_key(name) {
                damages.push((name, None));
            }
        }
        // The content of a message in flight is read when it is delivered again.
        let is_in_flight = row.get("body") == Some(&AttributeValue::from("one"));
        damages.retain(|(name, _)| !(is_in_flight && ["id", "body", "group"].contains(name)));
        for (attribute, value) in damages {
            let mut damaged = row.clone();
            damaged.remove(attribute);
            if let Some(value) = value {
                damaged.insert(attribute, value);
            }
            put(&fixture, &damaged);
            fixture.forget();
            let error = receive(&fixture).await.unwrap_err();
            assert_named(&error, &row, attribute);
            put(&fixture, &row);
            cases += 1;
        }
    }
    assert!(cases >= 30, "{cases}");
    fixture.forget();
    assert_eq!(
        receive(&fixture).await.unwrap(),
        ["two", "three"],
        "one is in flight"
    );
    fixture.advance(60);
    assert_eq!(receive(&fixture).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_missing_piece_of_a_large_message_is_named() {
    let mut fixture = Fixture::with_queue(&[("MaximumMessageSize", "1048576")]).await;
    let body = "x".repeat(700_000);
    let sent = fixture.queues.send("work", NewMessage::from(body)).await;
    sent.unwrap();
    let piece = rows(&fixture)
        .into_iter()
        .find(|row| text(row, "pk").starts_with("b#"))
        .unwrap();
    let mut damaged = piece.clone();
    damaged.remove("body");
    put(&fixture, &damaged);
    fixture.forget();
    let error = receive(&fixture).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InternalError);
    assert!(error.message().contains(text(&piece, "pk")), "{error}");
    put(&fixture, &piece);
    assert_eq!(receive(&fixture).await.unwrap().len(), 1, "it is still there");
}
