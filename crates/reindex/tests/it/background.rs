//! Reindexes that run in the background, and continue after a crash.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use trestle_api::Database;
use trestle_reindex::{
    EndpointHost, ReindexBudget, ReindexHost, ReindexState, ReindexWorkers, Reindexer, StartReindex,
    TouchByUpdate,
};

use crate::support::{World, to_version};

async fn until(reindexer: &Reindexer, name: &str, state: ReindexState) {
    while reindexer.get(name).await.unwrap().state != state {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn workers(world: &World, opening: &str) -> ReindexWorkers {
    ReindexWorkers::new(world.reindexer().of_opening(opening), Handle::current())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_running_goes_on_and_the_rest_stays() {
    let world = World::new();
    world.fill(400);
    world.table("other", true);
    let first = workers(&world, "first.");
    let slow = StartReindex {
        budget: ReindexBudget {
            write_units: Some(0.001),
            ..ReindexBudget::default()
        },
        ..to_version("one", 7)
    };
    first.reindexer().start(slow).await.unwrap();
    first.work_on("one");
    let paused = StartReindex {
        table: "other".to_owned(),
        ..to_version("two", 7)
    };
    first.reindexer().start(paused).await.unwrap();
    first.reindexer().pause("two").await.unwrap();
    while first.reindexer().status("one").await.unwrap().workers.is_empty() {
        tokio::task::yield_now().await;
    }
    first.stop().await;
    first.work_on("one");
    assert_eq!(first.error("one"), None);

    let second = workers(&world, "second.");
    let resumed = second.resume().await.unwrap();
    let names: Vec<&str> = resumed.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["one"]);
    let running = second.reindexer().running().await.unwrap();
    assert_eq!(running.iter().map(|job| &job.name).collect::<Vec<_>>(), ["one"]);
    second.reindexer().cancel("one").await.unwrap();
    assert_eq!(
        second.reindexer().get("two").await.unwrap().state,
        ReindexState::Paused
    );
    second.reindexer().resume("two").await.unwrap();
    second.work_on("two");
    until(second.reindexer(), "two", ReindexState::Done).await;
    second.stop().await;
}

/// A host whose routes are disabled.
struct NoRoute;

impl ReindexHost for NoRoute {
    fn touches_unheard(&self, _table: &str) -> Option<String> {
        None
    }

    fn sender(&self, route: &str) -> Result<trestle_events::RowSender, String> {
        Err(format!("route {route} is disabled"))
    }

    fn model(&self, _table: &str) -> Option<(Arc<trestle_model::Model>, String)> {
        None
    }

    fn typer(&self) -> Option<Arc<dyn trestle_events::Typer>> {
        EndpointHost::default().typer()
    }
}

#[tokio::test]
async fn why_a_reindex_cannot_go_on_is_told() {
    let world = World::new();
    world.fill(5);
    let database: Arc<dyn Database> = Arc::new(world.engine.clone());
    let host = Arc::new(NoRoute);
    let touch = Arc::new(TouchByUpdate::new(Arc::clone(&database)));
    let reindexer = world.reindexer_with(database, touch, host);
    let workers = ReindexWorkers::new(reindexer, Handle::current());
    let sent = StartReindex {
        name: Some("one".to_owned()),
        force: true,
        ..StartReindex::send(crate::support::TABLE, "index")
    };
    workers.reindexer().start(sent).await.unwrap();
    workers.work_on("one");
    let error = loop {
        tokio::time::sleep(Duration::from_millis(1)).await;
        if let Some(error) = workers.error("one") {
            break error;
        }
    };
    assert_eq!(error, "route index is disabled");
    workers.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_added_while_the_work_ends_are_done() {
    let world = World::new();
    world.fill(20);
    let workers = workers(&world, "first.");
    workers.reindexer().start(to_version("one", 7)).await.unwrap();
    workers.work_on("one");
    for round in 0..60 {
        let row = format!("w{:05}", round % 20);
        world.put(&row, "a", &[]);
        // A worker may have touched it already.
        if let Err(error) = workers.reindexer().resend("one", &[row]).await {
            assert!(error.to_string().contains("at version 7"), "{error}");
        }
        workers.work_on("one");
    }
    until(workers.reindexer(), "one", ReindexState::Done).await;
    assert_eq!(world.at_version(7), 20);
    workers.stop().await;
}
