//! Rows whose time passes while the database is closed: their derived rows are exact after the next opening.

use crate::support::{World, apply, model, put, rows, until};
use serde_json::json;
use std::time::Duration;
use trestle_embedded::{Background, Embedded, Options};
use trestle_env::Clock;
use trestle_item::{AttributeValue, Item};

const MODELS: i64 = 13;
const MEMBERS: i64 = 30;

fn kind(row: &Item) -> String {
    match row.get("kind") {
        Some(AttributeValue::S(kind)) => kind.clone(),
        _ => String::new(),
    }
}

/// How many rows of a kind there are.
fn count(db: &Embedded, table: &str, wanted: &str) -> usize {
    rows(db, table).iter().filter(|row| kind(row) == wanted).count()
}

/// Models with members that expire in a minute, and one that stays.
fn fill(db: &Embedded, world: &World) {
    for number in 0..MODELS {
        let name = format!("m{number:02}");
        apply(db, &model(&name));
        put(db, &name, json!({"kind": "team", "team": "a"}));
        for member in 1..=MEMBERS {
            let mut row =
                json!({"kind": "member", "team": "a", "number": member, "email": format!("e{member}@x")});
            if member > 1 {
                row["until"] = json!(world.now_s() + 60);
            }
            put(db, &name, row);
        }
    }
}

#[test]
fn heads_counters_and_unique_values_know_what_expired_while_the_database_was_closed() {
    let world = World::new();
    fill(&world.open(), &world);
    world.clock.advance(Duration::from_secs(3600));
    let db = world.open();
    for number in 0..MODELS {
        let table = format!("m{number:02}");
        until(&world.clock, "members expire", || {
            count(&db, &table, "member") == 1
        });
        let rows = rows(&db, &table);
        let team = rows.iter().find(|row| kind(row) == "team").unwrap();
        assert_eq!(
            team.get("members"),
            Some(&AttributeValue::from(1_i64)),
            "{table}: counter"
        );
        let head = rows
            .iter()
            .find(|row| row.get("sk") == Some(&"head".into()))
            .unwrap();
        assert_eq!(
            head.get("number"),
            Some(&AttributeValue::from(1_i64)),
            "{table}: head"
        );
        let unique = rows
            .iter()
            .filter(|row| row.get("sk") == Some(&"email".into()))
            .count();
        assert_eq!(unique, 1, "{table}: unique values");
    }
}

#[test]
fn a_tool_that_opens_without_background_work_lets_nothing_expire() {
    let world = World::new();
    fill(&world.open(), &world);
    world.clock.advance(Duration::from_secs(3600));
    for background in [Background::Nothing, Background::Tables] {
        let db = world.open_with(Options {
            background,
            ..Options::default()
        });
        for _ in 0..20 {
            world.clock.signal().ring();
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(count(&db, "m00", "member"), MEMBERS as usize, "{background:?}");
    }
}
