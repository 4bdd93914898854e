//! The API as it is described, and what it refuses.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use trestle::WithModels as _;
use trestle::migrate::StartOptions;

use crate::support::{World, canary, order};

const OPENAPI: &str = include_str!("../../openapi.json");

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Statuses that any operation may have, and that other tests cover.
const GENERAL: [u16; 5] = [405, 413, 415, 500, 503];

fn description() -> Value {
    serde_json::from_str(OPENAPI).unwrap()
}

/// Path, method, and their description.
fn operations() -> Vec<(String, String, Value)> {
    let mut operations = Vec::new();
    for (path, methods) in description()["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            operations.push((path.clone(), method.clone(), operation.clone()));
        }
    }
    operations
}

/// A path of the description with a value for each parameter.
fn filled(path: &str) -> String {
    let values = [
        ("{tenant}", "acme"),
        ("{run}", "none"),
        ("{kind}", "task-runs"),
        ("{group}/{id}", "0/0"),
        ("{id}", "0-1"),
    ];
    let fill = |path: String, (name, value): (&str, &str)| path.replace(name, value);
    values.into_iter().fold(path.to_owned(), fill)
}

#[tokio::test]
async fn every_path_and_method_of_the_description_answers_and_no_other_does() {
    let world = World::new().await;
    let described: BTreeSet<String> = operations().into_iter().map(|(path, ..)| path).collect();
    let served = include_str!("../../src/engine/api.rs").split(".route(").skip(1);
    let served = served.map(|route| route.split('"').nth(1).unwrap());
    for path in served {
        let above = ["/", "/openapi.json", "/migration"].contains(&path);
        let path = if above {
            path.to_owned()
        } else {
            format!("/tenants/{{tenant}}{path}")
        };
        assert!(described.contains(&path), "{path} is served, and not described");
    }
    for path in described {
        for method in METHODS {
            let known = description()["paths"][&path].get(method).is_some();
            let body = (method == "post").then(|| json!({}));
            let (status, answer) = world.ask(&method.to_uppercase(), &filled(&path), body).await;
            assert_eq!(status != 405, known, "{method} {path}: {status} {answer}");
            assert!(
                status < 400 || answer["error"].is_string(),
                "{method} {path}: {answer}"
            );
        }
    }
}

/// The target of a reference in the description.
fn resolved(of: &Value) -> Value {
    match of["$ref"].as_str() {
        Some(place) => description().pointer(&place[1..]).unwrap().clone(),
        None => of.clone(),
    }
}

/// The answer has everything that the description requires, and nothing that it does not know.
fn check_body(method: &str, path: &str, status: u16, answer: &Value) {
    let responses = &description()["paths"][path][method]["responses"];
    let response = resolved(&responses[status.to_string()]);
    let schema = resolved(&response["content"]["application/json"]["schema"]);
    let about = format!("{method} {path} {status}: {answer}");
    for member in schema["required"].as_array().into_iter().flatten() {
        assert!(
            answer.get(member.as_str().unwrap()).is_some(),
            "{member} is missing: {about}"
        );
    }
    if let (Some(known), Some(members)) = (schema["properties"].as_object(), answer.as_object()) {
        let strange = members.keys().find(|member| !known.contains_key(*member));
        assert_eq!(strange, None, "{about}");
    }
    assert!(status < 400 || answer["error"].is_string(), "{about}");
    assert_eq!(
        status == 204,
        answer.is_null() && path.ends_with("poll"),
        "{about}"
    );
}

#[tokio::test]
async fn answers_are_as_described_and_every_status_of_the_description_comes() {
    let world = World::new().await;
    let poll = json!({ "taskDefName": "greet", "workerId": "w" });
    let paid = json!({ "eventName": "payment", "correlationKey": "o-1", "guid": "g1" });
    let run = |id: &str, workflow: &str| json!({ "wfSpecName": workflow, "wfRunId": id });
    let mut of_order = run("wf", "order");
    of_order["variables"] = json!({ "orderId": "o-1" });
    let mut unknown_variable = run("x", "canary");
    unknown_variable["variables"] = json!({ "x": "1" });
    let none: Option<Value> = None;
    let tenant = "/tenants/{tenant}";
    let mut seen = BTreeSet::new();
    for (method, template, path, body, status) in [
        ("get", "", "/", none.clone(), 200),
        ("get", "", "/openapi.json", none.clone(), 200),
        ("get", "", "/migration", none.clone(), 200),
        ("post", "/wf-specs", "", Some(canary()), 201),
        ("post", "/wf-specs", "", Some(order()), 201),
        (
            "post",
            "/wf-specs",
            "",
            Some(json!({ "name": "a/b", "nodes": [] })),
            400,
        ),
        ("get", "/wf-specs", "", none.clone(), 200),
        ("get", "/wf-specs", "?limit=0", none.clone(), 400),
        ("post", "/wf-runs", "", Some(of_order), 201),
        ("post", "/wf-runs", "", Some(unknown_variable), 400),
        ("post", "/wf-runs", "", Some(run("x", "none")), 404),
        ("post", "/wf-runs", "", Some(run("wf", "order")), 409),
        ("get", "/wf-runs/{run}", "/wf-runs/wf", none.clone(), 200),
        ("get", "/wf-runs/{run}", "/wf-runs/none", none.clone(), 404),
        (
            "get",
            "/wf-runs/{run}/{kind}/{id}",
            "/wf-runs/wf/task-runs/0-1",
            none.clone(),
            200,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}/{id}",
            "/wf-runs/wf/task-runs/0-2",
            none.clone(),
            404,
        ),
        (
            "get",
            "/wf-runs/{run}/inventory",
            "/wf-runs/wf/inventory",
            none.clone(),
            404,
        ),
        ("post", "/external-events", "", Some(paid.clone()), 404),
        ("post", "/tasks/poll", "", Some(poll.clone()), 200),
        ("post", "/tasks/poll", "", Some(poll), 204),
        (
            "post",
            "/tasks/poll",
            "",
            Some(json!({ "taskDefName": "x", "workerId": "w" })),
            404,
        ),
        ("delete", "/wf-runs/{run}", "/wf-runs/wf", none.clone(), 409),
        ("post", "/wf-runs/{run}", "/wf-runs/wf", Some(json!("dance")), 400),
        (
            "post",
            "/wf-runs/{run}",
            "/wf-runs/none",
            Some(json!("stop")),
            404,
        ),
        ("get", "/wf-runs/{run}", "/wf-runs/a+b", none.clone(), 404),
        ("get", "/wf-runs/{run}", "/wf-runs/%ff", none.clone(), 400),
        ("delete", "/wf-runs/{run}", "/wf-runs/a+b", none.clone(), 404),
        ("delete", "/wf-runs/{run}", "/wf-runs/%ff", none.clone(), 400),
        ("post", "/wf-runs/{run}", "/wf-runs/a+b", Some(json!("stop")), 404),
        (
            "get",
            "/wf-runs/{run}/inventory",
            "/wf-runs/a+b/inventory",
            none.clone(),
            404,
        ),
        (
            "get",
            "/wf-runs/{run}/inventory",
            "/wf-runs/%ff/inventory",
            none.clone(),
            400,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}/{id}",
            "/wf-runs/wf/task-runs/a+b",
            none.clone(),
            404,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}/{id}",
            "/wf-runs/wf/task-runs/%ff",
            none.clone(),
            400,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}/{group}/{id}",
            "/wf-runs/wf/node-runs/0/1",
            none.clone(),
            200,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}/{group}/{id}",
            "/wf-runs/wf/node-runs/0/9",
            none.clone(),
            404,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}/{group}/{id}",
            "/wf-runs/a+b/node-runs/0/1",
            none.clone(),
            404,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}/{group}/{id}",
            "/wf-runs/%ff/node-runs/0/1",
            none.clone(),
            400,
        ),
        (
            "post",
            "/tasks/poll",
            "",
            Some(json!({ "taskDefName": "greet", "workerId": "" })),
            400,
        ),
        ("report", "", "", none.clone(), 200),
        ("post", "/external-events", "", Some(paid), 200),
        (
            "post",
            "/external-events",
            "",
            Some(json!({ "correlationKey": "o-1" })),
            400,
        ),
        (
            "get",
            "/wf-runs/{run}/inventory",
            "/wf-runs/wf/inventory",
            none.clone(),
            200,
        ),
        ("post", "/wf-runs/{run}", "/wf-runs/wf", Some(json!("stop")), 200),
        (
            "get",
            "/wf-runs/{run}/{kind}",
            "/wf-runs/wf/node-runs",
            none.clone(),
            200,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}",
            "/wf-runs/a+b/node-runs",
            none.clone(),
            200,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}",
            "/wf-runs/wf/node-runs?limit=0",
            none.clone(),
            400,
        ),
        (
            "get",
            "/wf-runs/{run}/{kind}",
            "/wf-runs/wf/nodes",
            none.clone(),
            404,
        ),
        (
            "get",
            "/search/{kind}",
            "/search/wf-runs?status=HALTED",
            none.clone(),
            200,
        ),
        (
            "get",
            "/search/{kind}",
            "/search/wf-runs?status=HALTED&bookmark=x",
            none.clone(),
            400,
        ),
        (
            "get",
            "/search/{kind}",
            "/search/nodes?status=HALTED",
            none.clone(),
            404,
        ),
        ("fail", "", "", none.clone(), 200),
        (
            "post",
            "/wf-runs/{run}",
            "/wf-runs/failed",
            Some(json!("stop")),
            409,
        ),
        ("delete", "/wf-runs/{run}", "/wf-runs/failed", none.clone(), 200),
        ("delete", "/wf-runs/{run}", "/wf-runs/failed", none, 404),
    ] {
        match method {
            "report" => {
                let done = json!({ "guid": "0-1", "attempt": 0, "output": "hello", "workerId": "w" });
                world.command("acme", "wf", json!({ "reportTask": done })).await;
                continue;
            }
            "fail" => {
                world.run("acme", "canary", "failed", json!({})).await;
                let task = world.next_task("acme", "greet").await;
                let mut failed = json!({ "guid": "0-1", "attempt": task["attempt"], "error": "no" });
                failed["workerId"] = task["workerId"].clone();
                world
                    .command("acme", "failed", json!({ "reportTask": failed }))
                    .await;
                continue;
            }
            _ => {}
        }
        // Without one, the path is that of the description: as it is below the tenant, or above it.
        let (template, path) = match (template, path.starts_with('/')) {
            ("", _) => (path.to_owned(), path.to_owned()),
            (_, true) => (format!("{tenant}{template}"), format!("/tenants/acme{path}")),
            (_, false) => (
                format!("{tenant}{template}"),
                format!("/tenants/acme{template}{path}"),
            ),
        };
        let (answered, answer) = world.ask(&method.to_uppercase(), &path, body).await;
        assert_eq!(answered, status, "{method} {path}: {answer}");
        check_body(method, &template, status, &answer);
        seen.insert((method.to_owned(), template, status));
    }
    let mut described = BTreeSet::new();
    for (path, method, operation) in operations() {
        for status in operation["responses"].as_object().unwrap().keys() {
            let status = status.parse().unwrap();
            if !GENERAL.contains(&status) {
                described.insert((method.clone(), path.clone(), status));
            }
        }
    }
    assert_eq!(seen, described);
}

#[tokio::test]
async fn what_is_not_there_is_an_error_in_json() {
    let world = World::new().await;
    for (method, path, status) in [
        ("GET", "/nowhere", 404),
        ("GET", "/tenants/acme/nowhere", 404),
        ("PUT", "/tenants/acme/wf-specs", 405),
        ("DELETE", "/tenants/acme/wf-specs", 405),
        ("GET", "/tenants/acme/wf-runs/wf/nodes", 404),
        ("GET", "/tenants/acme/wf-runs/wf/node-runs/0", 404),
        ("GET", "/tenants/acme/wf-runs/wf/node-runs/0/x", 404),
        ("GET", "/tenants/acme/wf-runs/wf/node-runs?limit=0", 400),
        ("GET", "/tenants/acme/wf-runs/wf/node-runs?bookmark=none", 400),
        ("GET", "/tenants/acme/search/inventory?status=x", 404),
    ] {
        let (answered, answer) = world.ask(method, path, None).await;
        assert_eq!(answered, status, "{method} {path}: {answer}");
        assert!(answer["error"].is_string(), "{method} {path}: {answer}");
    }
    let (status, answer) = world
        .ask("POST", "/tenants/acme/wf-specs", Some(json!([1])))
        .await;
    assert_eq!((status, answer["error"].is_string()), (400, true));
}

#[tokio::test]
async fn the_page_is_served_and_a_migration_is_told_only_where_there_is_one() {
    let world = World::new().await;
    let page = world.text("/").await;
    assert!(page.contains("<title>LittleHorse"), "{page}");
    assert_eq!(world.get("/openapi.json").await, description());
    assert_eq!(world.get("/migration").await, Value::Null);
}

#[tokio::test]
async fn the_migration_is_the_applications_own_and_a_refusal_is_json() {
    let world = World::old().await;
    assert_eq!(world.get("/migration").await, Value::Null);
    // Without rows there is nothing that an endpoint would have to move.
    world.post("/tenants/acme/wf-specs", canary()).await;
    world.run("acme", "canary", "wf", json!({})).await;
    let other = |key: &str| {
        format!(
            "model = \"other\"\n[table.others]\nkey = [\"pk\"]\n[entity.other]\ntable = \"others\"\nkey.pk = \"{key}#{{id}}\"\n\
             attributes = {{ id = \"string\" }}\n"
        )
    };
    world.stored.apply_model(&other("a")).unwrap();
    let options = StartOptions::default();
    world.stored.migrate_model(&other("b"), options).unwrap();
    assert_eq!(world.get("/migration").await, Value::Null);
    let (status, refused) = world.ask("POST", "/migration", Some(json!({}))).await;
    assert_eq!(status, 405);
    assert!(
        refused["error"].as_str().unwrap().contains("/openapi.json"),
        "{refused}"
    );
    let world = world.upgrade().await;
    assert_eq!(world.get("/migration").await["model"], "littlehorse");
}
