//! The benefit of the grouped layout: how much is read to delete a run, where the cache is too small. The
//! blocks of large stores are printed by `examples/figures.rs`.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use trestle::{Durability, Embedded, FjallStore, OperationReads, StoreSettings, VirtualClock};

use crate::support::{START, World, canary, unswept};

const T: &str = "acme";

/// A workflow whose runs have rows of every type.
fn every_type() -> Value {
    json!({ "name": "every-type", "variables": { "a": "1", "b": "2" }, "nodes": [
        { "name": "work", "run": { "task": { "taskDefName": "greet" } } },
        { "name": "paid", "run": { "externalEvent": { "event": "payment" } } },
        { "name": "sign", "run": { "userTask": { "form": "form" } } },
        { "name": "tell", "run": { "throwEvent": { "event": "done", "content": "a" } } },
    ] })
}

/// Ids that are not in the order in which runs begin.
fn id(at: usize) -> String {
    format!("{:016x}", (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Brings a run of either workflow to its end.
async fn run(world: &World, workflow: &str, at: usize) {
    let id = id(at);
    world.run(T, workflow, &id, json!({})).await;
    world.work(T, "greet", "done").await;
    if workflow == "every-type" {
        world
            .command(
                T,
                &id,
                json!({ "putEvent": { "eventName": "payment", "guid": "g" } }),
            )
            .await;
        world
            .command(T, &id, json!({ "completeUserTask": { "guid": "0-3" } }))
            .await;
    }
}

fn store_in(place: &Path, cache_kib: u64) -> Arc<FjallStore> {
    let settings = StoreSettings {
        durability: Durability::Buffered,
        cache_bytes: cache_kib << 10,
        ..StoreSettings::default()
    };
    Arc::new(FjallStore::open(place, settings).unwrap())
}

/// A store of so many runs, of which some are deleted with a small cache.
struct Sizes {
    workflow: &'static str,
    runs: usize,
    deletes: usize,
    cache_kib: u64,
}

/// The reads of deletes in one layout: the oldest runs are deleted first, as by retention.
async fn deletes(sizes: &Sizes, is_grouped: bool) -> OperationReads {
    let place = tempfile::tempdir().unwrap();
    let open = async |cache_kib: u64| {
        let (store, clock) = (
            store_in(place.path(), cache_kib),
            Arc::new(VirtualClock::starting_at(START)),
        );
        let embedded = Embedded::on(store.clone(), clock.clone(), unswept()).unwrap();
        let world = match is_grouped {
            true => World::new_of(clock, embedded).await,
            false => World::old_of(clock, embedded).await,
        };
        (store, world)
    };
    let (store, world) = open(64 << 10).await;
    for spec in [canary(), every_type()] {
        world.post(&format!("/tenants/{T}/wf-specs"), spec).await;
    }
    for at in 0..sizes.runs {
        world.advance(1);
        run(&world, sizes.workflow, at).await;
    }
    let found = world
        .get(&format!(
            "/tenants/{T}/search/wf-runs?status=COMPLETED&limit=1000"
        ))
        .await;
    assert_eq!(found["items"].as_array().map(Vec::len), Some(sizes.runs));
    store.merge().unwrap();
    let (_, stored) = world.stop().await;
    closed(stored).await;
    drop(store);
    let (store, world) = open(sizes.cache_kib).await;
    let before = world.embedded().storage_reads();
    for at in 0..sizes.deletes {
        let (status, answer) = world
            .ask("DELETE", &format!("/tenants/{T}/wf-runs/{}", id(at)), None)
            .await;
        assert_eq!((status, &answer["done"]), (200, &json!(true)), "{answer}");
    }
    let reads = world.embedded().storage_reads().since(&before).total();
    world.stop().await;
    drop(store);
    reads
}

/// Compares the layouts with merged tables, because the engine's own merges differ each time. At least so
/// many times fewer blocks are read from disk.
async fn compare(sizes: Sizes, times: f64) {
    let (legacy, grouped) = (deletes(&sizes, false).await, deletes(&sizes, true).await);
    let deletes = sizes.deletes as u64;
    assert!(
        legacy.ranges >= 7 * deletes && grouped.ranges < 2 * deletes,
        "{legacy:?} {grouped:?}"
    );
    assert!(
        grouped.blocks_from_disk > deletes / 2,
        "the cache holds everything: {grouped:?}"
    );
    let fewer = legacy.blocks_from_disk as f64 / grouped.blocks_from_disk as f64;
    assert!(
        fewer >= times,
        "{fewer:.1} times fewer blocks: {legacy:?} {grouped:?}"
    );
}

#[tokio::test]
async fn point_12_a_delete_of_a_run_with_rows_of_every_type_reads_one_range_instead_of_seven() {
    let workflow = "every-type";
    let sizes = Sizes {
        workflow,
        runs: 300,
        deletes: 100,
        cache_kib: 512,
    };
    compare(sizes, 3.0).await;
}

#[tokio::test]
async fn point_12_a_delete_of_a_run_of_the_canary_reads_one_range_instead_of_seven() {
    let workflow = "canary";
    let sizes = Sizes {
        workflow,
        runs: 400,
        deletes: 100,
        cache_kib: 512,
    };
    compare(sizes, 1.5).await;
}

/// Closes the database with its last handle, so that its directory is free.
async fn closed(stored: testing::TestDatabase) {
    let embedded = stored.embedded().unwrap().clone();
    drop(stored);
    embedded.close().await.unwrap();
}
