//! Models are kept with the data: versions, reopening, letting go.

use crate::support::{Models, PLAIN, SHOP, empty, on};
use serde_json::json;
use std::sync::Arc;
use trestle_binding::{BindError, Binding, Nobody, Outcome};
use trestle_engine::{Engine, Options, StoreSettings};
use trestle_env::SystemClock;

fn reopened(directory: &std::path::Path) -> Models {
    on(Engine::open(directory, StoreSettings::default(), Options::default()).unwrap())
}

#[test]
fn a_model_survives_a_restart_and_is_enforced() {
    let directory = tempfile::tempdir().unwrap();
    let models = reopened(directory.path());
    models.apply(SHOP);
    drop(models);
    let models = reopened(directory.path());
    let listed = models.binding.list();
    assert_eq!((listed[0].name.as_str(), listed[0].version), ("shop", 1));
    assert_eq!(listed[0].tables, ["shop"]);
    assert_eq!(listed[0].entities, 1);
    assert!(listed[0].applied.ends_with('Z'));
    assert_eq!(models.binding.text("shop").unwrap(), SHOP);
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
    assert_eq!(
        models.engine.documents().unwrap().len(),
        2,
        "both versions are kept"
    );
    let again = on(models.engine.clone());
    assert_eq!(again.binding.list()[0].version, 2);
}

#[test]
fn a_model_that_is_let_go_of_is_enforced_no_more() {
    let models = empty();
    models.apply(SHOP);
    models.binding.remove("shop").unwrap();
    assert!(models.binding.list().is_empty());
    assert!(models.engine.documents().unwrap().is_empty());
    models
        .put("shop", json!({"pk": "anything", "sk": "goes"}))
        .unwrap();
    let error = models.binding.remove("shop").unwrap_err();
    assert_eq!(error.to_string(), "there is no model shop; none is stored");
}

/// A database whose stored model is no model any more.
fn spoilt() -> Engine {
    let models = empty();
    models.apply(SHOP);
    let (name, bytes) = models.engine.documents().unwrap().remove(0);
    let text = String::from_utf8(bytes).unwrap();
    let bytes = text
        .replace("[entity.order.attributes]", "[entity.order.atributes]")
        .into_bytes();
    models.engine.install(vec![(name, Some(bytes))], None).unwrap();
    models.engine
}

#[test]
fn a_stored_model_that_does_not_load_is_named_with_the_ways_out() {
    let error = Binding::open(spoilt(), Arc::new(SystemClock::new())).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, BindError::StoredUnsound { .. }));
    assert!(
        text.contains("the stored model shop, version 1, does not load"),
        "{text}"
    );
    assert!(text.contains("line 15: entity `order`"), "{text}");
    assert!(text.contains("trestle model apply FILE --data DIR"), "{text}");
    assert!(text.contains("trestle model remove shop --data DIR"), "{text}");
}

#[test]
fn both_ways_out_work() {
    let read = |engine: &Engine| Binding::read(engine.clone(), Arc::new(SystemClock::new())).unwrap();
    let engine = spoilt();
    assert!(!read(&engine).list()[0].loads);
    read(&engine).remove("shop").unwrap();
    on(engine);

    let engine = spoilt();
    let report = read(&engine).apply(SHOP, PLAIN, &mut Nobody).unwrap();
    assert_eq!((report.outcome, report.version), (Outcome::Applied, Some(2)));
    on(engine);
}
