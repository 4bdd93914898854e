//! Effects in commits of the real engine: for every kind of write, among many writers, and when a row
//! expires.

use crate::models::support::{TestDb, empty, expiring, on, plain, text};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use trestle_api::{
    CancellationCode, DeleteItem, ErrorKind, Put, TransactWriteItem, TransactWriteItems, Update,
};
use trestle_env::{Clock, VirtualClock};
use trestle_item::{AttributeValue, Item};
use trestle_store::MemoryStore;

const MODEL: &str = r#"
model = "m"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "until"

[entity.user]
table = "rows"
key = { pk = "user#{user}", sk = "user" }
attributes = { user = "string", email = "string", teams = { type = "string-set", optional = true } }
[entity.user.unique.email]
key = { pk = "email#{email|lower}", sk = "email" }
[entity.user.inverse.members]
entity = "team"
of = "teams"
set = "members"
[entity.team]
table = "rows"
key = { pk = "team#{team}", sk = "team" }
attributes = { team = "string", members = { type = "string-set", optional = true } }

[entity.event]
table = "rows"
key = { pk = "build#{build}", sk = "event#{id}" }
attributes = { build = "string", id = "string", locale = "string" }
[entity.event.counter.done]
entity = "progress"
attribute = "done"
once_by = ["locale"]
seen = "locales"
[entity.progress]
table = "rows"
key = { pk = "build#{build}", sk = "progress" }
attributes = { build = "string", done = { type = "integer", default = 0 }, locales = { type = "string-set", optional = true } }

[entity.version]
table = "rows"
key = { pk = "doc#{doc}", sk = "v#{number:04}" }
attributes = { doc = "string", number = "integer", state = { type = "string", optional = true }, note = { type = "string", optional = true } }
[entity.version.head]
key.sk = "head"
newest_by = "number"
promote = { set = { state = "latest" } }
demote = { set = { state = "old" }, expire_after = "1d" }
"#;

fn models() -> TestDb {
    let models = empty();
    models.apply(MODEL);
    models
}

fn put(models: &TestDb, row: Value) {
    models.put("rows", row).unwrap();
}

fn user(user: &str, email: &str) -> Value {
    json!({"kind": "user", "user": user, "email": email})
}

fn version(number: i64) -> Value {
    json!({"kind": "version", "doc": "d", "number": number})
}

fn row(models: &TestDb, key: Value) -> Option<Item> {
    models.get("rows", key)
}

fn transact_put(row: Value) -> TransactWriteItem {
    TransactWriteItem {
        put: Some(Box::new(Put {
            table_name: "rows".to_owned(),
            item: plain(row),
            ..Put::default()
        })),
        ..TransactWriteItem::default()
    }
}

fn transaction(items: Vec<TransactWriteItem>) -> TransactWriteItems {
    TransactWriteItems {
        transact_items: items,
        ..TransactWriteItems::default()
    }
}

#[test]
fn a_value_that_is_taken_is_refused_with_its_owner() {
    let models = models();
    put(&models, user("ann", "A@x.org"));
    let refused = models.put("rows", user("bob", "a@X.org")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConditionalCheckFailed);
    assert_eq!(
        refused.message(),
        "Entity user: email \"a@X.org\" is taken by the row with user \"ann\"; give another value, or change that row first"
    );
    let taken = refused.taken_value().unwrap();
    assert_eq!(
        (taken.entity.as_str(), taken.owner.as_str()),
        ("user", "user \"ann\"")
    );
    assert_eq!(taken.attributes, ["email"]);
    let both = transaction(vec![
        transact_put(user("bob", "b@x.org")),
        transact_put(user("eve", "B@x.org")),
    ]);
    let refused = models.run(both).unwrap_err();
    let codes: Vec<CancellationCode> = refused.reasons().iter().map(|reason| reason.code).collect();
    assert_eq!(
        codes,
        [CancellationCode::None, CancellationCode::ConditionalCheckFailed]
    );
    let reason = refused.reasons().last().unwrap();
    assert!(
        reason
            .message
            .as_ref()
            .unwrap()
            .contains("is taken by the row with user \"bob\"")
    );
    assert!(reason.taken.is_some());
    assert_eq!(models.rows("rows").len(), 2, "ann, and what keeps her address");
    models
        .update(
            "rows",
            json!({"user": "ann"}),
            "SET email = :e",
            json!({":e": "new@x.org"}),
        )
        .unwrap();
    put(&models, user("bob", "a@x.org"));
}

#[test]
fn of_many_who_want_a_value_at_once_one_gets_it() {
    let models = models();
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let (models, taken) = (&models, &taken);
            scope.spawn(move || {
                let answer = models.put("rows", user(&format!("u{writer}"), "one@x.org"));
                taken.fetch_add(usize::from(answer.is_ok()), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(taken.into_inner(), 1);
    assert_eq!(models.rows("rows").len(), 2);
}

#[test]
fn an_event_counts_once_however_many_deliver_it() {
    let models = models();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let models = &models;
            scope.spawn(move || {
                for locale in ["de", "en", "fr"] {
                    let id = format!("{writer}-{locale}");
                    put(
                        models,
                        json!({"kind": "event", "build": "b", "id": id, "locale": locale}),
                    );
                }
            });
        }
    });
    let progress = row(&models, json!({"kind": "progress", "build": "b"})).unwrap();
    assert_eq!(progress.get("done"), Some(&AttributeValue::from(3_i64)));
    assert_eq!(models.rows("rows").len(), 8 * 3 + 1);
}

#[test]
fn a_relation_has_both_sides_whichever_is_written() {
    let models = models();
    let members = |team: &str| row(&models, json!({"team": team})).map(|row| row.get("members").cloned());
    let set = |members: &[&str]| {
        let members = members.iter().map(|member| (*member).to_owned()).collect();
        Some(AttributeValue::string_set(members).unwrap())
    };
    let mut ann = user("ann", "a@x.org");
    ann["teams"] = json!(["SS", "blue", "red"]);
    put(&models, ann);
    put(&models, user("bob", "b@x.org"));
    assert_eq!(members("blue"), Some(set(&["ann"])));
    models
        .update(
            "rows",
            json!({"user": "bob"}),
            "ADD teams :t",
            json!({":t": ["SS", "blue"]}),
        )
        .unwrap();
    assert_eq!(members("blue"), Some(set(&["ann", "bob"])));
    models
        .update(
            "rows",
            json!({"team": "blue"}),
            "DELETE members :m",
            json!({":m": ["SS", "ann"]}),
        )
        .unwrap();
    let ann = row(&models, json!({"user": "ann"})).unwrap();
    assert_eq!(ann.get("teams").cloned(), set(&["red"]));
}

#[test]
fn a_transaction_may_write_what_follows_from_itself() {
    let models = models();
    put(&models, version(1));
    // The first item demotes the row that the second one changes.
    let note = TransactWriteItem {
        update: Some(Box::new(Update {
            key: plain(version(1)),
            table_name: "rows".to_owned(),
            update_expression: "SET note = :n".to_owned(),
            expression_attribute_values: Some(plain(json!({":n": "was first"}))),
            ..Update::default()
        })),
        ..TransactWriteItem::default()
    };
    let both = transaction(vec![transact_put(version(2)), note]);
    models.run(both).unwrap();
    let first = row(&models, version(1)).unwrap();
    assert_eq!(
        (text(&first, "state"), text(&first, "note")),
        ("old", "was first")
    );
    assert_eq!(text(&row(&models, version(2)).unwrap(), "state"), "latest");
}

#[test]
fn a_head_is_set_back_refused_and_removed_with_its_last_row() {
    let models = models();
    for number in 1..=3 {
        put(&models, version(number));
    }
    let head = json!({"pk": "doc#d", "sk": "head"});
    let at = |models: &TestDb| row(models, head.clone()).and_then(|head| head.get("number").cloned());
    models
        .put(
            "rows",
            json!({"pk": "doc#d", "sk": "head", "doc": "d", "number": 2}),
        )
        .unwrap();
    assert_eq!(at(&models), Some(2_i64.into()));
    let elsewhere = json!({"pk": "doc#d", "sk": "head", "doc": "d", "number": 7});
    let refused = models.put("rows", elsewhere).unwrap_err();
    assert!(refused.message().contains("number is the number 7"), "{refused}");
    for number in [2, 1, 3] {
        let gone = DeleteItem {
            table_name: "rows".to_owned(),
            key: plain(version(number)),
            ..DeleteItem::default()
        };
        models.run(gone).unwrap();
    }
    assert!(models.rows("rows").is_empty());
}

#[test]
fn a_head_goes_back_when_time_removes_its_row() {
    let clock = Arc::new(VirtualClock::new());
    let models = on(Arc::new(MemoryStore::new()), clock.clone(), expiring());
    models.apply(MODEL);
    put(&models, version(1));
    let mut short = version(2);
    short["until"] = json!(i64::try_from(clock.now().as_secs()).unwrap() + 60);
    put(&models, short);
    let state = |number| row(&models, version(number)).map(|row| text(&row, "state").to_owned());
    assert_eq!(
        (state(1), state(2)),
        (Some("old".to_owned()), Some("latest".to_owned()))
    );
    clock.advance(Duration::from_secs(3600));
    let begun = Instant::now();
    while state(2).is_some() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not expire");
        clock.signal().ring();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(state(1), Some("latest".to_owned()));
    let head = row(&models, json!({"pk": "doc#d", "sk": "head"})).unwrap();
    assert_eq!(head.get("number"), Some(&AttributeValue::from(1_i64)));
    let first = row(&models, version(1)).unwrap();
    assert!(!first.contains_key("until"), "it is to stay again");
}
