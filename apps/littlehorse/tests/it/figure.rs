//! What the grouped layout is about: how much is read to delete a run, where the cache is too small. The blocks are printed by
//! `examples/figures.rs`, at a size that a test cannot afford.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trestle::{Durability, Embedded, FjallStore, OperationReads, Store, StoreSettings, VirtualClock};
use trestle_store::{Batch, Space};

use crate::support::{START, World, canary, unswept};

const T: &str = "acme";
/// How long a table may take to be written.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// What is written to memory becomes a table when it is much: 32 MiB with what is there. The rows are those of no table.
fn make_it_much(store: &dyn Store) {
    for at in 0..112u32 {
        let mut batch = Batch::new();
        let key = [[u8::MAX; 4], at.to_be_bytes()].concat();
        batch.put(Space::Items, key, vec![0; 300_000]);
        store.commit(batch).unwrap();
    }
}

/// Whether rows of runs lie in a table by now: the last run is deleted by none of the tests.
async fn is_on_disk(world: &World, sizes: &Sizes) -> bool {
    let before = world.embedded().storage_reads();
    world
        .get(&format!("/tenants/{T}/wf-runs/{}", id(sizes.runs - 1)))
        .await;
    world
        .embedded()
        .storage_reads()
        .since(&before)
        .total()
        .blocks_from_disk
        > 0
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
    let (_, stored) = world.stop().await;
    closed(stored).await;
    drop(store);
    let (mut store, mut world) = open(sizes.cache_kib).await;
    // A table that was not written in time is in the journal, and read into memory from there. It is written now.
    let begun = Instant::now();
    while !is_on_disk(&world, sizes).await {
        assert!(begun.elapsed() < PATIENCE, "no table is written");
        let (_, stored) = world.stop().await;
        closed(stored).await;
        drop(store);
        (store, world) = open(sizes.cache_kib).await;
    }
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

/// The layouts against each other, by ranges: how many blocks those read depends on how far the engine has merged its tables,
/// which in a store as small as this is another number each time. `examples/figures.rs` counts them in a large one.
async fn compare(sizes: Sizes) {
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
}

#[tokio::test]
async fn point_12_a_delete_of_a_run_with_rows_of_every_type_reads_one_range_instead_of_seven() {
    let workflow = "every-type";
    compare(Sizes {
        workflow,
        runs: 300,
        deletes: 100,
        cache_kib: 512,
    })
    .await;
}

#[tokio::test]
async fn point_12_a_delete_of_a_run_of_the_canary_reads_one_range_instead_of_seven() {
    let workflow = "canary";
    compare(Sizes {
        workflow,
        runs: 400,
        deletes: 100,
        cache_kib: 512,
    })
    .await;
}

/// Ends the database with its last handle, so that its directory is free.
async fn closed(stored: testing::TestDatabase) {
    let embedded = stored.embedded().unwrap().clone();
    drop(stored);
    embedded.close().await.unwrap();
}
