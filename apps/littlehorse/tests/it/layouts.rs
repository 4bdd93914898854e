//! What the two layouts must not mix up, what lies together, and what a delete leaves.

use serde_json::{Value, json};
use trestle::api::{GetItem, OperationName, Query, Scan};
use trestle::migrate::MigrationState;
use trestle::{Item, Wait as _};

use littlehorse::DELETES_MAX;
use littlehorse::model::{Littlehorse, ObjectsOfRunWhere};

use crate::history::{self, RUNS, TENANTS};
use crate::migrating::{sweep_all, sweep_page};
use crate::support::World;

const TABLE: &str = "littlehorse-core";

/// The row under a key, as it is stored.
pub(crate) fn raw(world: &World, (pk, sk): (&str, &str)) -> Option<Item> {
    let key = Item::from([("pk", pk), ("sk", sk)]);
    let found = world.embedded.run(GetItem { table_name: TABLE.into(), key, ..GetItem::default() });
    found.unwrap().item
}

/// Every row of the table.
fn rows(world: &World) -> Vec<Item> {
    let scan = Scan { table_name: TABLE.into(), ..Scan::default() };
    world.embedded.run(scan).unwrap().items.unwrap().to_vec()
}

fn text<'i>(item: &'i Item, name: &str) -> &'i str {
    item.get(name).and_then(|value| value.as_s()).unwrap_or_default()
}

/// Rows of runs under keys of the legacy layout.
pub(crate) fn legacy_rows(world: &World) -> usize {
    let is_legacy = |row: &&Item| !text(row, "pk").contains('/') && !text(row, "sk").starts_with("0/2/");
    rows(world).iter().filter(is_legacy).count()
}

/// Rows that say of this run in any way, index rows included.
fn rows_of(world: &World, tenant: &str, run: &str) -> Vec<Item> {
    let of_run = |row: &Item| text(row, "tenant") == tenant && text(row, "wfRunId") == run;
    rows(world).into_iter().filter(of_run).collect()
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
            for kind in ["node-runs", "variables", "external-events", "task-runs", "user-task-runs"] {
                let listed = world.list("acme", run, kind).await;
                assert!(
                    listed.iter().all(|row| row["wfRunId"] == run),
                    "{moment}: {kind} of {run}: {listed:?}"
                );
                assert!(!listed.is_empty() || !["node-runs", "variables"].contains(&kind), "{moment}: {run}");
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

/// Notes that a run gets, so that a delete takes several steps.
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
    let (neighbours, twin) =
        (rows_of(&moving, "acme", "wf-2").len(), rows_of(&moving, "acme-2", "wf-2-2").len());
    assert!(neighbours > 10 && twin > 10);
    // Timers stand still: what a step does can be looked at.
    let (clock, embedded) = moving.stop().await;
    let still = World::still(clock.clone(), embedded.clone());
    let owned = |world: &World| {
        let rows = rows_of(world, "acme", "wf-2-2");
        let (tags, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.contains_key("tag"));
        (rows.len(), tags.len())
    };
    let (count, tags) = owned(&still);
    assert!(count > DELETES_MAX as usize && tags > count, "{count} rows, {tags} tags");
    let path = "/tenants/acme/wf-runs/wf-2-2";
    let (_, first) = still.ask("DELETE", path, None).await;
    assert_eq!(first["done"], false);
    // The run itself was read and stays.
    let deleted = first["deleted"].as_u64().unwrap() as usize;
    assert_eq!(deleted, DELETES_MAX as usize - 1);
    assert_eq!(owned(&still).0, count - deleted, "a bounded number");
    assert_eq!(still.ask("POST", path, Some(json!("resume"))).await.0, 404, "nothing happens to it any more");
    assert_eq!(still.get(path).await["deleting"], true);
    // The next process goes on with it.
    let again = World::new_of(clock, embedded).await;
    again.wait_until(path, |answer| answer["error"].is_string()).await;
    assert_eq!(owned(&again), (0, 0), "rows, tags and inventory are gone");
    assert_eq!(rows_of(&again, "acme", "wf-2").len(), neighbours, "the next run is whole");
    assert_eq!(rows_of(&again, "acme-2", "wf-2-2").len(), twin, "so is the other tenant's");
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
        let (status, answer) = world.ask("DELETE", &format!("/tenants/acme/wf-runs/{run}"), None).await;
        assert_eq!((status, &answer["done"]), (200, &json!(true)), "{answer}");
        assert_eq!(rows_of(world, "acme", run), Vec::<Item>::new(), "{run}");
        assert!(!rows_of(world, "acme-2", run).is_empty(), "{run} of the other tenant");
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
    let world = World::new().await;
    history::begin(&world).await;
    let values = [(":pk", "acme/wrg/wf-2-2")];
    let query = Query {
        table_name: TABLE.into(),
        key_condition_expression: Some("pk = :pk".into()),
        expression_attribute_values: Some(Item::from(values)),
        ..Query::default()
    };
    let found = world.embedded.run(query).unwrap().items.unwrap().to_vec();
    let kinds: Vec<String> =
        found.iter().map(|row| text(row, "sk").split('/').take(2).collect::<Vec<_>>().join("/")).collect();
    for kind in ["0/3", "0/4", "0/5", "0/6", "0/11", "0/12", "9/3"] {
        assert!(kinds.iter().any(|found| found == kind), "{kind} of {kinds:?}");
    }
    let owned = rows_of(&world, "acme", "wf-2-2").into_iter().filter(|row| !row.contains_key("tag"));
    assert_eq!(found.len(), owned.count(), "all of it");
    let db = Littlehorse::apply_to(&world.embedded).unwrap();
    let before = world.embedded.storage_reads();
    let whole = db.objects_of_run(ObjectsOfRunWhere { tenant: "acme", wf_run_id: "wf-2-2" });
    assert_eq!(whole.collect().wait().unwrap().len(), found.len());
    let reads = world.embedded.storage_reads().since(&before).of(OperationName::Query);
    assert_eq!(reads.ranges, 1, "the application reads it in one range");
}

#[tokio::test]
async fn point_14_a_tenant_sees_nothing_of_another() {
    let old = World::old().await;
    history::begin(&old).await;
    let check = async |world: &World| {
        world.ask("POST", "/tenants/acme/wf-runs/z", Some(json!("stop"))).await;
        for path in ["wf-runs/wf", "wf-runs/wf/node-runs/0/0", "wf-runs/wf/inventory"] {
            assert_eq!(world.ask("GET", &format!("/tenants/other/{path}"), None).await.0, 404, "{path}");
        }
        let none: [Value; 0] = [];
        for path in ["wf-runs/wf/node-runs", "search/wf-runs?status=RUNNING", "wf-specs"] {
            assert_eq!(world.get(&format!("/tenants/other/{path}")).await["items"], json!(none), "{path}");
        }
        for (path, body) in [
            ("wf-runs/wf", json!("stop")),
            ("tasks/poll", json!({ "taskDefName": "greet", "workerId": "w" })),
        ] {
            assert_eq!(
                world.ask("POST", &format!("/tenants/other/{path}"), Some(body)).await.0,
                404,
                "{path}"
            );
        }
        assert_eq!(world.ask("DELETE", "/tenants/other/wf-runs/wf", None).await.0, 404);
        let listed = world.list("acme-2", "z", "node-runs").await;
        assert!(!listed.is_empty() && listed.iter().all(|row| row["tenant"] == "acme-2"));
    };
    check(&old).await;
    let moving = old.upgrade().await;
    check(&moving).await;
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    check(&moving).await;
}
