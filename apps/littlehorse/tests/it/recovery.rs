//! Recovery after a failure: late timers, repeated reports, repeated events.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::routing::post;
use serde_json::{Value, json};
use trestle::queue::NewMessage;

use littlehorse::model::{Inventory, Littlehorse, NewInventory, WfRunKey};

use crate::kept::{Failing, Kept};
use crate::support::{World, canary, order};

const T: &str = "acme";

fn nap() -> Value {
    let nap = json!({ "name": "nap", "run": { "sleep": 3600 } });
    let throw =
        json!({ "name": "tell", "run": { "throwEvent": { "event": "all-is-done", "content": "v" } } });
    json!({ "name": "nap", "variables": { "v": null }, "nodes": [nap, throw] })
}

/// A poll commits that the attempt began, and then that its message is gone.
#[tokio::test]
async fn a_task_is_handed_out_also_if_its_message_cannot_be_deleted() {
    for (failing, status) in [(Failing::Step, 503), (Failing::Removal, 200)] {
        let store = Arc::new(Kept::default());
        let world = World::old_on(store.clone()).await;
        world.post("/tenants/acme/wf-specs", order()).await;
        world
            .run("acme", "order", "wf", json!({ "orderId": "o", "name": "n" }))
            .await;
        let poll = || {
            let body = json!({ "taskDefName": "greet", "workerId": "w1" });
            world.ask("POST", "/tenants/acme/tasks/poll", Some(body))
        };
        // A row is visible a moment before the queue knows its message, and before the route has stored its
        // position.
        let is_due = async || {
            let counts = world.stored.queues().counts("acme_greet").await;
            counts.unwrap().visible > 0
        };
        while !is_due().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        store.at_rest().await;
        store.fail(failing);
        let (answered, task) = poll().await;
        assert_eq!((answered, store.heal()), (status, true), "{failing:?}: {task}");
        // The message is received again, and the attempt is found in progress if it began.
        world.clock.advance(Duration::from_secs(31));
        let again = poll().await;
        match failing {
            Failing::Removal => {
                assert_eq!(task["wfRunId"], "wf");
                assert_eq!(again.0, 204, "{}", again.1);
            }
            Failing::Step => assert_eq!(again.1["wfRunId"], "wf", "{}", again.1),
        }
    }
}

#[tokio::test]
async fn a_timer_rings_also_if_the_program_stood_still_for_ten_days() {
    let world = World::new().await;
    world.post("/tenants/acme/wf-specs", nap()).await;
    world.run(T, "nap", "wf", json!({})).await;
    let (clock, embedded) = world.stop().await;
    clock.advance(Duration::from_secs(10 * 24 * 3600));
    let world = World::new_of(clock, embedded).await;
    world.wait_for(T, "wf", "COMPLETED").await;
}

#[tokio::test]
async fn a_timer_that_can_never_be_carried_out_fails_the_run() {
    let world = World::new().await;
    world.post("/tenants/acme/wf-specs", nap()).await;
    world.run(T, "nap", "wf", json!({})).await;
    let db = Littlehorse::apply_to(&*world.stored).unwrap();
    // A few bytes smaller than the largest row.
    let full = (0..800).rev().step_by(8).map(|length| {
        let new = NewInventory {
            tenant: T.to_owned(),
            wf_run_id: "wf".to_owned(),
        };
        let events = (0..6_390).map(|at| format!("{at:064}"));
        Inventory {
            workflow_events: events.chain(["x".repeat(length + 1)]).collect(),
            ..new.into()
        }
    });
    let mut is_full = false;
    for inventory in full {
        is_full = is_full || db.put(&inventory).await.is_ok();
    }
    assert!(is_full);
    world.advance(3601);
    world.wait_for(T, "wf", "ERROR").await;
    let run = world.get("/tenants/acme/wf-runs/wf").await;
    assert!(
        run["error"].as_str().is_some_and(|error| error.contains("size")),
        "{run}"
    );
}

#[tokio::test]
async fn a_task_message_that_cannot_be_read_is_put_aside_and_the_next_one_is_handed_out() {
    let world = World::new().await;
    world.post("/tenants/acme/wf-specs", canary()).await;
    let queues = world.stored.queues();
    let names = queues.list("", None, 100).await.unwrap();
    let queue = names.iter().find(|name| name.ends_with("acme_greet")).unwrap();
    queues.send(queue, NewMessage::from("no JSON")).await.unwrap();
    world.run(T, "canary", "wf", json!({})).await;
    assert_eq!(world.poll(T, "greet").await.unwrap()["wfRunId"], "wf");
    assert_eq!(queues.counts(&format!("{queue}-dead")).await.unwrap().visible, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_repeats_its_report_until_it_is_answered() {
    let (polls, reports) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (polled, reported) = (Arc::clone(&polls), Arc::clone(&reports));
    let poll = async move || match polled.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(Json(
            json!({ "wfRunId": "wf", "taskGuid": "0-1", "attempt": 0, "input": {} }),
        )),
        _ => Err(StatusCode::NO_CONTENT),
    };
    let report = async move |Json(body): Json<Value>| {
        assert_eq!(body["reportTask"]["output"], "hello, world");
        match reported.fetch_add(1, Ordering::SeqCst) {
            0..3 => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::OK,
        }
    };
    let router = axum::Router::new()
        .route("/tenants/acme/tasks/poll", post(poll))
        .route("/tenants/acme/wf-runs/wf", post(report));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let mut worker = Command::new(env!("CARGO_BIN_EXE_littlehorse"));
    let worker = worker
        .args(["worker", "--tenant", T, "--url", &url])
        .stderr(Stdio::null());
    let mut worker = worker.spawn().unwrap();
    let begun = std::time::Instant::now();
    // It asks for the next task when the report was accepted.
    while reports.load(Ordering::SeqCst) < 4 && begun.elapsed().as_secs() < 30 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert_eq!(
        reports.load(Ordering::SeqCst),
        4,
        "three in vain, and one that was taken"
    );
}

/// Runs that wait for a payment with the same key, the oldest first.
async fn waiting(runs: &[&str]) -> World {
    let world = World::new().await;
    world.post("/tenants/acme/wf-specs", order()).await;
    for run in runs {
        world.advance(1);
        world.run(T, "order", run, json!({ "orderId": "o-1" })).await;
        world.work(T, "greet", "hello").await;
    }
    world
}

fn paid(guid: &str) -> Value {
    json!({ "eventName": "payment", "correlationKey": "o-1", "guid": guid, "content": "1" })
}

#[tokio::test]
async fn an_event_that_is_sent_again_comes_to_the_same_run_and_once() {
    let world = waiting(&["one", "two"]).await;
    for (guid, run) in [
        ("g1", "one"),
        ("g1", "one"),
        ("g2", "two"),
        ("g1", "one"),
        ("g2", "two"),
    ] {
        let taken = world.post("/tenants/acme/external-events", paid(guid)).await;
        assert_eq!(taken, json!({ "wfRunId": run, "guid": guid }));
    }
    for run in ["one", "two"] {
        assert_eq!(world.list(T, run, "external-events").await.len(), 1, "{run}");
    }
    let (status, answer) = world
        .ask("POST", "/tenants/acme/external-events", Some(paid("g3")))
        .await;
    assert_eq!(status, 404, "no other run waits: {answer}");
}

#[tokio::test]
async fn an_event_passes_a_run_that_is_being_deleted() {
    let world = waiting(&["one", "two"]).await;
    let key = WfRunKey {
        tenant: T.to_owned(),
        wf_run_id: "one".to_owned(),
    };
    let db = Littlehorse::apply_to(&*world.stored).unwrap();
    db.update_wf_run(key).set_deleting(true).await.unwrap();
    let taken = world.post("/tenants/acme/external-events", paid("g1")).await;
    assert_eq!(taken["wfRunId"], "two");
}
