//! Rows that a reindex touches are not delivered, unless a route asks for them.

use serde_json::json;
use trestle_api::{TouchRows, Touched, UpdateItem};
use trestle_events::{Change, Maintenance, Route};
use trestle_item::Item;

use crate::support::{Recorder, World, pk, route};

const VERSION: &str = "reindexVersion";

fn told(change: &Change) -> String {
    let kind = change.maintenance.map_or("", Maintenance::name);
    format!("{} {} {kind}", change.event, pk(change))
}

fn to_version(pk: &str, version: u64) -> TouchRows {
    TouchRows {
        table: "T".to_owned(),
        attribute: VERSION.to_owned(),
        version,
        keys: vec![Item::from([("pk", pk)])],
        ..TouchRows::default()
    }
}

/// A touch by a reindex of an embedded database.
fn touch(world: &World, pk: &str, version: u64) {
    let touched = world.engine.touch(to_version(pk, version));
    assert_eq!(touched.unwrap().wait().unwrap(), [Touched::Raised]);
}

/// A touch by a reindex of an endpoint, or an update by any client.
fn update(world: &World, pk: &str, update: &str, values: Item) {
    let update = UpdateItem {
        table_name: "T".to_owned(),
        key: Item::from([("pk", pk)]),
        update_expression: Some(update.to_owned()),
        expression_attribute_values: Some(values),
        ..UpdateItem::default()
    };
    world.engine.run(update).unwrap();
}

#[test]
fn a_row_that_is_recorded_again_is_delivered_as_a_touch() {
    let world = World::new();
    let names = ["business", "touches"];
    let targets = names.map(|name| (name, Recorder::new()));
    let life = world.life(&targets);
    let touching = Route {
        include_maintenance: vec![Maintenance::Touch],
        ..route("touches")
    };
    life.apply([route("business"), touching]);
    world.put("a", 1);
    touch(&world, "a", 1);
    let again = world.engine.touch(TouchRows {
        records_again: true,
        ..to_version("a", 1)
    });
    assert_eq!(again.unwrap().wait().unwrap(), [Touched::Raised]);
    world.put("b", 1);
    let [(_, business), (_, touches)] = &targets;
    life.until("all records", || touches.count() == 4 && business.count() == 2);
    let told: Vec<String> = touches.taken().iter().map(|change| told(change)).collect();
    // Rows with different keys have no order.
    assert_eq!(told.iter().filter(|told| *told == "modify a touch").count(), 2);
}

fn reindex(world: &World) {
    world.put("a", 1);
    touch(world, "a", 1);
    let raised = |version: i64| Item::from([(":r", version)]);
    update(world, "a", "SET reindexVersion = :r", raised(2));
    update(world, "a", "SET reindexVersion = :r", raised(1));
    update(world, "a", "SET reindexVersion = :r, extra = :r", raised(5));
    world.put("a", 2);
}

const BUSINESS: [&str; 4] = ["insert a ", "modify a ", "modify a ", "modify a "];

#[test]
fn touches_are_delivered_to_routes_that_ask_for_them_and_to_no_others() {
    let world = World::new();
    let names = ["business", "moves", "touches", "everything"];
    let targets = names.map(|name| (name, Recorder::new()));
    let life = world.life(&targets);
    let including = |name: &str, include_maintenance: &[Maintenance]| Route {
        include_maintenance: include_maintenance.to_vec(),
        ..route(name)
    };
    life.apply([
        route("business"),
        including("moves", &[Maintenance::Move]),
        Route {
            pattern: Some(json!({"maintenance": ["touch"]})),
            ..including("touches", &[Maintenance::Touch])
        },
        including("everything", &Maintenance::ALL),
    ]);
    reindex(&world);
    let [(_, business), (_, moves), (_, touches), (_, everything)] = &targets;
    life.until("all records", || {
        everything.count() == 6 && business.count() == 4 && moves.count() == 4
    });
    let told_of = |target: &Recorder| {
        target
            .taken()
            .iter()
            .map(|change| told(change))
            .collect::<Vec<_>>()
    };
    assert_eq!(told_of(business), BUSINESS);
    assert_eq!(told_of(moves), BUSINESS);
    assert_eq!(told_of(touches), ["modify a touch", "modify a touch"]);
    assert_eq!(told_of(everything)[1..3], ["modify a touch", "modify a touch"]);
    assert_eq!(touches.taken()[0].to_json()["maintenance"], json!("touch"));
    life.until("no lag", || life.status("business").lag_records == 0);
}
