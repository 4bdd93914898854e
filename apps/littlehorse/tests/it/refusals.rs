//! What is refused: before anything is stored, in one form, and with a status that shows whose fault it is.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use trestle::{AnyDatabase, Embedded, Options};

use littlehorse::model::Littlehorse;

use crate::support::{World, canary, order};

const T: &str = "acme";

/// A valid node, for cases with a mistake.
fn node(run: Value) -> Value {
    json!({ "name": "x", "variables": { "v": null }, "nodes": [{ "name": "n", "run": run }] })
}

#[tokio::test]
async fn a_workflow_is_checked_before_it_is_stored_and_before_a_queue_is_made() {
    let world = World::new().await;
    let mut no_node_name = node(json!({ "sleep": 1 }));
    no_node_name["nodes"][0]["name"] = json!("a b");
    let mut no_variable_name = node(json!({ "sleep": 1 }));
    no_variable_name["variables"] = json!({ "a/b": null });
    let mut no_output = node(json!({ "task": { "taskDefName": "t" } }));
    no_output["nodes"][0]["output"] = json!("w");
    let too_long = "x".repeat(37);
    let specs = [
        (no_node_name, "a b"),
        (no_variable_name, "a/b"),
        (no_output, "w"),
        (node(json!({ "task": { "taskDefName": "a b" } })), "a b"),
        (node(json!({ "task": { "taskDefName": "" } })), "name"),
        (node(json!({ "task": { "taskDefName": too_long } })), "xxx"),
        (
            node(json!({ "task": { "taskDefName": "t", "input": ["w"] } })),
            "w",
        ),
        (node(json!({ "externalEvent": { "event": "a/b" } })), "a/b"),
        (
            node(json!({ "externalEvent": { "event": "e", "correlate": "w" } })),
            "w",
        ),
        (node(json!({ "userTask": { "form": "a/b" } })), "a/b"),
        (
            node(json!({ "throwEvent": { "event": "a/b", "content": "v" } })),
            "a/b",
        ),
        (
            node(json!({ "throwEvent": { "event": "e", "content": "w" } })),
            "w",
        ),
    ];
    for (spec, word) in specs {
        let (status, answer) = world
            .ask("POST", "/tenants/acme/wf-specs", Some(spec.clone()))
            .await;
        assert_eq!(status, 400, "{spec}: {answer}");
        assert!(
            answer["error"].as_str().unwrap().contains(word),
            "{spec}: {answer}"
        );
    }
    let spec = node(json!({ "task": { "taskDefName": "t" } }));
    assert_eq!(
        world.ask("POST", "/tenants/a_b/wf-specs", Some(spec)).await.0,
        400,
        "a bad tenant"
    );
    let queues = world.stored.queues().list("", None, 100).await.unwrap();
    assert!(
        queues.iter().all(|queue| queue.starts_with(littlehorse::TIMERS)),
        "{queues:?}"
    );
}

/// The API without the support of the tests, for requests that it would not make.
async fn bare() -> Router {
    let embedded = AnyDatabase::from(Embedded::in_memory(Options::default()).unwrap());
    let db = Littlehorse::apply_to(&embedded).unwrap();
    let queues = embedded.queues().clone();
    littlehorse::api::router(std::sync::Arc::new(littlehorse::Service { db, queues }))
}

#[tokio::test]
async fn a_page_of_another_site_can_write_nothing_as_its_forms_send_no_json() {
    let router = bare().await;
    for kind in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
    ] {
        for path in [
            "wf-specs",
            "wf-runs",
            "wf-runs/wf",
            "external-events",
            "tasks/poll",
        ] {
            let mut request = Request::builder()
                .method("POST")
                .uri(format!("/tenants/{T}/{path}"));
            if let Some(kind) = kind {
                request = request.header("content-type", kind);
            }
            let request = request.body(Body::from(canary().to_string())).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), 415, "{path} as {kind:?}");
        }
    }
}

#[tokio::test]
async fn what_never_comes_as_far_as_the_engine_is_refused_in_json_too() {
    let router = bare().await;
    let too_large = "x".repeat(3 << 20);
    for (method, path, body, expected) in [
        ("GET", "/nowhere", "", 404),
        ("GET", "/tenants/%ff/wf-specs", "", 400),
        ("GET", "/tenants/acme/wf-specs?limit=%ff", "", 400),
        ("PUT", "/tenants/acme/wf-specs", "{}", 405),
        ("DELETE", "/tenants/acme/wf-specs", "", 405),
        ("POST", "/tenants/acme/search/wf-runs", "{}", 405),
        ("POST", "/tenants/acme/wf-specs", "{", 400),
        ("POST", "/tenants/acme/wf-specs", "[]", 400),
        (
            "POST",
            "/tenants/acme/wf-runs",
            r#"{ "wfSpecName": "x", "colour": "red" }"#,
            400,
        ),
        ("POST", "/tenants/acme/wf-specs", &too_large, 413),
    ] {
        let request = Request::builder().method(method).uri(path);
        let request = request
            .header("content-type", "application/json")
            .body(Body::from(body.to_owned()));
        let answer = router.clone().oneshot(request.unwrap()).await.unwrap();
        let (status, allow) = (answer.status().as_u16(), answer.headers().contains_key("allow"));
        let text = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        assert_eq!(
            (status, allow),
            (expected, expected == 405),
            "{method} {path}: {text:?}"
        );
        let json: Value = serde_json::from_slice(&text).unwrap_or_default();
        assert!(
            json["error"].as_str().is_some_and(|error| !error.is_empty()),
            "{path}: {text:?}"
        );
    }
}

#[tokio::test]
async fn what_a_list_search_or_poll_is_asked_is_understood_or_refused() {
    let world = World::new().await;
    world.post("/tenants/acme/wf-specs", order()).await;
    world.run(T, "order", "wf", json!({})).await;
    for (path, word) in [
        ("search/wf-runs?colour=red", "status"),
        ("search/wf-runs", "status"),
        ("search/node-runs?status=RUNNING", "status and type"),
        ("search/wf-runs?status=RUNNING&colour=red", "status"),
        ("search/wf-runs?status=RUNNING&limit=1001", "limit"),
        ("wf-runs/wf/node-runs?limit=x", "limit"),
        ("wf-runs/wf/node-runs?colour=red", "colour"),
        ("wf-specs?colour=red", "colour"),
    ] {
        let (status, answer) = world.ask("GET", &format!("/tenants/{T}/{path}"), None).await;
        assert_eq!(status, 400, "{path}: {answer}");
        assert!(
            answer["error"].as_str().unwrap().contains(word),
            "{path}: {answer}"
        );
    }
    let too_long = format!(
        "/tenants/{T}/search/variables?name=name&value={}",
        "x".repeat(401)
    );
    assert_eq!(
        world.ask("GET", &too_long, None).await.0,
        400,
        "no tag is so long"
    );
    for poll in [
        json!({ "workerId": "w" }),
        json!({ "taskDefName": "greet" }),
        json!({ "taskDefName": "greet", "workerId": "" }),
        json!({ "taskDefName": "greet", "workerId": "w", "waitSeconds": -1 }),
    ] {
        let (status, answer) = world
            .ask("POST", "/tenants/acme/tasks/poll", Some(poll.clone()))
            .await;
        assert_eq!(status, 400, "{poll}: {answer}");
    }
}

#[tokio::test]
async fn what_is_too_large_for_a_row_is_the_clients_fault() {
    let world = World::new().await;
    world.post("/tenants/acme/wf-specs", canary()).await;
    world.run(T, "canary", "wf", json!({})).await;
    world.poll(T, "greet").await.expect("a task");
    let report = json!({ "guid": "0-1", "attempt": 0, "output": "x".repeat(500_000) });
    let report = Some(json!({ "reportTask": report }));
    let (status, answer) = world.ask("POST", "/tenants/acme/wf-runs/wf", report).await;
    assert_eq!(status, 400, "{answer}");
    assert_eq!(world.status(T, "wf").await, "RUNNING", "nothing was changed");
}

#[tokio::test]
async fn what_is_stored_and_cannot_be_read_is_not_the_clients_fault() {
    let world = World::new().await;
    world.post("/tenants/acme/wf-specs", canary()).await;
    let db = Littlehorse::apply_to(&*world.stored).unwrap();
    let key = littlehorse::model::WfSpecKey {
        tenant: T.to_owned(),
        name: "canary".to_owned(),
        version: 0,
    };
    db.update_wf_spec(key).set_definition("no JSON").await.unwrap();
    let run = Some(json!({ "wfSpecName": "canary" }));
    assert_eq!(world.ask("POST", "/tenants/acme/wf-runs", run).await.0, 500);
}

#[tokio::test]
async fn a_key_by_which_no_event_can_find_the_run_fails_the_node() {
    let world = World::new().await;
    world.post("/tenants/acme/wf-specs", order()).await;
    world
        .run(T, "order", "wf", json!({ "orderId": "o".repeat(500) }))
        .await;
    world.work(T, "greet", "hello").await;
    let run = world.get("/tenants/acme/wf-runs/wf").await;
    assert_eq!(run["status"], "ERROR");
    assert!(
        run["error"].as_str().unwrap().contains("correlation key"),
        "{run}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_made_is_answered_also_if_it_is_over_and_gone_at_once() {
    let world = World::new().await;
    let spec = json!({ "name": "short", "nodes": [], "retentionSeconds": 0 });
    world.post("/tenants/acme/wf-specs", spec).await;
    for at in 0..100 {
        let run = json!({ "wfSpecName": "short", "wfRunId": format!("run-{at}") });
        let (status, answer) = world.ask("POST", "/tenants/acme/wf-runs", Some(run)).await;
        assert_eq!(
            (status, &answer["status"]),
            (201, &json!("COMPLETED")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn the_largest_workflow_fits_into_one_commit() {
    let world = World::new().await;
    let throw = |at| json!({ "name": format!("n-{at}"), "run": { "throwEvent": { "event": "e", "content": "v-0" } } });
    let variables = (0..30).map(|at| (format!("v-{at}"), Value::Null));
    let mut spec =
        json!({ "name": "large", "retentionSeconds": 60, "nodes": (0..30).map(throw).collect::<Vec<_>>() });
    spec["variables"] = variables.collect::<serde_json::Map<_, _>>().into();
    world.post("/tenants/acme/wf-specs", spec.clone()).await;
    let run = world.run(T, "large", "wf", json!({})).await;
    assert_eq!(
        (&run["status"], &run["revision"]),
        (&json!("COMPLETED"), &json!(1))
    );
    spec["nodes"].as_array_mut().unwrap().push(throw(30));
    assert_eq!(
        world.ask("POST", "/tenants/acme/wf-specs", Some(spec)).await.0,
        400,
        "one more is too many"
    );
}
