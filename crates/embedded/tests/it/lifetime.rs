//! When a database closes, and which requests are answered after that.

use crate::support::{apply, model, put, rows};
use serde_json::json;
use trestle_embedded::{Embedded, Options};
use trestle_queue::QueueAttributes;
use trestle_store::ErrorKind;

fn in_use(directory: &std::path::Path) -> bool {
    match Embedded::open(directory, Options::default()) {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.store_error().unwrap().kind(), ErrorKind::InUse);
            true
        }
    }
}

#[test]
fn it_closes_with_its_last_handle() {
    let directory = tempfile::tempdir().unwrap();
    let db = Embedded::open(directory.path(), Options::default()).unwrap();
    let other = db.clone();
    drop(db);
    assert!(in_use(directory.path()));
    drop(other);
    assert!(!in_use(directory.path()));
}

#[tokio::test]
async fn its_queues_are_handles_too() {
    let directory = tempfile::tempdir().unwrap();
    let db = Embedded::open(directory.path(), Options::default()).unwrap();
    let queues = db.queues().clone();
    drop(db);
    queues
        .create("mail", &QueueAttributes::default(), &Default::default())
        .await
        .unwrap();
    assert!(in_use(directory.path()));
    drop(queues);
    assert!(!in_use(directory.path()));
}

#[test]
fn the_models_are_in_force_when_it_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let db = Embedded::open(directory.path(), Options::default()).unwrap();
    apply(&db, &model("one"));
    drop(db);
    let db = Embedded::open(directory.path(), Options::default()).unwrap();
    put(
        &db,
        "one",
        json!({"kind": "member", "team": "a", "number": 1, "email": "e@x"}),
    );
    assert_eq!(
        rows(&db, "one").len(),
        4,
        "the team, the member, its head and its address"
    );
}

#[tokio::test]
async fn what_is_answered_before_it_is_closed_is_stored_and_later_writes_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let db = Embedded::open(directory.path(), Options::default()).unwrap();
    apply(&db, &model("one"));
    put(&db, "one", json!({"kind": "team", "team": "a"}));
    let other = db.clone();
    db.close().await.unwrap();
    let refused = other
        .run(trestle_api::DeleteTable {
            table_name: "one".to_owned(),
        })
        .unwrap_err();
    assert!(refused.to_string().contains("stopped"), "{refused}");
    drop(other);
    let db = Embedded::open(directory.path(), Options::default()).unwrap();
    assert_eq!(rows(&db, "one").len(), 1);
}

#[test]
fn a_directory_that_must_exist_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let options = Options {
        must_exist: true,
        ..Options::default()
    };
    assert!(Embedded::open(&missing, options).is_err());
    assert!(!missing.exists());
}
