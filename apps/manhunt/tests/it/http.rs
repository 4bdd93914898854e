//! The HTTP API over a socket, and its description.

use std::collections::BTreeSet;

use axum::http::{Method, StatusCode};
use manhunt::api;
use serde_json::{Value, json};

use crate::support::{DOMAIN, World, text};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The API on a port of its own.
pub(crate) struct Door {
    pub(crate) world: World,
    pub(crate) base: String,
    pub(crate) client: reqwest::Client,
}

impl Door {
    async fn open() -> Self {
        Self::of(World::new().await).await
    }

    pub(crate) async fn of(world: World) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = api::router(world.running.service.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        // Building one prepares encryption, which this one needs, too.
        manhunt::channel::Webhook::new().unwrap();
        let client = reqwest::Client::new();
        Self { world, base, client }
    }

    /// Status and text of an answer.
    async fn call(&self, method: &str, path: &str, body: Value) -> (StatusCode, String) {
        let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
        let request = self.client.request(method, format!("{}{path}", self.base));
        let answer = request.json(&body).send().await.unwrap();
        (answer.status(), answer.text().await.unwrap())
    }

    /// Status and JSON of an answer; the status must be one that the description knows.
    pub(crate) async fn json(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let (status, text) = self.call(method, path, body).await;
        let known = described(method, path);
        assert!(
            known.contains(&status.as_u16()),
            "{method} {path}: {status} is none of {known:?}"
        );
        let json = serde_json::from_str(&text).unwrap_or_default();
        if status.is_client_error() {
            let error: &Value = &json;
            assert!(error["error"].is_string(), "{method} {path}: {text}");
        }
        (status.as_u16(), json)
    }
}

/// The statuses that an answer may have.
fn described(method: &str, path: &str) -> Vec<u16> {
    let path: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
    let is_same = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        let mut parts = template.iter().zip(&path);
        template.len() == path.len() && parts.all(|(a, b)| a == b || a.starts_with('{'))
    };
    let openapi = openapi();
    let mut paths = openapi["paths"].as_object().unwrap().iter();
    let (_, found) = paths.find(|(template, _)| is_same(template)).unwrap();
    let responses = found[method]["responses"].as_object().unwrap();
    responses.keys().map(|status| status.parse().unwrap()).collect()
}

fn openapi() -> Value {
    serde_json::from_str(include_str!("../../openapi.json")).unwrap()
}

#[tokio::test]
async fn every_path_and_method_of_the_description_answers_and_no_other_does() {
    let door = Door::open().await;
    let described = openapi();
    let described = described["paths"].as_object().unwrap();
    let mut served: BTreeSet<&str> = api::routes().iter().map(|(path, _)| *path).collect();
    served.extend(["/", "/openapi.json"]);
    let paths: BTreeSet<&str> = described.keys().map(String::as_str).collect();
    assert_eq!(paths, served);
    for (path, methods) in described {
        let url = path.replace("{domain}", DOMAIN);
        let url = [
            "{contact}",
            "{method}",
            "{search}",
            "{attempt}",
            "{token}",
            "{key}",
        ]
        .iter()
        .fold(url, |url, name| url.replace(name, "aa-0"));
        for method in METHODS {
            let (status, _) = door.call(method, &url, json!({})).await;
            let is_there = status != StatusCode::METHOD_NOT_ALLOWED;
            assert_eq!(
                is_there,
                methods.get(method).is_some(),
                "{method} {path}: {status}"
            );
        }
    }
}

#[tokio::test]
async fn answers_are_as_described() {
    let door = Door::open().await;
    let base = format!("/domains/{DOMAIN}");
    let (status, contact) = door
        .json("post", &format!("{base}/contacts"), json!({ "name": "Ada" }))
        .await;
    assert_eq!(status, 201);
    let id = contact["contactId"].as_str().unwrap();
    let own = format!("{base}/contacts/{id}");
    let draft = json!({ "type": "text", "destination": "+4930101", "waitSeconds": 60 });
    let (status, method) = door.json("post", &format!("{own}/methods"), draft).await;
    assert_eq!((status, &method["enabled"]), (201, &json!(true)));
    let nowhere = json!({ "type": "text", "destination": "" });
    assert_eq!(door.json("post", &format!("{own}/methods"), nowhere).await.0, 400);
    let pigeon = json!({ "type": "pigeon", "destination": "roof" });
    let (status, refused) = door.json("post", &format!("{own}/methods"), pigeon).await;
    let said = refused["error"].as_str().unwrap();
    assert!(
        status == 400 && said.contains("one of call, text, email, webhook"),
        "{refused}"
    );
    let (status, shown) = door.json("get", &own, json!({})).await;
    assert_eq!((status, &shown["methods"][0]), (200, &method));
    assert_eq!(
        door.json("get", &own.replace(DOMAIN, "ee"), json!({})).await.0,
        404
    );

    // A search is not a contact, nor is a contact a search.
    let not_here = |path: &str| format!("{base}/{path}");
    assert_eq!(
        door.json("get", &not_here(&format!("searches/{id}")), json!({}))
            .await
            .0,
        404
    );
    assert_eq!(door.json("get", &not_here("contacts/aa"), json!({})).await.0, 404);
    assert_eq!(door.json("get", &not_here("searches"), json!({})).await.0, 400);
    assert_eq!(
        door.json("post", &not_here("contacts"), json!({ "nme": "Ada" }))
            .await
            .0,
        400
    );

    // No row can have such an id: it does not exist. In a body, it is a mistake.
    let (change, another) = (
        json!({ "name": "Eva" }),
        json!({ "type": "text", "destination": "+4930101" }),
    );
    let response = json!({ "response": "1" });
    for (verb, path, body, what) in [
        ("get", "contacts/Ada", json!({}), "contact"),
        ("patch", "contacts/Ada", change, "contact"),
        ("delete", "contacts/Ada", json!({}), "contact"),
        ("post", "contacts/Ada/methods", another, "contact"),
        (
            "patch",
            "contacts/Ada/methods/text",
            json!({ "enabled": true }),
            "method",
        ),
        ("delete", "contacts/Ada/methods/text", json!({}), "method"),
        ("get", "searches?contact=Ada", json!({}), "contact"),
        ("get", "searches/Ada", json!({}), "search"),
        ("post", "searches/Ada/cancel", json!({}), "search"),
        ("post", "attempts/Ada-0/respond", response, "attempt"),
        ("delete", "keys/Ada", json!({}), "key"),
    ] {
        let (status, refused) = door.json(verb, &not_here(path), body).await;
        assert_eq!(
            (status, &refused["error"]),
            (404, &json!(format!("there is no such {what}"))),
            "{verb} {path}"
        );
    }
    let nowhere = format!("/domains/{}", "d".repeat(300));
    for list in ["contacts", "keys", "dead-letters"] {
        let (status, refused) = door.json("get", &format!("{nowhere}/{list}"), json!({})).await;
        let why = json!("a domain has 256 characters at most");
        assert_eq!((status, &refused["error"]), (400, &why), "{list}");
    }
    let (status, refused) = door
        .json("post", &format!("{base}/searches"), json!({ "contactId": "Ada" }))
        .await;
    assert!(
        status == 400 && refused["error"].as_str().unwrap().contains("contactId"),
        "{refused}"
    );

    let begin = json!({ "contactId": id, "metadata": { "incident": "7" } });
    let (status, search) = door.json("post", &format!("{base}/searches"), begin).await;
    assert_eq!((status, &search["status"]), (201, &json!("active")));
    door.world.settle(1).await;
    let search = format!("{base}/searches/{}", search["searchId"].as_str().unwrap());
    let (_, shown) = door.json("get", &search, json!({})).await;
    let attempt = shown["attempts"][0]["attemptId"].as_str().unwrap();
    assert_eq!(shown["attempts"][0]["destination"], "+4930101");
    assert_eq!(shown["trail"]["entries"][1]["what"], "text to +4930101");
    let respond = format!("{base}/attempts/{attempt}/respond");
    for _ in 0..2 {
        let (status, answered) = door.json("post", &respond, json!({ "response": "1" })).await;
        assert_eq!((status, &answered["status"]), (200, &json!("successful")));
    }
    assert_eq!(
        door.json("post", &format!("{search}/cancel"), json!({})).await.0,
        409
    );
    let list = |query: &str| format!("{base}/searches?contact={id}{query}");
    let (_, all) = door
        .json("get", &list("&status=successful&limit=1"), json!({}))
        .await;
    assert_eq!(
        (all["items"].as_array().unwrap().len(), &all["next"]),
        (1, &Value::Null)
    );
    for wrong in ["&status=lost", "&stauts=failed", "&limit=0", "&after=nothing"] {
        let (status, _) = door.json("get", &list(wrong), json!({})).await;
        assert_eq!(status, 400, "{wrong}");
    }
    let (_, before) = door
        .json("get", &list("&before=2020-01-01T00:00:00Z"), json!({}))
        .await;
    assert_eq!(before["items"], json!([]));

    let method = format!("{own}/methods/{}", method["methodId"].as_str().unwrap());
    let (_, changed) = door.json("patch", &method, json!({ "enabled": false })).await;
    assert_eq!(changed["enabled"], false);
    assert_eq!(door.json("delete", &method, json!({})).await.0, 204);
    assert_eq!(door.json("delete", &method, json!({})).await.0, 404);
    let (_, contacts) = door.json("get", &format!("{base}/contacts"), json!({})).await;
    assert_eq!(contacts["items"][0]["contactId"], contact["contactId"]);
}

#[tokio::test]
async fn the_page_and_the_description_are_served() {
    let door = Door::open().await;
    let (status, page) = door.call("get", "/", json!({})).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("<title>Manhunt</title>"));
    assert_eq!(
        door.json("get", "/openapi.json", json!({})).await,
        (200, openapi())
    );
}

#[tokio::test]
async fn what_never_comes_as_far_as_the_service_is_refused_in_json_too() {
    let door = Door::open().await;
    let contacts = format!("/domains/{DOMAIN}/contacts");
    let as_json = "application/json";
    let too_large = "x".repeat(3 << 20);
    for (method, path, kind, body, expected) in [
        ("GET", "/nowhere", as_json, "", 404),
        ("GET", "/domains/d0/contacts/%ff", as_json, "", 400),
        ("PUT", &contacts, as_json, "{}", 405),
        ("POST", &contacts, as_json, "{", 400),
        ("POST", &contacts, as_json, "[]", 400),
        ("POST", &contacts, as_json, r#"{"name": "Ada", "age": 36}"#, 400),
        ("POST", &contacts, "text/plain", r#"{"name": "Ada"}"#, 415),
        ("POST", &contacts, as_json, &too_large, 413),
    ] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let request = door.client.request(method, format!("{}{path}", door.base));
        let request = request.header("content-type", kind).body(body.to_owned());
        let answer = request.send().await.unwrap();
        let (status, allow) = (answer.status().as_u16(), answer.headers().contains_key("allow"));
        let text = answer.text().await.unwrap();
        assert_eq!((status, allow), (expected, expected == 405), "{path}: {text}");
        let json: Value = serde_json::from_str(&text).unwrap();
        assert!(
            json["error"].as_str().is_some_and(|error| !error.is_empty()),
            "{text}"
        );
    }
    let refused = described("post", &contacts);
    assert!(
        [400, 413, 415, 500, 503]
            .iter()
            .all(|status| refused.contains(status))
    );
}

#[tokio::test]
async fn health_and_metrics_say_what_was_sent_and_what_failed() {
    let door = Door::open().await;
    let contact = door.world.contact(&[60]).await;
    for name in ["unreachable", "fails 1"] {
        let order = if name == "unreachable" { -1 } else { 9 };
        door.world.method(&contact, text(name, 0, order)).await;
    }
    door.world.begin(&contact).await;
    door.world.settle(1).await;
    door.world.advance(60).await;
    let (status, health) = door.json("get", "/health", json!({})).await;
    assert_eq!(
        (status, health),
        (200, json!({ "status": "ok", "deadLetters": 0 }))
    );
    let (status, metrics) = door.call("get", "/metrics", json!({})).await;
    assert_eq!(status, StatusCode::OK);
    for line in [
        "manhunt_notice_seconds_count{type=\"text\",result=\"sent\"} 1",
        "manhunt_notice_seconds_count{type=\"webhook\",result=\"failed\"} 1",
        "manhunt_notice_seconds_count{type=\"webhook\",result=\"retried\"} 1",
        "# TYPE manhunt_notice_seconds summary",
        "manhunt_notice_seconds_sum{type=\"text\",result=\"sent\"} 0",
        "manhunt_dead_letters 0",
        "manhunt_receivers 0",
    ] {
        assert!(
            metrics.lines().any(|said| said == line),
            "{line} is not in:\n{metrics}"
        );
    }
}

#[tokio::test]
async fn a_contact_comes_with_its_methods_and_newest_searches_in_one_request_and_lists_in_pages() {
    let door = Door::open().await;
    let contact = door.world.contact(&[60]).await;
    let mut begun = Vec::new();
    for _ in 0..12 {
        begun.push(door.world.begin(&contact).await);
        door.world.clock.advance(std::time::Duration::from_secs(1));
    }
    begun.reverse();
    let base = format!("/domains/{DOMAIN}");
    let (_, shown) = door
        .json("get", &format!("{base}/contacts/{contact}"), json!({}))
        .await;
    let ids = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["searchId"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&shown["searches"]), begun[..10]);
    let next = shown["searches"]["next"].as_str().unwrap();
    let older = format!("{base}/searches?contact={contact}&newest=true&limit=10&after={next}");
    let (_, page) = door.json("get", &older, json!({})).await;
    assert_eq!((ids(&page), &page["next"]), (begun[10..].to_vec(), &Value::Null));
    for name in ["A", "B", "C"] {
        door.json("post", &format!("{base}/contacts"), json!({ "name": name }))
            .await;
    }
    let (_, page) = door
        .json("get", &format!("{base}/contacts?limit=3"), json!({}))
        .await;
    let names = |page: &Value| -> String {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["name"].as_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(names(&page), "A B C");
    let next = page["next"].as_str().unwrap();
    let (_, page) = door
        .json("get", &format!("{base}/contacts?limit=3&after={next}"), json!({}))
        .await;
    assert_eq!(
        (names(&page).as_str(), &page["next"]),
        ("Zavier Curtis", &Value::Null)
    );
    let (status, changed) = door
        .json(
            "patch",
            &format!("{base}/contacts/{contact}"),
            json!({ "name": "Z", "timeZone": "Asia/Tokyo" }),
        )
        .await;
    assert_eq!((status, &changed["timeZone"]), (200, &json!("Asia/Tokyo")));
    let own = format!("{base}/contacts/{contact}");
    assert_eq!(door.json("delete", &own, json!({})).await.0, 204);
    assert_eq!(door.json("delete", &own, json!({})).await.0, 404);
    let search = format!("{base}/searches/{}", begun[0]);
    let (status, left) = door.json("get", &search, json!({})).await;
    assert_eq!(
        (status, &left["contact"]),
        (200, &Value::Null),
        "what was searched for stays on record"
    );
    assert_eq!(left["search"]["status"], "canceled");
    let (status, replayed) = door
        .json("post", &format!("{base}/dead-letters/replay"), json!({}))
        .await;
    assert_eq!((status, replayed), (200, json!({ "replayed": 0 })));
    let (_, letters) = door.json("get", &format!("{base}/dead-letters"), json!({})).await;
    assert_eq!(letters, json!({ "items": [] }));
}
