//! Keys: the mapping between an identity and its key in the three layouts.

use std::collections::BTreeMap;

use serde_json::json;
use trestle::api::{DeleteItem, PutItem};
use trestle::migrate::MigrationState;
use trestle::{AnyDatabase, DatabaseExt as _, Embedded, Item, Options, Wait as _};

use crate::history;
use crate::layouts::{TABLE, rows, waiting};
use crate::migrating::sweep_all;
use crate::support::World;

mod shipped {
    trestle::model!("shipped.toml");
}

const IDENTITY: [&str; 12] = [
    "tenant",
    "wfRunId",
    "threadRunNumber",
    "position",
    "name",
    "eventName",
    "guid",
    "taskGuid",
    "userTaskGuid",
    "number",
    "version",
    "tag",
];

fn text(item: &Item, name: &str) -> String {
    item.get(name)
        .and_then(|value| value.as_s())
        .unwrap_or_default()
        .to_owned()
}

/// The key in upstream's store: one text.
fn key(item: &Item) -> String {
    format!("{}/{}", text(item, "pk"), text(item, "sk"))
}

/// The numbers of storeable and getable in a row's key: its type.
fn kind(item: &Item) -> String {
    let (sk, group) = (text(item, "sk"), format!("wrg/{}/", text(item, "wfRunId")));
    let behind = sk.split_once(&group).map_or(sk.as_str(), |(_, behind)| behind);
    behind.split('/').take(2).collect::<Vec<_>>().join("/")
}

/// The identity of a row, whatever its layout: the type in its key, and attributes. A task also has the
/// position of its node, which is not part of its key.
fn identity(item: &Item) -> String {
    let is_node = item.contains_key("threadRunNumber");
    let names = IDENTITY.iter().filter(|name| **name != "position" || is_node);
    let named = names.filter_map(|name| Some(format!(" {name}={:?}", item.get(name)?)));
    kind(item) + &named.collect::<String>()
}

fn keys(stored: &AnyDatabase) -> BTreeMap<String, String> {
    let rows = rows(stored);
    let objects = rows
        .iter()
        .filter(|row| row.contains_key("wfRunId") && !row.contains_key("tag"));
    objects.map(|row| (identity(row), key(row))).collect()
}

/// Rows of each type, for a tenant and a run, in upstream's layout.
fn put_shipped(stored: &AnyDatabase, tenant: &str, run: &str, positions: &[i64]) {
    let db = shipped::LittlehorseShipped::apply_to(stored).unwrap();
    macro_rules! put {
        ($new:ident $(, $field:ident: $value:expr)*) => {
            db.put(&shipped::$new { tenant: tenant.into(), wf_run_id: run.into() $(, $field: $value)* }).wait().unwrap()
        };
    }
    put!(NewWfRun);
    put!(NewVariable, thread_run_number: 0, name: "input".into());
    put!(NewInventory);
    for number in positions {
        put!(NewNodeRun, thread_run_number: 0, position: *number);
        put!(NewExternalEvent, event_name: "paid".into(), guid: format!("g{number}"));
        put!(NewTaskRun, task_guid: format!("0-{number}"));
        put!(NewUserTaskRun, user_task_guid: format!("0-{number}"));
        put!(NewWorkflowEvent, event_name: "done".into(), number: *number);
    }
}

/// The rows of one run: their keys in the legacy layout, in the one that upstream shipped, and in the grouped one.
#[rustfmt::skip]
const GOLDEN: [[&str; 3]; 13] = [
    ["default/0/11/asdf/0-1", "default/0/wrg/asdf/0/11/0-1", "default/wrg/asdf/0/11/0-1"],
    ["default/0/12/asdf/0-3", "default/0/wrg/asdf/0/12/0-3", "default/wrg/asdf/0/12/0-3"],
    ["default/0/16/asdf/done/0", "default/0/wrg/asdf/0/16/done/0", "default/wrg/asdf/0/16/done/0"],
    ["default/0/3/asdf", "default/0/wrg/asdf/0/3/", "default/wrg/asdf/0/3"],
    ["default/0/4/asdf/0/0", "default/0/wrg/asdf/0/4/0/0", "default/wrg/asdf/0/4/0/0"],
    ["default/0/4/asdf/0/1", "default/0/wrg/asdf/0/4/0/1", "default/wrg/asdf/0/4/0/1"],
    ["default/0/4/asdf/0/2", "default/0/wrg/asdf/0/4/0/2", "default/wrg/asdf/0/4/0/2"],
    ["default/0/4/asdf/0/3", "default/0/wrg/asdf/0/4/0/3", "default/wrg/asdf/0/4/0/3"],
    ["default/0/4/asdf/0/4", "default/0/wrg/asdf/0/4/0/4", "default/wrg/asdf/0/4/0/4"],
    ["default/0/4/asdf/0/5", "default/0/wrg/asdf/0/4/0/5", "default/wrg/asdf/0/4/0/5"],
    ["default/0/5/asdf/0/input", "default/0/wrg/asdf/0/5/0/input", "default/wrg/asdf/0/5/0/input"],
    ["default/0/6/asdf/paid/g1", "default/0/wrg/asdf/0/6/paid/g1", "default/wrg/asdf/0/6/paid/g1"],
    ["default/9/3/asdf", "default/9/wrg/asdf/9/3/", "default/wrg/asdf/9/3"],
];
const LEGACY: usize = 0;
const SHIPPED: usize = 1;
const GROUPED: usize = 2;

/// A run of the previous version with rows of every type.
async fn run_of_every_type() -> World {
    let old = World::old().await;
    let nodes = json!([
        { "name": "work", "run": { "task": { "taskDefName": "greet" } } },
        { "name": "paid", "run": { "externalEvent": { "event": "paid" } } },
        { "name": "sign", "run": { "userTask": { "form": "form" } } },
        { "name": "tell", "run": { "throwEvent": { "event": "done", "content": "input" } } },
    ]);
    let spec = json!({ "name": "golden", "variables": { "input": "x" }, "nodes": nodes });
    old.post("/tenants/default/wf-specs", spec).await;
    old.run("default", "golden", "asdf", json!({})).await;
    old.work("default", "greet", "done").await;
    old.command(
        "default",
        "asdf",
        json!({ "putEvent": { "eventName": "paid", "guid": "g1" } }),
    )
    .await;
    old.command(
        "default",
        "asdf",
        json!({ "completeUserTask": { "guid": "0-3" } }),
    )
    .await;
    assert_eq!(old.status("default", "asdf").await, "COMPLETED");
    old
}

/// The rows of the golden list have their keys, and there are no others.
fn assert_golden(stored: &AnyDatabase, layout: usize, names: &BTreeMap<String, [&str; 3]>) {
    let expected: BTreeMap<String, String> = names
        .iter()
        .map(|(name, keys)| (name.clone(), keys[layout].to_owned()))
        .collect();
    assert_eq!(keys(stored), expected);
}

#[tokio::test]
async fn point_01_the_same_rows_have_upstreams_keys_in_each_layout_and_move_between_them() {
    let old = run_of_every_type().await;
    let found = keys(&old.stored);
    let mut legacy: Vec<&str> = found.values().map(String::as_str).collect();
    legacy.sort_unstable();
    assert_eq!(legacy, GOLDEN.map(|keys| keys[LEGACY]));
    // The identity of each row of the list, by its legacy key: in the other layouts it must be the same row.
    let of = |key: &String| *GOLDEN.iter().find(|keys| keys[LEGACY] == key).unwrap();
    let names = found.iter().map(|(name, key)| (name.clone(), of(key))).collect();
    let shipped = AnyDatabase::from(Embedded::in_memory(Options::default()).unwrap());
    put_shipped(&shipped, "default", "asdf", &[0, 1, 2, 3, 4, 5]);
    let mut shipped = keys(&shipped);
    shipped.retain(|name, _| found.contains_key(name));
    let expected: BTreeMap<String, String> = found
        .iter()
        .map(|(name, key)| (name.clone(), of(key)[SHIPPED].to_owned()))
        .collect();
    assert_eq!(shipped, expected);
    let moving = old.upgrade().await;
    assert_eq!(sweep_all(&moving).state, MigrationState::Verified);
    assert_golden(&moving.stored, GROUPED, &names);
    moving.roll_back();
    let old = moving.downgrade().await;
    assert_eq!(sweep_all(&old).state, MigrationState::RolledBack);
    assert_golden(&old.stored, LEGACY, &names);
}

/// Two rows never share a key, and a key alone tells all that identifies its row.
fn check(stored: &AnyDatabase) -> BTreeMap<String, String> {
    let all = rows(stored);
    let mut by_key = BTreeMap::new();
    for row in &all {
        let before = by_key.insert(key(row), identity(row));
        assert_eq!(before, None, "{}", key(row));
    }
    for row in all.iter().filter(|row| !row.contains_key("tag")) {
        let mut without = row.clone();
        let is_node = row.contains_key("threadRunNumber");
        without.retain(|name, _| !IDENTITY.contains(&name) || name == "position" && !is_node);
        let place = Item::from([("pk", text(row, "pk")), ("sk", text(row, "sk"))]);
        let delete = DeleteItem {
            table_name: TABLE.into(),
            key: place,
            ..DeleteItem::default()
        };
        let put = PutItem {
            table_name: TABLE.into(),
            item: without,
            ..PutItem::default()
        };
        waiting(|| stored.delete_item(delete).wait()).unwrap();
        waiting(|| stored.put_item(put).wait()).unwrap();
    }
    let again: BTreeMap<String, String> = rows(stored).iter().map(|row| (key(row), identity(row))).collect();
    assert_eq!(again, by_key, "what was left out came back from the keys");
    by_key
}

#[tokio::test]
async fn point_01_keys_of_every_layout_are_injective_and_can_be_read_back() {
    let shipped = AnyDatabase::from(Embedded::in_memory(Options::default()).unwrap());
    for tenant in ["default", "default-0", "d"] {
        for run in ["wf", "wf-2", "w", "wrg", "0", "0-4"] {
            put_shipped(&shipped, tenant, run, &[0, 1, 10, 11]);
        }
    }
    assert_eq!(check(&shipped).len(), 3 * 6 * (3 + 4 * 5));
    let (old, new) = (World::old().await, World::new().await);
    history::begin(&old).await;
    history::begin(&new).await;
    let (legacy, grouped) = (check(&old.stored), check(&new.stored));
    assert_eq!(legacy.len(), grouped.len());
    let identities = |keys: &BTreeMap<String, String>| {
        let mut identities: Vec<String> = keys.values().cloned().collect();
        identities.sort();
        identities
    };
    assert_eq!(
        identities(&legacy),
        identities(&grouped),
        "both name the same rows"
    );
}
