//! TestDb are kept with the data: versions, reopening, letting go.

use crate::models::support::{PLAIN, SHOP, empty, in_directory, on, quiet};
use serde_json::json;
use std::sync::Arc;
use trestle_binding::{BindError, Outcome};
use trestle_embedded::{Embedded, Nobody, OpenError};
use trestle_engine::Engine;
use trestle_env::SystemClock;
use trestle_store::MemoryStore;

#[test]
fn a_model_survives_a_restart_and_is_enforced() {
    let directory = tempfile::tempdir().unwrap();
    let models = in_directory(directory.path());
    models.apply(SHOP);
    drop(models);
    let models = in_directory(directory.path());
    let listed = models.db().models().list();
    assert_eq!((listed[0].name.as_str(), listed[0].version), ("shop", 1));
    assert_eq!(listed[0].tables, ["shop"]);
    assert_eq!(listed[0].entities, 1);
    assert!(listed[0].applied.ends_with('Z'));
    assert_eq!(models.db().models().text("shop").unwrap(), SHOP);
    assert_eq!(models.try_apply(SHOP, PLAIN).outcome, Outcome::NothingToDo);
    let refused = models.put("shop", json!({"customer": "ann"})).unwrap_err();
    assert!(refused.message().contains("number"), "{}", refused.message());
}

#[test]
fn another_text_is_another_version_and_takes_effect_at_once() {
    let models = empty();
    models.apply(SHOP);
    let order =
        json!({"customer": "ann", "number": 1, "placed": "2026-11-15T10:00:00.000Z", "status": "sent"});
    assert!(models.put("shop", order.clone()).is_err());
    let wider = SHOP.replace("[\"open\", \"paid\"]", "[\"open\", \"paid\", \"sent\"]");
    let report = models.apply(&wider);
    assert_eq!(report.version, Some(2));
    models.put("shop", order).unwrap();
    assert_eq!(models.documents().len(), 2, "both versions are kept");
    let again = models.restarted();
    assert_eq!(again.db().models().list()[0].version, 2);
}

#[test]
fn a_model_that_is_let_go_of_is_enforced_no_more() {
    let models = empty();
    models.apply(SHOP);
    models.db().models().remove("shop").unwrap();
    assert!(models.db().models().list().is_empty());
    assert!(models.documents().is_empty());
    models
        .put("shop", json!({"pk": "anything", "sk": "goes"}))
        .unwrap();
    let error = models.db().models().remove("shop").unwrap_err();
    assert_eq!(error.to_string(), "there is no model shop; none is stored");
}

/// A store whose model is no model any more.
fn spoilt() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let models = on(store.clone(), Arc::new(SystemClock::new()), quiet());
    models.apply(SHOP);
    drop(models);
    let engine = Engine::load(store.clone(), Arc::new(SystemClock::new()), Default::default()).unwrap();
    let (name, bytes) = engine.documents().unwrap().remove(0);
    let text = String::from_utf8(bytes).unwrap();
    let bytes = text
        .replace("[entity.order.attributes]", "[entity.order.atributes]")
        .into_bytes();
    engine.store_documents(vec![(name, Some(bytes))]).unwrap();
    store
}

#[test]
fn a_stored_model_that_does_not_load_is_named_with_the_ways_out() {
    let opened = Embedded::on(spoilt(), Arc::new(SystemClock::new()), quiet());
    let Err(OpenError::Models(error)) = opened else {
        panic!("it opened")
    };
    let text = error.to_string();
    assert!(matches!(error, BindError::StoredUnsound { .. }));
    assert!(
        text.contains("the stored model shop, version 1, does not load"),
        "{text}"
    );
    assert!(text.contains("line 15: entity `order`"), "{text}");
    assert!(
        text.contains("trestle model apply FILE --fill --data DIR"),
        "{text}"
    );
    assert!(text.contains("trestle model remove shop --data DIR"), "{text}");
}

#[test]
fn both_ways_out_work() {
    let for_repair = |store: &Arc<MemoryStore>| {
        Embedded::on_for_repair(store.clone(), Arc::new(SystemClock::new()), quiet()).unwrap()
    };
    let store = spoilt();
    assert!(!for_repair(&store).models().list()[0].loads);
    for_repair(&store).models().remove("shop").unwrap();
    on(store, Arc::new(SystemClock::new()), quiet());

    let store = spoilt();
    let report = for_repair(&store).models().apply(SHOP, PLAIN, &mut Nobody);
    let report = report.unwrap();
    assert_eq!((report.outcome, report.version), (Outcome::Applied, Some(2)));
    on(store, Arc::new(SystemClock::new()), quiet());
}
