//! The API as it is described, and what it refuses.

use serde_json::{Value, json};

use crate::support::{World, canary, order};

const OPENAPI: &str = include_str!("../../openapi.json");

/// A path of the description with a value for each parameter, as the history of the test has it.
fn filled(path: &str) -> String {
    let values = [("{tenant}", "acme"), ("{run}", "wf"), ("{kind}", "node-runs"), ("{id}", "0/0")];
    values.into_iter().fold(path.to_owned(), |path, (name, value)| path.replace(name, value))
}

#[tokio::test]
async fn every_path_of_the_description_answers_as_it_says() {
    let world = World::new().await;
    let description: Value = serde_json::from_str(OPENAPI).unwrap();
    assert_eq!(world.get("/openapi.json").await, description);
    for spec in [canary(), order()] {
        world.post("/tenants/acme/wf-specs", spec).await;
    }
    world.run("acme", "order", "wf", json!({ "orderId": "o-1" })).await;
    world.command("acme", "wf", json!({ "putEvent": { "eventName": "note" } })).await;
    let paths = description["paths"].as_object().unwrap();
    let mut asked = 0;
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().unwrap() {
            let body = operation.pointer("/requestBody/content/application~1json/example").cloned();
            let (status, answer) = world.ask(&method.to_uppercase(), &filled(path), body).await;
            let said = operation["responses"].as_object().unwrap();
            assert!(said.contains_key(&status.to_string()), "{method} {path}: {status} {answer}");
            assert!(status < 500, "{method} {path}: {status} {answer}");
            asked += 1;
        }
    }
    assert!(asked > 10, "{asked}");
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
    let (status, answer) = world.ask("POST", "/tenants/acme/wf-specs", Some(json!([1]))).await;
    assert_eq!((status, answer["error"].is_string()), (400, true));
}

#[tokio::test]
async fn the_page_is_served_and_a_migration_is_told_only_where_there_is_one() {
    let world = World::new().await;
    assert_eq!(world.ask("GET", "/", None).await.0, 200);
    assert_eq!(world.get("/migration").await, Value::Null);
}
