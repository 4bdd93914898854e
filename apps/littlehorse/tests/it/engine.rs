//! Workflows run: nodes, variables, retries, timers, events, stop and resume. The previous version is the
//! same program.

use serde_json::{Value, json};

use crate::support::{World, canary, order};

const T: &str = "acme";

async fn with(specs: &[Value]) -> World {
    let world = World::new().await;
    for spec in specs {
        world.post(&format!("/tenants/{T}/wf-specs"), spec.clone()).await;
    }
    world
}

#[tokio::test]
async fn a_run_of_the_canary_has_three_nodes_and_one_task() {
    let world = with(&[canary()]).await;
    let run = world.run(T, "canary", "wf", json!({})).await;
    assert_eq!((&run["status"], &run["position"]), (&json!("RUNNING"), &json!(1)));
    world.work(T, "greet", "done").await;
    assert_eq!(world.status(T, "wf").await, "COMPLETED");
    let nodes = world.list(T, "wf", "node-runs").await;
    let types: Vec<_> = nodes.iter().map(|node| node["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["ENTRYPOINT", "TASK", "EXIT"]);
    let tasks = world.list(T, "wf", "task-runs").await;
    assert_eq!(tasks.len(), 1);
    assert_eq!(
        (&tasks[0]["status"], &tasks[0]["output"]),
        (&json!("SUCCESS"), &json!("done"))
    );
    assert!(world.poll(T, "greet").await.is_none());
}

/// Brings a run of `order` to its end.
async fn whole(world: &World, run: &str) {
    world
        .run(T, "order", run, json!({ "orderId": "o-1", "name": "Ada" }))
        .await;
    world.work(T, "greet", "hello, Ada").await;
    let paid = json!({ "eventName": "payment", "correlationKey": "o-1", "guid": "g1", "content": "12 EUR" });
    let taken = world.post(&format!("/tenants/{T}/external-events"), paid).await;
    assert_eq!(taken["wfRunId"], run);
    world
        .command(
            T,
            run,
            json!({ "assignUserTask": { "guid": "0-3", "user": "ann" } }),
        )
        .await;
    world
        .command(
            T,
            run,
            json!({ "completeUserTask": { "guid": "0-3", "results": "yes" } }),
        )
        .await;
    world.advance(3601);
    world.wait_for(T, run, "COMPLETED").await;
}

#[tokio::test]
async fn a_run_passes_every_kind_of_node_and_its_variables_take_what_came_of_them() {
    let world = with(&[order()]).await;
    whole(&world, "wf").await;
    let variables = world.list(T, "wf", "variables").await;
    let values: Vec<_> = variables
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["value"].as_str()))
        .collect();
    let expected = [
        ("approved", Some("yes")),
        ("greeting", Some("hello, Ada")),
        ("name", Some("Ada")),
        ("orderId", Some("o-1")),
        ("payment", Some("12 EUR")),
    ];
    assert_eq!(values, expected);
    let thrown = world.list(T, "wf", "workflow-events").await;
    assert_eq!(thrown.len(), 9);
    assert!(thrown.iter().all(|event| event["content"] == "12 EUR"));
    let events = world.list(T, "wf", "external-events").await;
    assert_eq!((events.len(), &events[0]["claimedBy"]), (1, &json!(2)));
    let people = world.list(T, "wf", "user-task-runs").await;
    assert_eq!(
        (&people[0]["status"], &people[0]["userId"]),
        (&json!("DONE"), &json!("ann"))
    );
    let inventory = world.get(&format!("/tenants/{T}/wf-runs/wf/inventory")).await;
    assert_eq!(inventory["externalEvents"], json!(["payment/g1"]));
    assert_eq!(inventory["workflowEvents"].as_array().unwrap().len(), 9);
    assert_eq!(world.list(T, "wf", "node-runs").await.len(), 15);
}

#[tokio::test]
async fn a_task_that_fails_is_tried_again_and_then_the_run_has_failed() {
    let world = with(&[order()]).await;
    world.run(T, "order", "wf", json!({ "name": "nobody" })).await;
    for attempt in 0..2 {
        let task = world.next_task(T, "greet").await;
        assert_eq!(task["attempt"], attempt);
        let failed = json!({ "guid": "0-1", "attempt": attempt, "error": "no" });
        world
            .command(T, "wf", json!({ "reportTask": failed.clone() }))
            .await;
        let again = world
            .ask(
                "POST",
                &format!("/tenants/{T}/wf-runs/wf"),
                Some(json!({ "reportTask": failed })),
            )
            .await;
        assert_eq!(again.0, 409, "the same report again: {}", again.1);
        assert!(world.poll(T, "greet").await.is_none(), "a retry waits");
        world.advance(5);
    }
    assert_eq!(world.status(T, "wf").await, "ERROR");
    let run = world.get(&format!("/tenants/{T}/wf-runs/wf")).await;
    assert_eq!(run["error"], "node confirm: no");
}

#[tokio::test]
async fn a_worker_that_never_reports_loses_its_attempt_to_the_timer() {
    let world = with(&[order()]).await;
    world.run(T, "order", "wf", json!({})).await;
    world.next_task(T, "greet").await;
    world.advance(31);
    let task = format!("/tenants/{T}/wf-runs/wf/task-runs/0-1");
    world
        .wait_until(&task, |task| {
            task["attempt"] == 1 && task["status"] == "SCHEDULED"
        })
        .await;
    let late = json!({ "reportTask": { "guid": "0-1", "attempt": 0, "output": "too late" } });
    assert_eq!(
        world
            .ask("POST", &format!("/tenants/{T}/wf-runs/wf"), Some(late))
            .await
            .0,
        409
    );
    world.advance(5);
    world.work(T, "greet", "in time").await;
    assert_eq!(world.get(&task).await["output"], "in time");
}

#[tokio::test]
async fn a_stopped_run_keeps_what_happens_and_goes_on_when_it_is_resumed() {
    let world = with(&[order()]).await;
    world.run(T, "order", "wf", json!({ "orderId": "o-1" })).await;
    world.command(T, "wf", json!("stop")).await;
    world.work(T, "greet", "hello").await;
    assert_eq!(world.status(T, "wf").await, "HALTED");
    assert_eq!(
        world.list(T, "wf", "node-runs").await.len(),
        2,
        "it did not go on"
    );
    world.command(T, "wf", json!("resume")).await;
    assert_eq!(world.status(T, "wf").await, "RUNNING");
    let nodes = world.list(T, "wf", "node-runs").await;
    assert_eq!((nodes.len(), &nodes[2]["waitsFor"]), (3, &json!("payment")));
}

#[tokio::test]
async fn an_event_for_a_run_waits_until_a_node_takes_it_and_comes_once() {
    let world = with(&[order()]).await;
    world.run(T, "order", "wf", json!({ "orderId": "o-1" })).await;
    let event = json!({ "putEvent": { "eventName": "payment", "guid": "g1", "content": "1" } });
    world.command(T, "wf", event.clone()).await;
    world.command(T, "wf", event).await;
    assert_eq!(
        world.list(T, "wf", "external-events").await[0].get("claimedBy"),
        None
    );
    world.work(T, "greet", "hello").await;
    assert_eq!(world.list(T, "wf", "external-events").await[0]["claimedBy"], 2);
    assert_eq!(
        world.list(T, "wf", "user-task-runs").await.len(),
        1,
        "the run is at the next wait"
    );
}

#[tokio::test]
async fn an_event_with_a_key_finds_the_run_that_waits_for_it_and_no_other() {
    let world = with(&[order()]).await;
    for (run, order) in [("one", "o-1"), ("two", "o-2")] {
        world.run(T, "order", run, json!({ "orderId": order })).await;
        world.work(T, "greet", "hello").await;
    }
    let events = format!("/tenants/{T}/external-events");
    let paid = |key: &str| json!({ "eventName": "payment", "correlationKey": key, "content": "1" });
    assert_eq!(world.post(&events, paid("o-2")).await["wfRunId"], "two");
    assert_eq!(
        world.ask("POST", &events, Some(paid("o-2"))).await.0,
        404,
        "it waits no more"
    );
    assert_eq!(world.ask("POST", &events, Some(paid("o-3"))).await.0, 404);
    assert_eq!(world.post(&events, paid("o-1")).await["wfRunId"], "one");
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_of_one_run_that_meet_happen_one_after_another_and_none_is_lost() {
    let world = std::sync::Arc::new(with(&[order()]).await);
    world.run(T, "order", "wf", json!({ "orderId": "o-1" })).await;
    let mut puts = tokio::task::JoinSet::new();
    for at in 0..20 {
        let world = std::sync::Arc::clone(&world);
        let event = json!({ "putEvent": { "eventName": "other", "guid": format!("g{at}") } });
        puts.spawn(async move { world.command(T, "wf", event).await });
    }
    puts.join_all().await;
    let run = world.get(&format!("/tenants/{T}/wf-runs/wf")).await;
    assert_eq!(run["revision"], 21, "each step raised the revision once");
    let inventory = world.get(&format!("/tenants/{T}/wf-runs/wf/inventory")).await;
    assert_eq!(
        inventory["externalEvents"].as_array().unwrap().len(),
        20,
        "no step was lost"
    );
}

#[tokio::test]
async fn a_run_with_a_retention_is_deleted_when_it_is_over() {
    let mut spec = canary();
    spec["retentionSeconds"] = json!(60);
    let world = with(&[spec]).await;
    world.run(T, "canary", "wf", json!({})).await;
    world.work(T, "greet", "done").await;
    world.advance(61);
    world
        .wait_until(&format!("/tenants/{T}/wf-runs/wf"), |answer| {
            answer["error"].is_string()
        })
        .await;
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_a_reason() {
    let world = with(&[canary()]).await;
    let specs = format!("/tenants/{T}/wf-specs");
    let twice = json!({ "name": "x", "nodes": [{ "name": "a", "run": { "sleep": 1 } }, { "name": "a", "run": { "sleep": 1 } }] });
    for (path, body, status, word) in [
        (specs.as_str(), twice, 400, "names of their own"),
        (specs.as_str(), json!({ "name": "a/b", "nodes": [] }), 400, "name"),
        (
            "/tenants/acme/wf-runs",
            json!({ "wfSpecName": "none" }),
            404,
            "workflow",
        ),
        (
            "/tenants/acme/wf-runs",
            json!({ "wfSpecName": "canary", "variables": { "x": "1" } }),
            400,
            "variable x",
        ),
        (
            "/tenants/acme/wf-runs",
            json!({ "wfSpecName": "canary", "wfRunId": "a/b" }),
            400,
            "wfRunId",
        ),
        ("/tenants/acme/wf-runs/none", json!("stop"), 404, "run"),
        ("/tenants/acme/wf-runs/none", json!("dance"), 400, "dance"),
        (
            "/tenants/acme/tasks/poll",
            json!({ "taskDefName": "none", "workerId": "w" }),
            404,
            "task definition",
        ),
    ] {
        let (answered, answer) = world.ask("POST", path, Some(body)).await;
        assert_eq!(answered, status, "{path}: {answer}");
        assert!(
            answer["error"].as_str().unwrap().contains(word),
            "{path}: {answer}"
        );
    }
    world.run(T, "canary", "wf", json!({})).await;
    let again = world
        .ask(
            "POST",
            "/tenants/acme/wf-runs",
            Some(json!({ "wfSpecName": "canary", "wfRunId": "wf" })),
        )
        .await;
    assert_eq!(again.0, 409, "{}", again.1);
}
