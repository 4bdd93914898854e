//! Heads, inverses, unique values and counters during a migration: effects of a write are correct at every
//! moment.

use super::{FAST, Shop};
use crate::models::support::{plain, text};
use serde_json::{Value, json};
use trestle_api::DeleteItem;
use trestle_binding::MigrationState;
use trestle_embedded::Unwatched;
use trestle_item::{AttributeValue, Item};

const BEFORE: &str = r##"
model = "shop"
[table.rows]
key = ["pk", "sk"]
entity_attribute = "kind"

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
attributes = { doc = "string", number = "integer", state = { type = "string", optional = true } }
[entity.version.head]
key.sk = "head"
newest_by = "number"
promote = { set = { state = "latest" } }
demote = { set = { state = "old" } }
"##;

/// The model with all keys changed.
fn after() -> String {
    let mut text = BEFORE.to_owned();
    for name in ["user", "email", "team", "build", "doc"] {
        text = text.replace(&format!("pk = \"{name}#"), &format!("pk = \"{name}/"));
    }
    text
}

fn get(shop: &Shop, key: Value) -> Option<Item> {
    shop.models.get("rows", key)
}

fn put(shop: &Shop, row: Value) -> Result<(), trestle_api::Error> {
    shop.models.put("rows", row)
}

fn user(user: &str, email: &str, teams: &[&str]) -> Value {
    let mut row = json!({"kind": "user", "user": user, "email": email});
    if !teams.is_empty() {
        let set: Vec<&str> = ["SS"].iter().chain(teams).copied().collect();
        row["teams"] = json!(set);
    }
    row
}

fn members(shop: &Shop, team: &str) -> Vec<String> {
    let row = get(shop, json!({"team": team}));
    match row.as_ref().and_then(|row| row.get("members")) {
        Some(AttributeValue::Ss(members)) => members.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    }
}

fn head(shop: &Shop) -> Item {
    get(shop, json!({"kind": "version.head", "doc": "d"})).unwrap()
}

fn number(row: &Item, name: &str) -> String {
    match row.get(name) {
        Some(AttributeValue::N(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn filled() -> Shop {
    let shop = Shop::empty();
    shop.models.apply(BEFORE);
    put(&shop, user("ann", "A@x.org", &["red"])).unwrap();
    put(&shop, user("bob", "b@x.org", &["red", "blue"])).unwrap();
    for (id, locale) in [("1", "de"), ("2", "fr")] {
        put(
            &shop,
            json!({"kind": "event", "build": "b", "id": id, "locale": locale}),
        )
        .unwrap();
    }
    for number in 1..=3 {
        put(&shop, json!({"kind": "version", "doc": "d", "number": number})).unwrap();
    }
    shop
}

fn delete(shop: &Shop, key: Value) {
    let delete = DeleteItem {
        table_name: "rows".to_owned(),
        key: plain(key),
        ..DeleteItem::default()
    };
    shop.models.run(delete).unwrap();
}

/// Writes with effects, and the expected results.
fn effects_are_right(shop: &Shop) {
    let taken = put(shop, user("eve", "a@X.org", &[])).unwrap_err();
    assert!(taken.message().contains("is taken"), "{}", taken.message());
    assert_eq!(members(shop, "red"), ["ann", "bob"]);
    put(shop, user("bob", "b@x.org", &["blue"])).unwrap();
    assert_eq!(members(shop, "red"), ["ann"]);
    assert_eq!(members(shop, "blue"), ["bob"]);

    // A locale that was already counted is not counted again.
    for (id, locale, done) in [("3", "de", "2"), ("4", "it", "3")] {
        put(
            shop,
            json!({"kind": "event", "build": "b", "id": id, "locale": locale}),
        )
        .unwrap();
        let progress = get(shop, json!({"kind": "progress", "build": "b"})).unwrap();
        assert_eq!(number(&progress, "done"), done);
    }

    assert_eq!(number(&head(shop), "number"), "3");
    put(shop, json!({"kind": "version", "doc": "d", "number": 4})).unwrap();
    assert_eq!(number(&head(shop), "number"), "4");
    let third = get(shop, json!({"kind": "version", "doc": "d", "number": 3})).unwrap();
    assert_eq!(text(&third, "state"), "old");
    delete(shop, json!({"kind": "version", "doc": "d", "number": 4}));
    assert_eq!(
        number(&head(shop), "number"),
        "3",
        "the newest that is left, wherever it lies"
    );

    delete(shop, json!({"kind": "user", "user": "ann"}));
    put(shop, user("eve", "a@x.org", &[])).unwrap();
}

#[test]
fn effects_find_their_rows_before_the_sweep() {
    let shop = filled();
    let plan = shop.try_start(&after(), FAST);
    assert!(!plan.is_refused(), "{plan}");
    effects_are_right(&shop);
    assert_eq!(shop.sweep().state, MigrationState::Verified);
    every_row_is_where_it_belongs(&shop, '/');
}

#[test]
fn effects_find_their_rows_after_the_sweep_and_on_the_way_back() {
    let shop = filled();
    shop.try_start(&after(), FAST);
    shop.sweep();
    shop.db()
        .models()
        .roll_back_migration(None, &mut Unwatched)
        .unwrap();
    effects_are_right(&shop);
    assert_eq!(shop.sweep().state, MigrationState::RolledBack);
    every_row_is_where_it_belongs(&shop, '#');
}

#[test]
fn all_that_follows_is_the_same_as_without_a_migration() {
    let moved = filled();
    moved.try_start(&after(), FAST);
    effects_are_right(&moved);
    moved.sweep();
    let fresh = Shop::empty();
    fresh.models.apply(&after());
    // The same writes on a table that always had this layout.
    for (_, row) in filled().lying() {
        let declared = ["user", "event", "version"].contains(&text(&row, "kind"));
        if declared {
            let mut row = row.clone();
            for name in ["pk", "sk", "state"] {
                row.remove(name);
            }
            let put = trestle_api::PutItem {
                table_name: "rows".to_owned(),
                item: row,
                ..trestle_api::PutItem::default()
            };
            fresh.models.run(put).unwrap();
        }
    }
    effects_are_right(&fresh);
    let rows = |shop: &Shop| {
        let mut rows: Vec<String> = shop
            .lying()
            .iter()
            .map(|(_, row)| serde_json::to_value(row).unwrap().to_string())
            .collect();
        rows.sort();
        rows
    };
    assert_eq!(rows(&moved), rows(&fresh));
}

fn every_row_is_where_it_belongs(shop: &Shop, separator: char) {
    let lying = shop.lying();
    assert!(lying.len() > 8, "{}", lying.len());
    for (_, row) in &lying {
        assert!(text(row, "pk").contains(separator), "{row:?}");
    }
}
