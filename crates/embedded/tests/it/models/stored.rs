//! Models are stored with the data: versions, reopening, removing.

use crate::models::support::{PLAIN, SHOP, empty, in_directory, on, quiet};
use serde_json::json;
use std::sync::Arc;
use trestle_binding::{BindError, Outcome};
use trestle_embedded::{ApplyOptions, Embedded, OpenError, PlanOptions, StartOptions, Unwatched};
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

/// A store whose model is invalid.
fn spoilt() -> Arc<MemoryStore> {
    with_stored_text("[entity.order.attributes]", "[entity.order.atributes]")
}

/// A store with a model whose stored text was changed.
fn with_stored_text(from: &str, to: &str) -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new());
    let models = on(store.clone(), Arc::new(SystemClock::new()), quiet());
    models.apply(SHOP);
    drop(models);
    let engine = Engine::load(store.clone(), Arc::new(SystemClock::new()), Default::default()).unwrap();
    let (name, bytes) = engine.documents().unwrap().remove(0);
    let text = String::from_utf8(bytes).unwrap();
    let changed = text.replace(from, to);
    assert_ne!(changed, text);
    let bytes = changed.into_bytes();
    engine.store_documents(vec![(name, Some(bytes))]).unwrap();
    store
}

/// The shop with an index that no request can name.
fn unnameable() -> String {
    SHOP.replace("index.by_status", "index.ab")
}

#[test]
fn an_index_that_no_request_can_name_is_refused_in_a_new_model_and_a_migration() {
    let models = empty();
    let refused = |refused: BindError| {
        let BindError::Unsound(problems) = refused else {
            panic!("{refused}")
        };
        assert_eq!(problems.len(), 1);
        let problem = problems[0].to_string();
        assert!(problem.starts_with("10:"), "{problem}");
        assert!(
            problem.contains("index `ab` has a name with which no request can query it"),
            "{problem}"
        );
    };
    let applied = models.db().models().apply(&unnameable(), PLAIN, &mut Unwatched);
    refused(applied.unwrap_err());
    models.apply(SHOP);
    let applied = models.db().models().apply(&unnameable(), PLAIN, &mut Unwatched);
    refused(applied.unwrap_err());
    let moved = unnameable().replace("customer#{customer}\"", "c#{customer}\"");
    let (db, options) = (models.db(), PlanOptions::default());
    refused(
        db.models()
            .plan_migration(&moved, options, &mut Unwatched)
            .unwrap_err(),
    );
    let (db, options) = (models.db(), StartOptions::default());
    refused(
        db.models()
            .start_migration(&moved, options, &mut Unwatched)
            .unwrap_err(),
    );
    assert_eq!(models.documents().len(), 1);
}

#[test]
fn a_stored_model_with_such_an_index_opens_is_enforced_and_can_be_applied_again() {
    let store = with_stored_text("index.by_status", "index.ab");
    let models = on(store, Arc::new(SystemClock::new()), quiet());
    assert!(models.db().models().list()[0].loads);
    let refused = models.put("shop", json!({"customer": "ann"})).unwrap_err();
    assert!(refused.message().contains("number"), "{}", refused.message());
    let text = models.db().models().text("shop").unwrap();
    let dry_run = ApplyOptions {
        dry_run: true,
        ..PLAIN
    };
    models.try_apply(&text, dry_run);
    let wider = text.replace("[\"open\", \"paid\"]", "[\"open\", \"paid\", \"sent\"]");
    models.try_apply(&wider, dry_run);
    let (db, another) = (
        models.db(),
        format!("{text}[table.shop.index.cd]\nkey = [\"sk\"]\n"),
    );
    let refused = db.models().apply(&another, dry_run, &mut Unwatched).unwrap_err();
    assert!(matches!(refused, BindError::Unsound(problems) if problems.len() == 1));
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
    let report = for_repair(&store).models().apply(SHOP, PLAIN, &mut Unwatched);
    let report = report.unwrap();
    assert_eq!((report.outcome, report.version), (Outcome::Applied, Some(2)));
    on(store, Arc::new(SystemClock::new()), quiet());
}
