//! The process ends after any of its commits: each row exists once, and the rows of a run agree with each
//! other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use littlehorse::DELETES_MAX;
use serde_json::{Value, json};
use trestle::migrate::MigrationState;
use trestle::{Clock as _, Embedded, MemoryStore, Store, VirtualClock};

use crate::history::{self, assert_same, run_answers};
use crate::kept::{Kept, is_grouped, name, places};
use crate::migrating::sweep_all;
use crate::support::{START, World, order, unswept};

const T: &str = "acme";
const RUNS: [&str; 2] = ["wf", "wf-2"];
const STEPS: usize = 7;

type Answers = BTreeMap<String, Value>;

/// Two runs at their first node, without anything that works in the background, on the legacy layout.
async fn begun(store: Arc<dyn Store>) -> World {
    let world = World::old_on(store).await;
    world.post(&format!("/tenants/{T}/wf-specs"), order()).await;
    for run in RUNS {
        world
            .run(
                T,
                "order",
                run,
                json!({ "orderId": format!("o-{run}"), "name": run }),
            )
            .await;
    }
    world
}

/// One step of a run, which writes rows of several types, or just one.
async fn step(world: &World, which: usize) {
    match which {
        0 => drop(world.next_task(T, "greet").await),
        1 => {
            let done = json!({ "guid": "0-1", "attempt": 0, "output": "hello" });
            world.command(T, RUNS[0], json!({ "reportTask": done })).await;
        }
        2 | 3 => history::step(world, T, RUNS[0], which - 1).await,
        _ => history::step(world, T, RUNS[which % 2], which - 1).await,
    }
}

async fn answers(world: &World) -> Answers {
    let mut answers = Answers::new();
    for run in RUNS {
        run_answers(world, &mut answers, &format!("/tenants/{T}/wf-runs/{run}"), 2).await;
    }
    answers
}

/// The names of all rows, each once.
fn names(store: &dyn Store, moment: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for place in places(store) {
        assert!(
            names.insert(name(&place)),
            "{moment}: {place:?} lies in two places"
        );
    }
    names
}

/// The present version in the process after the one that was killed.
fn restarted(left: &Arc<MemoryStore>, clock: &VirtualClock) -> (Arc<VirtualClock>, Embedded) {
    let clock = Arc::new(VirtualClock::starting_at(clock.now()));
    let embedded = Embedded::on(Arc::clone(left) as Arc<dyn Store>, clock.clone(), unswept());
    (clock, embedded.unwrap())
}

#[tokio::test]
async fn point_04_a_process_that_is_killed_behind_any_commit_leaves_each_row_once_and_each_step_whole() {
    let (twins_store, store) = (Arc::new(MemoryStore::new()), Arc::new(Kept::default()));
    let (twin, old) = (begun(twins_store.clone()).await, begun(store.clone()).await);
    // Timers stand still: what is committed is what the steps commit.
    let (clock, embedded) = old.upgrade().await.stop().await;
    let moving = World::still(clock.clone(), embedded);
    store.begin();
    let mut expected = vec![(answers(&twin).await, names(&*twins_store, "twin"))];
    // How many commits there were after each step.
    let mut commits = vec![store.left().len()];
    for which in 0..STEPS {
        step(&twin, which).await;
        step(&moving, which).await;
        expected.push((answers(&twin).await, names(&*twins_store, "twin")));
        commits.push(store.left().len());
    }
    let left = store.left();
    let mut moved = BTreeSet::new();
    for (at, left) in left.iter().enumerate() {
        let done = commits.iter().filter(|commits| at + 1 >= **commits).count() - 1;
        let moment = format!("killed behind commit {at}, {done} steps were done");
        let found = names(&**left, &moment);
        moved.insert(places(&**left).iter().filter(|place| is_grouped(place)).count());
        let (clock, embedded) = restarted(left, &clock);
        let again = World::still(clock, embedded);
        let answered = answers(&again).await;
        // Either the next step has happened, to all of its rows and tags, or not at all.
        let is_next = |next: &&(Answers, BTreeSet<String>)| next.1 == found && next.0 == answered;
        let next = expected.get(done + 1).filter(is_next);
        let (expected, names) = next.unwrap_or(&expected[done]);
        assert_eq!(&found, names, "{moment}");
        assert_same(expected, &answered, &moment);
        assert_eq!(sweep_all(&again).state, MigrationState::Verified, "{moment}");
        assert_same(expected, &answers(&again).await, &moment);
        assert_eq!(&self::names(&**left, &moment), names, "{moment}: swept");
    }
    assert!(
        left.len() > STEPS && moved.len() >= STEPS,
        "{} commits, {moved:?} rows moved",
        left.len()
    );
}

/// The rows of a run agree with each other, and with the run.
pub(crate) async fn check(world: &World, run: &str, moment: &str) {
    let path = format!("/tenants/{T}/wf-runs/{run}");
    let own = world.get(&path).await;
    let position = own["position"].as_u64().unwrap();
    let nodes = by(&world.list(T, run, "node-runs").await, "position");
    assert_eq!(nodes.len() as u64, position + 1, "{moment}: {nodes:?}");
    let tasks = by(&world.list(T, run, "task-runs").await, "position");
    let people = by(&world.list(T, run, "user-task-runs").await, "position");
    let events = by(&world.list(T, run, "external-events").await, "claimedBy");
    for (at, node) in &nodes {
        let is_done = node["status"] == "COMPLETED";
        assert!(is_done || *at == position.to_string(), "{moment}: {node}");
        let of = match node["type"].as_str().unwrap() {
            "TASK" => tasks.get(at).map(|task| task["status"] == "SUCCESS"),
            "USER_TASK" => people.get(at).map(|task| task["status"] == "DONE"),
            "EXTERNAL_EVENT" => Some(events.contains_key(at)),
            _ => Some(is_done),
        };
        assert_eq!(of, Some(is_done), "{moment}: what {node} is about");
    }
    let variables = by(&world.list(T, run, "variables").await, "name");
    for (variable, at) in [("greeting", "1"), ("payment", "2")] {
        let is_done = nodes.get(at).is_some_and(|node| node["status"] == "COMPLETED");
        assert_eq!(
            variables[variable]["value"].is_string(),
            is_done,
            "{moment}: {variable}"
        );
    }
    let thrown = world.list(T, run, "workflow-events").await;
    assert_eq!(own["thrown"], thrown.len(), "{moment}");
    let inventory = world.ask("GET", &format!("{path}/inventory"), None).await.1;
    let listed = |kind: &str| inventory[kind].as_array().map_or(0, Vec::len);
    let events = world.list(T, run, "external-events").await.len();
    assert_eq!(
        (listed("externalEvents"), listed("workflowEvents")),
        (events, thrown.len()),
        "{moment}"
    );
}

/// Rows by the text of an attribute.
fn by(rows: &[Value], name: &str) -> BTreeMap<String, Value> {
    let named = rows.iter().filter(|row| row.get(name).is_some());
    named
        .map(|row| (row[name].to_string().replace('"', ""), row.clone()))
        .collect()
}

/// Does what the run waits for, until it ends.
async fn bring_to_its_end(world: &World, run: &str, moment: &str) {
    let path = format!("/tenants/{T}/wf-runs/{run}");
    // A sleep takes an hour; a timer whose worker was killed is received again later.
    let mut later = [3601].into_iter().chain(std::iter::repeat(10));
    for _ in 0..200 {
        let own = world.get(&path).await;
        match own["status"].as_str().unwrap() {
            "COMPLETED" => return,
            "HALTED" => drop(world.command(T, run, json!("resume")).await),
            _ => {}
        }
        let node = world
            .get(&format!("{path}/node-runs/0/{}", own["position"]))
            .await;
        match node["type"].as_str().unwrap() {
            "TASK" => match world.poll(T, "greet").await {
                Some(task) => {
                    let done =
                        json!({ "guid": task["taskGuid"], "attempt": task["attempt"], "output": "hello" });
                    world.command(T, run, json!({ "reportTask": done })).await;
                }
                // Its worker ended with the process: its time has to pass.
                None => world.advance(31),
            },
            "EXTERNAL_EVENT" => history::step(world, T, run, 1).await,
            "USER_TASK" => history::step(world, T, run, 2).await,
            _ => world.advance(later.next().unwrap()),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{moment}: the run never ends");
}

#[tokio::test]
async fn what_a_step_does_to_its_rows_and_what_it_leaves_for_later_is_one_commit() {
    let store = Arc::new(Kept::default());
    let clock = Arc::new(VirtualClock::starting_at(START));
    let embedded = Embedded::on(store.clone(), clock.clone(), unswept()).unwrap();
    let world = World::new_of(clock.clone(), embedded).await;
    world.post(&format!("/tenants/{T}/wf-specs"), order()).await;
    store.begin();
    world
        .run(T, "order", "wf", json!({ "orderId": "o-wf", "name": "Ada" }))
        .await;
    for which in [0, 10, 1, 2, 3] {
        history::step(&world, T, "wf", which).await;
    }
    bring_to_its_end(&world, "wf", "the process that is not killed").await;
    world.stop().await;
    let left = store.left();
    assert!(left.len() > 10, "{}", left.len());
    // After the first of them the run begins.
    let mut seen = BTreeSet::new();
    for (at, left) in left.iter().enumerate() {
        let moment = format!("killed behind commit {at}");
        let (clock, embedded) = restarted(left, &clock);
        let again = World::new_of(clock, embedded).await;
        let (status, run) = again.ask("GET", "/tenants/acme/wf-runs/wf", None).await;
        if status == 404 {
            assert_eq!(at, 0, "{moment}: {run}");
            continue;
        }
        seen.insert((run["status"].to_string(), run["position"].to_string()));
        check(&again, "wf", &moment).await;
        bring_to_its_end(&again, "wf", &moment).await;
        check(&again, "wf", &moment).await;
        again.stop().await;
    }
    assert!(seen.len() > 5, "{seen:?}");
}

/// Rows of a run besides its tags, wherever they are.
fn rows_of(store: &dyn Store, run: &str, moment: &str) -> usize {
    let names = names(store, moment);
    let is_own = |name: &&String| name.split(['/', ' ']).nth(3) == Some(run) && !name.contains("__");
    names.iter().filter(is_own).count()
}

#[tokio::test]
async fn point_09_a_delete_whose_process_is_killed_behind_any_commit_goes_on_in_the_next() {
    let store = Arc::new(Kept::default());
    let old = begun(store.clone()).await;
    for at in 10..60 {
        history::step(&old, T, RUNS[0], at).await;
    }
    // Some of its rows move before it is deleted, and some do not.
    let moving = old.upgrade().await;
    for at in 60..80 {
        history::step(&moving, T, RUNS[0], at).await;
    }
    moving.command(T, RUNS[0], json!("stop")).await;
    let path = format!("/tenants/{T}/wf-runs/{}", RUNS[0]);
    let before = rows_of(&*store, RUNS[0], "before");
    let neighbours = rows_of(&*store, RUNS[1], "before");
    assert!(
        before > DELETES_MAX as usize + 20 && neighbours > 5,
        "{before}, {neighbours}"
    );
    store.begin();
    let (status, first) = moving.ask("DELETE", &path, None).await;
    assert_eq!((status, &first["done"]), (200, &json!(false)), "{first}");
    moving
        .wait_until(&path, |answer| answer["error"].is_string())
        .await;
    let (clock, _) = moving.stop().await;
    let (mut rows, mut cut_off) = (before, 0);
    for (at, left) in store.left().iter().enumerate() {
        let moment = format!("killed behind commit {at}");
        let now = rows_of(&**left, RUNS[0], &moment);
        assert!(
            rows - now <= DELETES_MAX as usize + 1,
            "{moment}: {now} of {rows} rows are left"
        );
        rows = now;
        let (clock, embedded) = restarted(left, &clock);
        let again = World::new_of(clock, embedded).await;
        let (status, run) = again.ask("GET", &path, None).await;
        match (status, &run["deleting"]) {
            (200, Value::Bool(true)) => {
                cut_off += 1;
                let stopped = again.ask("POST", &path, Some(json!("resume"))).await;
                assert_eq!(stopped.0, 404, "{moment}: nothing else happens to it");
                until_gone(&again, &path, &moment).await;
            }
            (200, _) => assert_eq!(now, before, "{moment}: the delete has not begun"),
            _ => assert_eq!(now, 0, "{moment}: the run goes last"),
        }
        again.stop().await;
        let is_own = |name: &String| name.contains(&format!("/{}/", RUNS[0])) || name.ends_with("/wf");
        if status != 200 || run["deleting"] == true {
            let names = names(&**left, &moment);
            assert!(
                !names.iter().any(is_own),
                "{moment}: rows and tags are gone: {names:?}"
            );
        }
        assert_eq!(
            rows_of(&**left, RUNS[1], &moment),
            neighbours,
            "{moment}: the next run is whole"
        );
    }
    assert!(cut_off > 0, "no delete was cut off");
}

/// Waits until an interrupted delete has ended; it may be resumed only after a while.
async fn until_gone(world: &World, path: &str, moment: &str) {
    for _ in 0..200 {
        if world.ask("GET", path, None).await.0 == 404 {
            return;
        }
        world.advance(10);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("{moment}: the delete does not go on");
}
