//! Keys: what the three layouts make of an identity, and back.

use std::collections::BTreeMap;

use trestle::api::{DeleteItem, PutItem, Scan};
use trestle::{Embedded, Item, Options, Wait as _};

use crate::history;
use crate::support::World;

mod shipped {
    trestle::model!("shipped.toml");
}

const TABLE: &str = "littlehorse-core";
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

fn rows(embedded: &Embedded) -> Vec<Item> {
    let scan = Scan { table_name: TABLE.into(), ..Scan::default() };
    embedded.run(scan).unwrap().items.unwrap().to_vec()
}

fn text(item: &Item, name: &str) -> String {
    item.get(name).and_then(|value| value.as_s()).unwrap_or_default().to_owned()
}

/// The key as upstream's store has it: one text.
fn key(item: &Item) -> String {
    format!("{}/{}", text(item, "pk"), text(item, "sk"))
}

/// What identifies a row, whatever its layout, and the type that its key tells.
fn identity(item: &Item) -> String {
    let named = IDENTITY.iter().filter_map(|name| Some(format!("{name}={:?}", item.get(name)?)));
    named.collect::<Vec<_>>().join(" ")
}

/// One row of each type, for a tenant and a run.
fn put_shipped(embedded: &Embedded, tenant: &str, run: &str, number: i64) {
    let db = shipped::LittlehorseShipped::apply_to(embedded).unwrap();
    macro_rules! put {
        ($new:ident $(, $field:ident: $value:expr)*) => {
            db.put(&shipped::$new { tenant: tenant.into(), wf_run_id: run.into() $(, $field: $value)* }).wait().unwrap()
        };
    }
    put!(NewWfRun);
    put!(NewNodeRun, thread_run_number: 0, position: number);
    put!(NewVariable, thread_run_number: 0, name: "input".into());
    put!(NewExternalEvent, event_name: "paid".into(), guid: format!("g{number}"));
    put!(NewTaskRun, task_guid: format!("0-{number}"));
    put!(NewUserTaskRun, user_task_guid: format!("0-{number}"));
    put!(NewWorkflowEvent, event_name: "done".into(), number: number);
    put!(NewInventory);
}

#[test]
fn point_01_the_keys_of_the_shipped_layout_and_their_legacy_form_are_upstreams() {
    let embedded = Embedded::in_memory(Options::default()).unwrap();
    put_shipped(&embedded, "default", "asdf", 1);
    let mut keys: Vec<String> = rows(&embedded).iter().map(key).collect();
    keys.sort();
    let golden = [
        "default/0/wrg/asdf/0/11/0-1",
        "default/0/wrg/asdf/0/12/0-1",
        "default/0/wrg/asdf/0/16/done/1",
        "default/0/wrg/asdf/0/3/",
        "default/0/wrg/asdf/0/4/0/1",
        "default/0/wrg/asdf/0/5/0/input",
        "default/0/wrg/asdf/0/6/paid/g1",
        "default/9/wrg/asdf/9/3/",
    ];
    assert_eq!(keys, golden);
    // What upstream makes of a shipped key to find the legacy one: the group is taken out.
    let legacy = keys.iter().map(|key| to_legacy(key).unwrap()).collect::<Vec<_>>();
    let golden = [
        "default/0/11/asdf/0-1",
        "default/0/12/asdf/0-1",
        "default/0/16/asdf/done/1",
        "default/0/3/asdf",
        "default/0/4/asdf/0/1",
        "default/0/5/asdf/0/input",
        "default/0/6/asdf/paid/g1",
        "default/9/3/asdf",
    ];
    assert_eq!(legacy, golden);
    assert_eq!(to_legacy("tenant1/5/wrg/wf-run-123/5/3/0/1").as_deref(), Some("tenant1/5/3/wf-run-123/0/1"));
    assert_eq!(to_legacy("tenant2/5/wrg/wf-run-456/5/1").as_deref(), Some("tenant2/5/1/wf-run-456"));
    assert_eq!(to_legacy("default/0/4/asdf/0/1"), None, "it is legacy already");
}

/// Upstream's rule, for its vectors.
fn to_legacy(key: &str) -> Option<String> {
    let parts: Vec<&str> = key.trim_end_matches('/').split('/').collect();
    match parts.as_slice() {
        [tenant, storeable, "wrg", run, _, getable, rest @ ..] => {
            let legacy = [&[*tenant, *storeable, *getable, *run], rest].concat();
            Some(legacy.join("/"))
        }
        _ => None,
    }
}

/// Two rows never share a key, and a key alone tells all that identifies its row.
fn check(embedded: &Embedded) -> BTreeMap<String, String> {
    let all = rows(embedded);
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
        let delete = DeleteItem { table_name: TABLE.into(), key: place, ..DeleteItem::default() };
        embedded.run(delete).unwrap();
        embedded.run(PutItem { table_name: TABLE.into(), item: without, ..PutItem::default() }).unwrap();
    }
    let again: BTreeMap<String, String> =
        rows(embedded).iter().map(|row| (key(row), identity(row))).collect();
    assert_eq!(again, by_key, "what was left out came back from the keys");
    by_key
}

#[tokio::test]
async fn point_01_keys_of_every_layout_are_injective_and_can_be_read_back() {
    let shipped = Embedded::in_memory(Options::default()).unwrap();
    for tenant in ["default", "default-0", "d"] {
        for run in ["wf", "wf-2", "w", "wrg", "0", "0-4"] {
            for number in [0, 1, 10, 11] {
                put_shipped(&shipped, tenant, run, number);
            }
        }
    }
    assert_eq!(check(&shipped).len(), 3 * 6 * (3 + 4 * 5));
    let (old, new) = (World::old().await, World::new().await);
    history::begin(&old).await;
    history::begin(&new).await;
    let (legacy, grouped) = (check(&old.embedded), check(&new.embedded));
    assert_eq!(legacy.len(), grouped.len());
    let identities = |keys: &BTreeMap<String, String>| {
        let mut identities: Vec<String> = keys.values().cloned().collect();
        identities.sort();
        identities
    };
    assert_eq!(identities(&legacy), identities(&grouped), "both name the same rows");
}
