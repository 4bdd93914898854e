//! A stored model that does not load: the database reports it, and can be opened to correct it.

use crate::support::{World, apply, model, plain, put, rows, until};
use serde_json::json;
use std::time::Duration;
use trestle_api::{ExecuteStatement, PutItem};
use trestle_binding::{BindError, Outcome};
use trestle_embedded::{ApplyOptions, Unwatched};
use trestle_embedded::{Embedded, OpenError, Options};
use trestle_engine::Engine;
use trestle_env::Clock;

/// The rows derived by the invalid version are unknown, so everything is audited again.
const FILL: ApplyOptions = ApplyOptions {
    dry_run: false,
    fill: true,
    delete_indexes: false,
    adopt: false,
};

/// A store whose model `one` is invalid, with a member whose time has passed.
fn spoilt() -> World {
    let world = World::new();
    let db = world.open();
    apply(&db, &model("one"));
    put(&db, "one", json!({"kind": "team", "team": "a"}));
    put(
        &db,
        "one",
        json!({"kind": "member", "team": "a", "number": 1, "email": "e@x", "until": world.now_s() + 60}),
    );
    drop(db);
    world.clock.advance(Duration::from_secs(3600));
    let engine = Engine::load(world.store.clone(), world.clock.clone(), Default::default()).unwrap();
    let (name, bytes) = engine.documents().unwrap().remove(0);
    let text = String::from_utf8(bytes).unwrap();
    let spoilt = text.replace("newest_by", "newest_bye").into_bytes();
    engine.store_documents(vec![(name, Some(spoilt))]).unwrap();
    world
}

fn for_repair(world: &World) -> Embedded {
    Embedded::on_for_repair(world.store.clone(), world.clock.clone(), Options::default()).unwrap()
}

/// Time in which background work could do what it must not do.
fn a_while(world: &World) {
    for _ in 0..20 {
        world.clock.signal().ring();
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Team, member, head and unique value; the team alone once the member has expired.
fn is_exact_after_work(world: &World, db: &Embedded) {
    db.begin_work().unwrap();
    until(&world.clock, "the member expires", || rows(db, "one").len() == 1);
    let team = rows(db, "one").remove(0);
    assert_eq!(team.get("members"), Some(&0_i64.into()));
}

#[test]
fn it_is_refused_with_the_ways_out() {
    let world = spoilt();
    let opened = Embedded::on(world.store.clone(), world.clock.clone(), Options::default());
    let Err(OpenError::Models(error)) = opened else {
        panic!("it opened")
    };
    assert!(matches!(error, BindError::StoredUnsound { .. }));
    assert!(
        error.to_string().contains("trestle model remove one --data DIR"),
        "{error}"
    );
}

#[test]
fn nothing_expires_before_it_is_corrected() {
    let world = spoilt();
    let db = for_repair(&world);
    assert!(!db.models().list()[0].loads);
    assert!(db.begin_work().is_err(), "it does not load yet");
    a_while(&world);
    assert_eq!(rows(&db, "one").len(), 4, "team, member, head, unique value");
    let report = db.models().apply(&model("one"), FILL, &mut Unwatched);
    assert_eq!(report.unwrap().outcome, Outcome::Applied);
    a_while(&world);
    assert_eq!(
        rows(&db, "one").len(),
        4,
        "background work waits until it is asked for"
    );
    is_exact_after_work(&world, &db);
}

/// A put that every model accepts.
fn try_put(db: &Embedded) -> Result<(), trestle_api::Error> {
    let put = PutItem {
        table_name: "one".to_owned(),
        item: plain(json!({"pk": "team#b", "sk": "team", "kind": "team", "team": "b", "members": 0})),
        ..PutItem::default()
    };
    db.run(put).map(drop)
}

#[test]
fn clients_write_nothing_before_it_is_corrected_and_read_everything() {
    let world = spoilt();
    let db = for_repair(&world);
    let refused = try_put(&db).unwrap_err();
    assert!(
        refused
            .message()
            .contains("the stored model one, version 1, does not load"),
        "{refused}"
    );
    assert!(
        refused.message().contains("trestle model apply FILE"),
        "{refused}"
    );
    let statement = |text: &str| ExecuteStatement {
        statement: text.to_owned(),
        ..ExecuteStatement::default()
    };
    let delete = r#"DELETE FROM "one" WHERE pk = 'team#a' AND sk = 'team'"#;
    assert!(db.run(statement(delete)).is_err());
    assert_eq!(
        db.run(statement(r#"SELECT * FROM "one""#)).unwrap().items.len(),
        4
    );
    db.models().apply(&model("one"), FILL, &mut Unwatched).unwrap();
    try_put(&db).unwrap();
}

#[test]
fn clients_write_nothing_while_another_model_does_not_load() {
    let world = spoilt();
    let engine = Engine::load(world.store.clone(), world.clock.clone(), Default::default()).unwrap();
    let (_, bytes) = engine.documents().unwrap().remove(0);
    let other = String::from_utf8(bytes)
        .unwrap()
        .replace("one", "two")
        .into_bytes();
    engine
        .store_documents(vec![("model/two/00000001".to_owned(), Some(other))])
        .unwrap();
    drop(engine);
    let db = for_repair(&world);
    db.models().remove("one").unwrap();
    let refused = try_put(&db).unwrap_err();
    assert!(refused.message().contains("the stored model two"), "{refused}");
    db.models().remove("two").unwrap();
    try_put(&db).unwrap();
}

#[test]
fn a_corrected_model_may_bring_an_index() {
    let world = spoilt();
    let db = for_repair(&world);
    let wider = model("one").replace(
        "ttl = \"until\"",
        "ttl = \"until\"\n[table.one.index.by_email]\nkey = [\"email\"]\n",
    );
    let report = db.models().apply(&wider, FILL, &mut Unwatched).unwrap();
    assert_eq!(report.outcome, Outcome::Applied, "{report}");
    is_exact_after_work(&world, &db);
}

#[test]
fn a_removed_model_leaves_the_rows_as_they_are() {
    let world = spoilt();
    let db = for_repair(&world);
    db.models().remove("one").unwrap();
    assert_eq!(rows(&db, "one").len(), 4);
    drop(db);
    world.open();
}
