//! The figure that the grouped layout is about: how many blocks are read from disk to delete a run, where the cache is too
//! small for them. `examples/figures.rs` prints it at a size that a test cannot afford.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use trestle::{Durability, Embedded, FjallStore, OperationReads, Store, StoreSettings, VirtualClock};
use trestle_store::{Batch, Space};

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

/// Closing writes to tables what is in memory, if it is much.
fn make_it_much(store: &dyn Store) {
    for at in 0..120u32 {
        let mut batch = Batch::new();
        let key = [[u8::MAX; 4], at.to_be_bytes()].concat();
        batch.put(Space::Index, key, vec![0; 300_000]);
        store.commit(batch).unwrap();
    }
}

/// A store of so many runs, of which some are deleted with a small cache.
struct Sizes {
    workflow: &'static str,
    runs: usize,
    deletes: usize,
    cache_kib: u64,
}

/// What deletes read in one layout: those that began first go first, as retention has it.
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
    make_it_much(&*store);
    let (_, embedded) = world.stop().await;
    embedded.close().await.unwrap();
    drop(store);
    let (store, world) = open(sizes.cache_kib).await;
    let before = world.embedded.storage_reads();
    for at in 0..sizes.deletes {
        let (status, answer) = world
            .ask("DELETE", &format!("/tenants/{T}/wf-runs/{}", id(at)), None)
            .await;
        assert_eq!((status, &answer["done"]), (200, &json!(true)), "{answer}");
    }
    let reads = world.embedded.storage_reads().since(&before).total();
    world.stop().await;
    drop(store);
    reads
}

/// How many times fewer blocks are read from disk in the grouped layout.
async fn times_fewer(sizes: Sizes) -> f64 {
    let (legacy, grouped) = (deletes(&sizes, false).await, deletes(&sizes, true).await);
    assert!(
        grouped.blocks_from_disk as usize > sizes.deletes / 2,
        "the cache holds everything: {grouped:?}"
    );
    legacy.blocks_from_disk as f64 / grouped.blocks_from_disk as f64
}

#[tokio::test]
async fn point_12_a_delete_reads_at_least_3_6_times_fewer_blocks_of_runs_with_rows_of_every_type() {
    let times = times_fewer(Sizes {
        workflow: "every-type",
        runs: 300,
        deletes: 100,
        cache_kib: 512,
    });
    let times = times.await;
    assert!(times >= 3.6, "{times:.2} times fewer");
}

/// Its runs have rows of three types, in three places of the legacy layout: it cannot be more than three times, and the tags
/// lie where they lay.
#[tokio::test]
async fn point_12_a_delete_reads_at_least_twice_fewer_blocks_of_the_canary() {
    let times = times_fewer(Sizes {
        workflow: "canary",
        runs: 400,
        deletes: 100,
        cache_kib: 256,
    });
    let times = times.await;
    assert!(times >= 2.0, "{times:.2} times fewer");
}
