//! Damaged rows of the router: it reports which, and delivers nothing from them.

use trestle_api::{PutItem, Query};
use trestle_events::Selection;
use trestle_item::{AttributeValue, Item};

use crate::support::{Life, Recorder, World, refuse_bad, route};

const TABLE: &str = "_trestle.routes";

fn rows(world: &World, pk: &str) -> Vec<Item> {
    let request = Query {
        table_name: TABLE.into(),
        key_condition_expression: Some("pk = :pk".into()),
        expression_attribute_values: Some(Item::from([(":pk", pk)])),
        ..Query::default()
    };
    world.engine.run(request).unwrap().items.unwrap().to_vec()
}

fn put(world: &World, row: &Item) {
    let request = PutItem {
        table_name: TABLE.into(),
        item: row.clone(),
        ..PutItem::default()
    };
    world.engine.run(request).unwrap();
}

/// Every way to damage one of these attributes: it is missing, or of another type.
fn damages(row: &Item, attributes: &[&str]) -> Vec<(String, Item)> {
    let mut damages = Vec::new();
    for name in attributes.iter().filter(|name| row.contains_key(name)) {
        for other in [None, Some(AttributeValue::Null)] {
            let mut damaged = row.clone();
            damaged.remove(name);
            if let Some(other) = other {
                damaged.insert(*name, other);
            }
            damages.push(((*name).to_owned(), damaged));
        }
    }
    damages
}

fn assert_named(error: &str, row: &Item, attribute: &str) {
    let of = |name: &str| row.get(name).and_then(AttributeValue::as_s).unwrap().to_owned();
    for part in [TABLE, &*of("pk"), &*of("sk"), attribute, "Restore"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

fn apply(life: &Life) -> Result<(), String> {
    let applied = life.router.apply(vec![route("other"), route("r")]);
    life.block_on(applied).map_err(|error| error.to_string())
}

/// A route with a checkpoint and a parked change, and another route.
fn begun() -> World {
    let world = World::new();
    let (target, other) = (Recorder::with(refuse_bad), Recorder::new());
    let life = world.life(&[("r", target.clone()), ("other", other.clone())]);
    apply(&life).unwrap();
    world.put("bad", 1);
    for n in 1..=5 {
        world.put("good", n);
    }
    life.until("all but the bad one", || {
        target.count() == 5 && other.count() == 6 && life.status("r").parked == 1
    });
    life.block_on(life.router.stop());
    world
}

#[test]
fn a_damaged_row_stops_its_route_alone_and_once_mended_nothing_is_lost_or_delivered_again() {
    let world = begun();
    let attributes = [
        "from", "ended", "due", "first", "last", "attempts", "error", "record", "stream", "shard",
    ];
    let mut cases = 0;
    let mut next = 6;
    for pk in ["route#r", "parked#r"] {
        for row in rows(&world, pk) {
            for (attribute, damaged) in damages(&row, &attributes) {
                put(&world, &damaged);
                let (target, other) = (Recorder::with(refuse_bad), Recorder::new());
                let life = world.life(&[("r", target.clone()), ("other", other.clone())]);
                let named = if attribute == "record" && !damaged.contains_key("record") {
                    "parts"
                } else {
                    &attribute
                };
                assert_named(&apply(&life).unwrap_err(), &row, named);
                if cases == 0 {
                    world.put("good", next);
                    next += 1;
                    life.until("the other route works", || other.count() == 1);
                }
                assert_eq!(target.count(), 0, "{attribute}");
                cases += 1;
                life.block_on(life.router.stop());
                put(&world, &row);
            }
        }
    }
    assert!(cases >= 18, "{cases}");
    let (target, other) = (Recorder::new(), Recorder::new());
    let life = world.life(&[("r", target.clone()), ("other", other.clone())]);
    apply(&life).unwrap();
    life.until_after(
        "the parked one and the new one",
        std::time::Duration::from_secs(60),
        || target.count() == 2,
    );
    assert_eq!(target.versions()["good"], [6], "nothing twice");
    assert_eq!(target.versions()["bad"], [1], "nothing lost");
    assert_eq!(other.count(), 0);
}

#[test]
fn a_damaged_sequence_number_is_not_the_beginning() {
    let world = begun();
    let row = rows(&world, "route#r")
        .into_iter()
        .find(|row| row.contains_key("sequence"))
        .unwrap();
    for wrong in [AttributeValue::from("x"), "".into(), AttributeValue::from(7_i64)] {
        let mut damaged = row.clone();
        damaged.insert("sequence", wrong);
        put(&world, &damaged);
        let target = Recorder::new();
        let life = world.life(&[("r", target.clone()), ("other", Recorder::new())]);
        assert_named(&apply(&life).unwrap_err(), &row, "sequence");
        assert_eq!(target.count(), 0);
    }
}

#[test]
fn a_route_with_a_damaged_checkpoint_can_be_removed() {
    let world = begun();
    for mut row in rows(&world, "route#r") {
        row.remove("ended");
        row.remove("from");
        put(&world, &row);
    }
    let life = world.life(&[("other", Recorder::new())]);
    life.apply([route("other")]);
    assert_eq!(rows(&world, "route#r"), []);
}

#[test]
fn a_damaged_dead_letter_is_named_and_stays() {
    let world = World::new();
    let target = Recorder::with(refuse_bad);
    let life = world.life(&[("r", target.clone())]);
    life.apply([trestle_events::Route {
        maximum_retry_attempts: 0,
        ..route("r")
    }]);
    world.put("bad", 1);
    life.until("a dead letter", || life.status("r").dead == 1);
    let row = rows(&world, "dead").pop().unwrap();
    for (attribute, damaged) in damages(&row, &["route", "error", "last", "attempts"]) {
        put(&world, &damaged);
        let listed = life.block_on(life.router.dead_letters(None, None, 10));
        assert_named(&listed.unwrap_err().to_string(), &row, &attribute);
        let replayed = life.block_on(life.router.replay(Selection::All));
        assert_named(&replayed.unwrap_err().to_string(), &row, &attribute);
        assert_eq!(rows(&world, "dead"), [damaged]);
    }
}
