//! The same history for two databases, and every question that can be asked of them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{World, canary, order};

/// Tenants and runs where one's name is the beginning of the other's.
pub(crate) const TENANTS: [&str; 2] = ["acme", "acme-2"];
pub(crate) const RUNS: [&str; 5] = ["wf", "wf-2", "wf-2-2", "w", "z"];
pub(crate) const KINDS: [&str; 6] = [
    "node-runs",
    "variables",
    "external-events",
    "task-runs",
    "user-task-runs",
    "workflow-events",
];
/// Runs of the canary, so that there are pages.
const CANARIES: usize = 4;
pub(crate) const SEARCHES: [&str; 12] = [
    "wf-runs?status=RUNNING",
    "wf-runs?status=HALTED",
    "wf-runs?status=COMPLETED",
    "wf-runs?wfSpecName=order",
    "wf-runs?status=COMPLETED&wfSpecName=canary",
    "node-runs?status=COMPLETED&type=TASK",
    "node-runs?status=RUNNING&type=SLEEP",
    "variables?name=orderId&value=o-wf",
    "external-events?eventName=payment&isClaimed=true",
    "task-runs?taskDefName=greet",
    "user-task-runs?status=DONE&userTaskDefName=approval",
    "workflow-events?eventName=done",
];

/// Runs in every state: at each kind of node, over, stopped.
pub(crate) async fn begin(world: &World) {
    for tenant in TENANTS {
        for spec in [canary(), order()] {
            world.post(&format!("/tenants/{tenant}/wf-specs"), spec).await;
        }
        for (at, run) in RUNS.into_iter().enumerate() {
            world.advance(1);
            let variables = json!({ "orderId": format!("o-{run}"), "name": run });
            world.run(tenant, "order", run, variables).await;
            for further in 0..at {
                step(world, tenant, run, further).await;
            }
        }
        for at in 0..CANARIES {
            world
                .run(tenant, "canary", &format!("canary-{at}"), json!({}))
                .await;
        }
    }
}

/// One more command for a run of `order`.
pub(crate) async fn step(world: &World, tenant: &str, run: &str, which: usize) {
    match which {
        0 => {
            let task = format!("/tenants/{tenant}/wf-runs/{run}/task-runs/0-1");
            // Other runs wait for workers, too: their tasks are done as well.
            while world.get(&task).await["status"] == "SCHEDULED" {
                world.work(tenant, "greet", &format!("hello, {run}")).await;
            }
        }
        1 => {
            let event = json!({ "eventName": "payment", "guid": "g1", "content": "1", "correlationKey": format!("o-{run}") });
            world
                .post(&format!("/tenants/{tenant}/external-events"), event)
                .await;
        }
        2 => {
            let done = json!({ "completeUserTask": { "guid": "0-3", "results": "yes" } });
            world.command(tenant, run, done).await;
        }
        3 => {
            world.command(tenant, run, json!("stop")).await;
        }
        other => {
            let event = json!({ "eventName": "note", "guid": format!("n{other}"), "content": "later" });
            world.command(tenant, run, json!({ "putEvent": event })).await;
        }
    }
}

/// Every answer by its query: rows, and where pages of this size end.
pub(crate) async fn answers(world: &World, page: usize) -> BTreeMap<String, Value> {
    let mut answers = BTreeMap::new();
    for tenant in TENANTS {
        let canaries = (0..CANARIES).map(|at| format!("canary-{at}"));
        for run in RUNS.into_iter().map(str::to_owned).chain(canaries) {
            let path = format!("/tenants/{tenant}/wf-runs/{run}");
            run_answers(world, &mut answers, &path, page).await;
        }
        for search in SEARCHES {
            let path = format!("/tenants/{tenant}/search/{search}");
            let found = pages(world, &path, page).await;
            answers.insert(path, found);
        }
    }
    answers
}

/// A run, its lists, and each of its rows separately.
pub(crate) async fn run_answers(
    world: &World,
    answers: &mut BTreeMap<String, Value>,
    path: &str,
    page: usize,
) {
    let ids = |kind: &str, row: &Value| {
        let name = |name: &str| row[name].to_string().replace('"', "");
        match kind {
            "node-runs" => format!("{}/{}", name("threadRunNumber"), name("position")),
            "variables" => format!("{}/{}", name("threadRunNumber"), name("name")),
            "external-events" => format!("{}/{}", name("eventName"), name("guid")),
            "task-runs" => name("taskGuid"),
            "user-task-runs" => name("userTaskGuid"),
            _ => format!("{}/{}", name("eventName"), name("number")),
        }
    };
    for single in [path.to_owned(), format!("{path}/inventory")] {
        let (status, answer) = world.ask("GET", &single, None).await;
        answers.insert(single, json!([status, answer]));
    }
    for kind in KINDS {
        let list = format!("{path}/{kind}");
        let listed = pages(world, &list, page).await;
        for row in listed
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|page| page.as_array().unwrap())
        {
            let one = format!("{list}/{}", ids(kind, row));
            let answer = world.get(&one).await;
            assert_eq!(&answer, row, "{one}: what is listed is what is got");
            answers.insert(one, answer);
        }
        answers.insert(list, listed);
    }
}

/// All pages of a list.
pub(crate) async fn pages(world: &World, path: &str, page: usize) -> Value {
    let (mut pages, mut bookmark) = (Vec::new(), None);
    loop {
        let (items, next) = one_page(world, path, page, bookmark.as_deref()).await;
        pages.push(json!(items));
        match next {
            Some(next) => bookmark = Some(next),
            None => return json!(pages),
        }
    }
}

/// One page of a list, and where the next one begins.
pub(crate) async fn one_page(
    world: &World,
    path: &str,
    limit: usize,
    bookmark: Option<&str>,
) -> (Vec<Value>, Option<String>) {
    let sign = if path.contains('?') { '&' } else { '?' };
    let after = bookmark
        .map(|bookmark| format!("&bookmark={bookmark}"))
        .unwrap_or_default();
    let listed = world.get(&format!("{path}{sign}limit={limit}{after}")).await;
    let next = listed["bookmark"].as_str().map(str::to_owned);
    (listed["items"].as_array().unwrap().clone(), next)
}

/// Returns the queries whose answers differ from the second database's.
pub(crate) fn assert_same(twin: &BTreeMap<String, Value>, now: &BTreeMap<String, Value>, moment: &str) {
    for question in twin.keys().chain(now.keys()) {
        assert_eq!(now.get(question), twin.get(question), "{moment}: {question}");
    }
}

/// Lists that are worth a bookmark in the middle: those of these runs, and searches.
pub(crate) fn lists(runs: &[&str]) -> Vec<String> {
    let mut lists = Vec::new();
    for tenant in TENANTS {
        for run in runs {
            let kinds = ["node-runs", "variables", "external-events"];
            lists.extend(kinds.map(|kind| format!("/tenants/{tenant}/wf-runs/{run}/{kind}")));
        }
        let searches = [SEARCHES[3], SEARCHES[5], SEARCHES[9]];
        lists.extend(searches.map(|search| format!("/tenants/{tenant}/search/{search}")));
    }
    lists
}
