//! What must not be mixed up between the layouts, what is stored together, and what a delete leaves.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use trestle::api::{GetItem, OperationName, Query, Scan};
use trestle::migrate::MigrationState;
use trestle::{AnyDatabase, DatabaseExt as _, Embedded, Item, MemoryStore, VirtualClock, Wait as _};

use littlehorse::DELETES_MAX;
use littlehorse::model::{Littlehorse, ObjectsOfRunWhere};

use crate::history::{self, KINDS, RUNS, SEARCHES, TENANTS};
use crate::kept::{Place, places};
use crate::migrating::{sweep_all, sweep_page};
use crate::support::{START, World, unswept};

pub(crate) const TABLE: &str = "littlehorse-core";

/// The row under a key.
pub(crate) fn raw(world: &World, (pk, sk): (&str, &str)) -> Option<Item> {
    let get = GetItem {
        table_name: TABLE.into(),
        key: Item::from([("pk", pk), ("sk", sk)]),
        ..GetItem::default()
    };
    waiting(|| world.stored.get_item(get).wait()).unwrap().item
}

/// Every row of the table.
pub(crate) fn rows(stored: &AnyDatabase) -> Vec<Item> {
    waiting(|| rows_here(stored))
}

/// Works on a thread that may wait for an endpoint.
pub(crate) fn waiting<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn rows_here(stored: &AnyDatabase) -> Vec<Item> {
    let mut scan = Scan {
        table_name: TABLE.into(),
        consistent_read: Some(true),
        ..Scan::default()
    };
    let mut rows = Vec::new();
    loop {
        let page = stored.scan(scan.clone()).wait().unwrap();
        rows.extend(page.items.unwrap().to_vec());
        scan.exclusive_start_key = page.last_evaluated_key;
        if scan.exclusive_start_key.is_none() {
            return rows;
        }
    }
}

fn text<'i>(item: &'i Item, name: &str) -> &'i str {
    item.get(name).and_then(|value| value.as_s()).unwrap_or_default()
}

/// Rows of runs under keys of the legacy layout.
pub(crate) fn legacy_rows(world: &World) -> usize {
    let is_legacy = |row: &&Item| !text(row, "pk").contains('/') && !text(row, "sk").starts_with("0/2/");
    rows(&world.stored).iter().filter(is_legacy).count()
}

/// Rows that refer to this run in any way, including index rows.
pub(crate) fn rows_of(world: &World, tenant: &str, run: &str) -> Vec<Item> {
    let of_run = |row: &Item| text(row, "tenant") == tenant && text(row, "wfRunId") == run;
    rows(&world.stored).into_iter().filter(of_run).collect()
}

/// The run at the end of its life, so that it can be deleted.
async fn stopped(world: &World, run: &str) {
    for tenant in TENANTS {
        if world.status(tenant, run).await == "RUNNING" {
            world.command(tenant, run, json!("stop")).await;
        }
    }
}

#[tokio::test]
async fn point_07_a_list_of_one_run_never_has_rows_of_a_run_whose_id_begins_alike() {
    let old = World::old().await;
    history::begin(&old).await;
    let check = async |world: &World, moment: &str| {
        for run in RUNS {
            for kind in [
                "node-runs",
                "variables",
                "external-events",
                "task-runs",
                "user-task-runs",
            ] {
                let listed = world.list("acme", run, kind).await;
                assert!(
                    listed.iter().all(|row| row["wfRunId"] == run),
                    "{moment}: {kind} of {run}: {listed:?}"
                );
                assert!(
                    !listed.is_empty() || !["node-runs", "variables"].contains(&kind),
                    "{moment}: {run}"
                );
            }
        }
    };
    check(&old, "legacy").await;
    let moving = old.upgrade().await;
    check(&moving, "both").await;
    stopped(&moving, "wf-2").await;
    check(&moving, "rows of one moved").await;
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    check(&moving, "grouped").await;
}

/// Notes for a run, so that a delete takes several steps.
async fn notes(world: &World, tenant: &str, run: &str, count: usize) {
    for at in 0..count {
        history::step(world, tenant, run, 100 + at).await;
    }
}

#[tokio::test]
async fn point_09_a_delete_removes_rows_of_both_layouts_tags_and_inventory_in_bounded_steps() {
    let old = World::old().await;
    history::begin(&old).await;
    notes(&old, "acme", "wf-2-2", 60).await;
    let moving = old.upgrade().await;
    sweep_page(&moving);
    stopped(&moving, "wf-2-2").await;
    let (neighbours, twin) = (
        rows_of(&moving, "acme", "wf-2").len(),
        rows_of(&moving, "acme-2", "wf-2-2").len(),
    );
    assert!(neighbours > 10 && twin > 10);
    // Timers stand still, so that the effects of a step can be checked.
    let (clock, embedded) = moving.stop().await;
    let still = World::still(clock.clone(), embedded.clone());
    let owned = |world: &World| {
        let rows = rows_of(world, "acme", "wf-2-2");
        let (tags, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.contains_key("tag"));
        (rows.len(), tags.len())
    };
    let (count, tags) = owned(&still);
    assert!(
        count > DELETES_MAX as usize && tags > count,
        "{count} rows, {tags} tags"
    );
    let path = "/tenants/acme/wf-runs/wf-2-2";
    let (_, first) = still.ask("DELETE", path, None).await;
    assert_eq!(first["done"], false, "{first}");
    // The run itself was read and stays.
    let deleted = first["deleted"].as_u64().unwrap() as usize;
    assert_eq!(deleted, DELETES_MAX as usize - 1);
    assert_eq!(owned(&still).0, count - deleted, "a bounded number");
    assert_eq!(
        still.ask("POST", path, Some(json!("resume"))).await.0,
        404,
        "nothing happens to it any more"
    );
    assert_eq!(still.get(path).await["deleting"], true);
    // The next process continues it.
    let again = World::new_of(clock, embedded).await;
    again.wait_until(path, |answer| answer["error"].is_string()).await;
    assert_eq!(owned(&again), (0, 0), "rows, tags and inventory are gone");
    assert_eq!(
        rows_of(&again, "acme", "wf-2").len(),
        neighbours,
        "the next run is whole"
    );
    assert_eq!(
        rows_of(&again, "acme-2", "wf-2-2").len(),
        twin,
        "so is the other tenant's"
    );
    assert_eq!(sweep_all(&again).state, MigrationState::Verified);
    assert_eq!(owned(&again), (0, 0), "nothing comes back");
}

#[tokio::test]
async fn point_09_a_run_is_deleted_before_during_and_after_the_migration_and_a_running_one_is_not() {
    let world = World::old().await;
    history::begin(&world).await;
    let refused = world.ask("DELETE", "/tenants/acme/wf-runs/wf", None).await;
    assert_eq!(refused.0, 409, "{}", refused.1);
    let delete = async |world: &World, run: &str| {
        stopped(world, run).await;
        let (status, answer) = world
            .ask("DELETE", &format!("/tenants/acme/wf-runs/{run}"), None)
            .await;
        assert_eq!((status, &answer["done"]), (200, &json!(true)), "{answer}");
        assert_eq!(rows_of(world, "acme", run), Vec::<Item>::new(), "{run}");
        assert!(
            !rows_of(world, "acme-2", run).is_empty(),
            "{run} of the other tenant"
        );
    };
    delete(&world, "wf").await;
    let world = world.upgrade().await;
    delete(&world, "wf-2").await;
    sweep_page(&world);
    delete(&world, "w").await;
    assert_eq!(sweep_all(&world).state, MigrationState::Verified);
    delete(&world, "z").await;
}

#[tokio::test]
async fn point_13_one_range_of_the_grouped_layout_is_the_whole_run_with_its_inventory() {
    let store = Arc::new(MemoryStore::new());
    let clock = Arc::new(VirtualClock::starting_at(START));
    let embedded = Embedded::on(store.clone(), clock.clone(), unswept()).unwrap();
    let world = World::new_of(clock, embedded).await;
    history::begin(&world).await;
    // The run throws its events when it wakes.
    history::step(&world, "acme", "wf-2-2", 2).await;
    world.advance(3601);
    world.wait_for("acme", "wf-2-2", "COMPLETED").await;
    let values = [(":pk", "acme/wrg/wf-2-2")];
    let query = Query {
        table_name: TABLE.into(),
        key_condition_expression: Some("pk = :pk".into()),
        expression_attribute_values: Some(Item::from(values)),
        ..Query::default()
    };
    let found = world.embedded().run(query).unwrap().items.unwrap().to_vec();
    let kinds: Vec<String> = found
        .iter()
        .map(|row| text(row, "sk").split('/').take(2).collect::<Vec<_>>().join("/"))
        .collect();
    let expected = ["0/11", "0/12", "0/16", "0/3", "0/4", "0/5", "0/6", "9/3"].map(str::to_owned);
    assert_eq!(
        kinds.into_iter().collect::<BTreeSet<_>>(),
        expected.into(),
        "every type, and no other"
    );
    let owned = rows_of(&world, "acme", "wf-2-2")
        .into_iter()
        .filter(|row| !row.contains_key("tag"));
    assert_eq!(found.len(), owned.count(), "all of it");
    assert!(
        found
            .iter()
            .all(|row| text(row, "wfRunId") == "wf-2-2" && text(row, "tenant") == "acme")
    );
    // Contiguous: in storage, no other row is between the first and the last.
    let lie = places(&*store);
    let own = |(pk, _): &Place| pk == "acme/wrg/wf-2-2";
    let first = lie.iter().position(own).unwrap();
    assert!(lie[first..first + found.len()].iter().all(own), "{lie:?}");
    let db = Littlehorse::apply_to(&*world.stored).unwrap();
    let before = world.embedded().storage_reads();
    let whole = db.objects_of_run(ObjectsOfRunWhere {
        tenant: "acme",
        wf_run_id: "wf-2-2",
    });
    assert_eq!(whole.collect().wait().unwrap().len(), found.len());
    let reads = world
        .embedded()
        .storage_reads()
        .since(&before)
        .of(OperationName::Query);
    assert_eq!(reads.ranges, 1, "the application reads it in one range");
}

/// Every row that a tenant sees in any list or search is its own.
async fn check_rows(world: &World, moment: &str) {
    for tenant in TENANTS {
        let lists = RUNS
            .iter()
            .flat_map(|run| KINDS.map(|kind| format!("wf-runs/{run}/{kind}")));
        let searches = SEARCHES.map(|search| format!("search/{search}")).into_iter();
        let mut seen = 0;
        for path in lists.chain(searches).chain(["wf-specs".to_owned()]) {
            let shown = world.get(&format!("/tenants/{tenant}/{path}")).await;
            for row in shown["items"].as_array().unwrap() {
                assert_eq!(row["tenant"], tenant, "{moment}: {path}: {row}");
                seen += 1;
            }
        }
        assert!(seen > 80, "{moment}: {seen}");
    }
}

/// A run that only `acme` has is neither visible to, changed by nor served to `acme-2`, whose name has the
/// same beginning and which has the same workflows.
async fn check_run(world: &World, run: &str, moment: &str) {
    let key = format!("key-of-{run}");
    let theirs = "/tenants/acme-2";
    let begun = world.run("acme", "order", run, json!({ "orderId": key })).await;
    // Tasks of other runs are done, so that there is one that could be taken.
    while world.poll("acme-2", "greet").await.is_some() {}
    assert_eq!(
        world.ask("GET", &format!("{theirs}/wf-runs/{run}"), None).await.0,
        404,
        "{moment}"
    );
    let poll = json!({ "taskDefName": "greet", "workerId": "w" });
    let polled = world
        .ask("POST", &format!("{theirs}/tasks/poll"), Some(poll))
        .await;
    assert_eq!(polled.0, 204, "{moment}: {}", polled.1);
    history::step(world, "acme", run, 0).await;
    for path in ["node-runs/0/0", "variables/0/name", "task-runs/0-1", "inventory"] {
        let path = format!("{theirs}/wf-runs/{run}/{path}");
        assert_eq!(world.ask("GET", &path, None).await.0, 404, "{moment}: {path}");
    }
    for kind in KINDS {
        assert_eq!(
            world.list("acme-2", run, kind).await,
            [Value::Null; 0],
            "{moment}: {kind}"
        );
    }
    for command in [json!("stop"), json!({ "putEvent": { "eventName": "payment" } })] {
        let answer = world
            .ask("POST", &format!("{theirs}/wf-runs/{run}"), Some(command))
            .await;
        assert_eq!(answer.0, 404, "{moment}: {}", answer.1);
    }
    assert_eq!(
        world
            .ask("DELETE", &format!("{theirs}/wf-runs/{run}"), None)
            .await
            .0,
        404,
        "{moment}"
    );
    let event = json!({ "eventName": "payment", "guid": "g1", "correlationKey": key });
    let crossed = world
        .ask("POST", &format!("{theirs}/external-events"), Some(event.clone()))
        .await;
    assert_eq!(crossed.0, 404, "{moment}: {}", crossed.1);
    let now = world.get(&format!("/tenants/acme/wf-runs/{run}")).await;
    assert_eq!(
        (&now["status"], &now["position"]),
        (&json!("RUNNING"), &json!(2)),
        "{moment}: {begun}"
    );
    assert_eq!(
        world.post("/tenants/acme/external-events", event).await["wfRunId"],
        run,
        "{moment}"
    );
    // The other tenant's run with the same name is independent.
    world.run("acme-2", "order", run, json!({ "orderId": key })).await;
    world.command("acme-2", run, json!("stop")).await;
    let statuses = (world.status("acme", run).await, world.status("acme-2", run).await);
    assert_eq!(statuses, ("RUNNING".to_owned(), "HALTED".to_owned()), "{moment}");
    let deleted = world
        .ask("DELETE", &format!("{theirs}/wf-runs/{run}"), None)
        .await;
    assert_eq!((deleted.0, &deleted.1["done"]), (200, &json!(true)), "{moment}");
    assert_eq!(rows_of(world, "acme-2", run), Vec::<Item>::new(), "{moment}");
    assert_eq!(
        world.get(&format!("/tenants/acme/wf-runs/{run}")).await["position"],
        3,
        "{moment}"
    );
}

#[tokio::test]
async fn point_14_a_tenant_sees_changes_and_serves_nothing_of_another_whose_name_begins_alike() {
    let old = World::old().await;
    history::begin(&old).await;
    check_rows(&old, "legacy").await;
    check_run(&old, "legacy", "legacy").await;
    let moving = old.upgrade().await;
    check_rows(&moving, "both").await;
    check_run(&moving, "both", "both").await;
    assert_eq!(sweep_page(&moving).state, MigrationState::Sweeping);
    check_rows(&moving, "some moved").await;
    check_run(&moving, "some-moved", "some moved").await;
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    check_rows(&moving, "grouped").await;
    check_run(&moving, "grouped", "grouped").await;
}
