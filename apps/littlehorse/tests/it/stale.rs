//! Messages for a deleted run do not affect another one with the same id, and clients cannot send commands of
//! the engine.

use serde_json::{Value, json};

use crate::support::{World, canary};

const T: &str = "acme";
const RUN: &str = "/tenants/acme/wf-runs/wf";

async fn with(spec: Value) -> World {
    let world = World::new().await;
    world.post(&format!("/tenants/{T}/wf-specs"), spec).await;
    world
}

fn nap() -> Value {
    json!({ "name": "nap", "nodes": [{ "name": "nap", "run": { "sleep": 3600 } }] })
}

/// Waits until no timer is due.
async fn timers_rest(world: &World) {
    let is_busy = async || {
        let counts = world.stored.queues().counts(littlehorse::TIMERS).await.unwrap();
        counts.visible + counts.in_flight > 0
    };
    let begun = std::time::Instant::now();
    while is_busy().await {
        assert!(
            begun.elapsed().as_secs() < 60,
            "a timer is due and is not handled"
        );
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_wake_of_a_deleted_run_does_not_wake_another_with_its_id() {
    let world = with(nap()).await;
    world.run(T, "nap", "wf", json!({})).await;
    world.command(T, "wf", json!("stop")).await;
    world.ask("DELETE", RUN, None).await;
    world.advance(60);
    world.run(T, "nap", "wf", json!({})).await;
    world.advance(3550);
    timers_rest(&world).await;
    assert_eq!(world.status(T, "wf").await, "RUNNING", "its own timer is not due");
    world.advance(60);
    world.wait_for(T, "wf", "COMPLETED").await;
}

#[tokio::test]
async fn the_retention_of_a_deleted_run_does_not_delete_another_with_its_id() {
    let mut spec = canary();
    spec["retentionSeconds"] = json!(600);
    let world = with(spec).await;
    for _ in 0..2 {
        world.ask("DELETE", RUN, None).await;
        world.advance(300);
        world.run(T, "canary", "wf", json!({})).await;
        world.work(T, "greet", "done").await;
    }
    world.advance(350);
    timers_rest(&world).await;
    assert_eq!(
        world.status(T, "wf").await,
        "COMPLETED",
        "its own time is not over"
    );
    world.advance(300);
    world.wait_until(RUN, |answer| answer["error"].is_string()).await;
}

#[tokio::test]
async fn the_timeout_of_a_deleted_run_takes_no_attempt_from_another_with_its_id() {
    let world = with(canary()).await;
    for _ in 0..2 {
        world.ask("DELETE", RUN, None).await;
        world.advance(40);
        world.run(T, "canary", "wf", json!({})).await;
        world.poll(T, "greet").await.expect("a task");
        world.command(T, "wf", json!("stop")).await;
    }
    // A minute after the first attempt began, and before the second one has begun.
    world.advance(25);
    timers_rest(&world).await;
    let task = world.get(&format!("{RUN}/task-runs/0-1")).await;
    assert_eq!(task["status"], "RUNNING");
}

#[tokio::test]
async fn a_worker_reports_only_what_it_took_itself() {
    let world = with(canary()).await;
    let poll = async |worker: &str| {
        let poll = json!({ "taskDefName": "greet", "workerId": worker });
        world.post("/tenants/acme/tasks/poll", poll).await
    };
    world.run(T, "canary", "wf", json!({})).await;
    poll("slow").await;
    world.command(T, "wf", json!("stop")).await;
    world.ask("DELETE", RUN, None).await;
    world.advance(1);
    world.run(T, "canary", "wf", json!({})).await;
    poll("fast").await;
    let report = |worker: &str| json!({ "reportTask": { "guid": "0-1", "attempt": 0, "workerId": worker, "output": worker } });
    let (status, answer) = world.ask("POST", RUN, Some(report("slow"))).await;
    assert_eq!(status, 409, "it is about the run before: {answer}");
    world.command(T, "wf", report("fast")).await;
    assert_eq!(world.get(&format!("{RUN}/task-runs/0-1")).await["output"], "fast");
}

#[tokio::test]
async fn clients_cannot_send_what_only_the_engine_sends() {
    let world = with(canary()).await;
    world.run(T, "canary", "wf", json!({})).await;
    let before = world.get(RUN).await;
    for command in [
        json!({ "wake": 1 }),
        json!({ "startTask": { "guid": "0-1", "attempt": 0 } }),
        json!("delete"),
    ] {
        let (status, answer) = world.ask("POST", RUN, Some(command.clone())).await;
        assert_eq!(status, 400, "{command}: {answer}");
    }
    assert_eq!(world.get(RUN).await, before);
    world.work(T, "greet", "done").await;
    assert_eq!(world.list(T, "wf", "node-runs").await.len(), 3, "each node once");
}
