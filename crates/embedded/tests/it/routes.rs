//! The one router of a database.

use crate::support::World;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use trestle_embedded::{Embedded, RouteSetup, RoutesAtWork};
use trestle_events::{ModelTyper, Route, Router};

/// A router whose doors own a handle of the database, like handlers of a program.
fn start(db: &Embedded) -> Result<Router, RoutesAtWork> {
    let owned = db.clone();
    db.start_router(RouteSetup {
        typer: Arc::new(ModelTyper::default()),
        doors: Arc::new(move |_: &Route| Err(format!("nothing is delivered from {owned:?}"))),
        poll: Duration::from_secs(1),
        runtime: Handle::current(),
        streams: None,
    })
}

#[tokio::test]
async fn there_is_one_router_at_a_time() {
    let db = World::new().open();
    let first = start(&db).unwrap();
    assert_eq!(start(&db).unwrap_err(), RoutesAtWork);
    assert!(db.router().is_some());
    first.stop().await;
    assert!(first.apply(Vec::new()).await.is_err(), "it was stopped");
    let second = start(&db).unwrap();
    drop(second);
    assert!(start(&db).is_ok(), "a router that is dropped is at work no more");
}

#[tokio::test]
async fn handlers_that_own_a_handle_do_not_keep_the_database_open() {
    let world = World::new();
    let db = world.open();
    let router = start(&db).unwrap();
    drop((db, router));
    assert_eq!(Arc::strong_count(&world.store), 1, "the store is given back");
}

#[tokio::test]
async fn the_router_stops_when_the_database_is_closed() {
    let db = World::new().open();
    let router = start(&db).unwrap();
    db.close().await.unwrap();
    assert!(router.is_stopped());
}
