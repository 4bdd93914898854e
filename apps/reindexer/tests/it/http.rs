//! The HTTP API over a socket, and its description.

use std::collections::BTreeSet;
use std::sync::Arc;

use reindexer::{Source, api};
use serde_json::{Value, json};

use crate::support::{World, sierra};

const METHODS: [&str; 3] = ["get", "post", "put"];

/// The API on a port of its own.
struct Door {
    world: World,
    base: String,
    client: reqwest::Client,
}

impl Door {
    async fn open() -> Self {
        // An error means that one is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let world = World::new().await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = api::router(Arc::clone(world.app()));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let client = reqwest::Client::new();
        Self { world, base, client }
    }

    /// Status and JSON of an answer; the status must be one that the description knows.
    async fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = self.client.request(
            method.to_uppercase().parse().unwrap(),
            format!("{}{path}", self.base),
        );
        let answer = request.json(body).send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        let known = described(method, path);
        assert!(
            known.contains(&status),
            "{method} {path}: {status} is none of {known:?}: {text}"
        );
        let json: Value = serde_json::from_str(&text).unwrap_or_default();
        assert!(
            status < 400 || json["error"].is_string(),
            "{method} {path}: {text}"
        );
        (status, json)
    }
}

fn openapi() -> Value {
    serde_json::from_str(include_str!("../../openapi.json")).unwrap()
}

/// The statuses that the description has for a path.
fn described(method: &str, path: &str) -> BTreeSet<u16> {
    let asked: Vec<&str> = path.split('?').next().unwrap().split('/').collect();
    let fits = |template: &str| {
        let parts: Vec<&str> = template.split('/').collect();
        parts.len() == asked.len()
            && parts
                .iter()
                .zip(&asked)
                .all(|(part, asked)| part.starts_with('{') || part == asked)
    };
    let openapi = openapi();
    let paths = openapi["paths"].as_object().unwrap();
    let (_, found) = paths.iter().find(|(template, _)| fits(template)).unwrap();
    let statuses = found[method]["responses"].as_object().unwrap();
    statuses.keys().map(|status| status.parse().unwrap()).collect()
}

#[tokio::test]
async fn every_path_is_described_and_every_description_answers() {
    let door = Door::open().await;
    let openapi = openapi();
    let described: BTreeSet<_> = openapi["paths"].as_object().unwrap().keys().cloned().collect();
    let served = api::routes().into_iter().map(|(path, _)| path);
    let served: BTreeSet<_> = served.chain(["/", "/openapi.json"]).map(str::to_owned).collect();
    assert_eq!(described, served);
    for (path, item) in openapi["paths"].as_object().unwrap() {
        let path = path.replace("{source}", "sierra").replace("{id}", "9999999");
        let path = path.replace(['{', '}'], "");
        for method in METHODS {
            let request = door.client.request(
                method.to_uppercase().parse().unwrap(),
                format!("{}{path}", door.base),
            );
            let status = request.json(&json!({})).send().await.unwrap().status().as_u16();
            assert_eq!(status == 405, item[method].is_null(), "{method} {path}: {status}");
            // Any call of the database may find it busy.
            let is_fixed = ["/", "/openapi.json", "/jobs"].contains(&path.as_str());
            let busy = &item[method]["responses"]["503"];
            assert_eq!(busy.is_null(), is_fixed || status == 405, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn a_catalogue_is_filled_reindexed_searched_and_mended_over_http() {
    let door = Door::open().await;
    let nothing = Value::Null;
    assert_eq!(door.call("get", "/search?query=fevers", &nothing).await.0, 404);
    assert_eq!(
        door.call("put", "/pipelines/one", &json!({ "transformer": 1 }))
            .await
            .0,
        201
    );
    assert_eq!(
        door.call("put", "/pipelines/one", &json!({ "transformer": 1 }))
            .await
            .0,
        409
    );
    assert_eq!(
        door.call("put", "/pipelines/two", &json!({ "transformer": 9 }))
            .await
            .0,
        400
    );
    let image = json!({ "image_title": "A pharmacist", "image_keywords": ["Scales"] });
    let put = "/sources/miro/V0000001?isClearedForCatalogueAPI=true";
    let (status, row) = door.call("put", put, &image).await;
    assert_eq!(
        (status, &row["version"], &row["isClearedForCatalogueAPI"]),
        (200, &json!(1), &json!(true))
    );
    assert_eq!(door.call("put", "/sources/sierra/b1", &image).await.0, 400);
    assert_eq!(door.call("get", "/sources/miro/V0000001", &nothing).await.1, row);
    door.world.load(Source::Sierra, 3).await;
    door.world.settle().await;
    assert_eq!(door.call("post", "/pipelines/one/serve", &nothing).await.0, 200);
    let (_, found) = door
        .call("get", "/search?query=pharmacists&source=miro", &nothing)
        .await;
    assert_eq!(
        (&found["total"], &found["works"][0]["id"]),
        (&json!(1), &json!("V0000001"))
    );

    assert_eq!(
        door.call("put", "/pipelines/two", &json!({ "transformer": 2 }))
            .await
            .0,
        201
    );
    let (status, refused) = door.call("post", "/pipelines/two/serve", &nothing).await;
    let said = refused["error"].as_str().unwrap();
    assert_eq!(status, 409);
    for part in ["lacks 4 records", &sierra(0), "V0000001", "?force=true"] {
        assert!(said.contains(part), "{said}");
    }
    let serving = async || door.call("get", "/pipelines", &nothing).await.1["serving"].clone();
    assert_eq!(serving().await, json!("one"));
    let (status, forced) = door
        .call("post", "/pipelines/two/serve?force=true", &nothing)
        .await;
    assert_eq!((status, serving().await), (200, json!("two")));
    let warning = forced["warnings"][0].as_str().unwrap();
    assert!(warning.contains("lacks 4 records"), "{warning}");

    let asked = json!({ "source": "all", "destination": "catalogue" });
    let (status, started) = door.call("post", "/reindexes", &asked).await;
    assert_eq!((status, started["runs"].as_array().unwrap().len()), (202, 5));
    door.world.settle().await;
    let run = format!("/reindexes/{}", started["runs"][0].as_str().unwrap());
    let (_, run) = door.call("get", &run, &nothing).await;
    assert_eq!(
        (
            &run["sending"]["counts"]["done"],
            &run["sending"]["state"],
            &run["jobConfigId"]
        ),
        (&json!(3), &json!("done"), &json!("sierra--catalogue"))
    );
    assert_eq!(
        door.call("get", "/reindexes", &nothing)
            .await
            .1
            .as_array()
            .unwrap()
            .len(),
        5
    );
    assert_eq!(
        door.call("get", "/pipelines/two/gaps", &nothing).await.1,
        json!([])
    );
    let (_, status) = door.call("get", "/pipelines/two/status", &nothing).await;
    assert_eq!(
        (
            &status["sources"]["sierra"]["indexed"],
            &status["sources"]["miro"]["rows"]
        ),
        (&json!(3), &json!(1))
    );
    assert_eq!(
        door.call("post", "/pipelines/two/serve", &nothing).await,
        (200, json!({ "warnings": [] }))
    );
    let (_, work) = door.call("get", "/works/V0000001", &nothing).await;
    assert_eq!(work["subjects"], json!(["Scales"]));
    assert_eq!(
        door.call("get", "/pipelines", &nothing).await.1["serving"],
        json!("two")
    );

    door.world.objects.lose(&sierra(0));
    let withdraw = door
        .client
        .delete(format!("{}/sources/sierra/{}", door.base, sierra(0)));
    assert_eq!(withdraw.send().await.unwrap().status(), 200);
    door.world.settle().await;
    let (_, letters) = door
        .call("get", "/queues/two-transformer/dead-letters", &nothing)
        .await;
    assert!(
        letters[0]["reason"]
            .as_str()
            .unwrap()
            .contains("the shelf is empty"),
        "{letters}"
    );
    door.world.objects.find();
    assert_eq!(
        door.call("post", "/redrive/one-transformer", &nothing).await.0,
        202
    );
    assert_eq!(
        door.call("post", "/pipelines/two/resend", &nothing).await.1,
        json!({ "sent": 1 })
    );
    door.world.until_full("one").await;
    door.world.until_full("two").await;
    assert_eq!(
        door.call("get", "/works/1000001", &nothing).await.1["kind"],
        json!("deleted")
    );
}

#[tokio::test]
async fn what_is_refused_says_why() {
    let door = Door::open().await;
    let lonely = json!({ "source": "sierra", "destination": "catalogue" });
    let (status, refused) = door.call("post", "/reindexes", &lonely).await;
    assert_eq!(status, 409);
    assert!(
        refused["error"].as_str().unwrap().contains("--force"),
        "{refused}"
    );
    let forced = json!({ "source": "sierra", "destination": "catalogue", "force": true, "design": "shards" });
    let (status, started) = door.call("post", "/reindexes", &forced).await;
    assert_eq!((status, started["warnings"].as_array().unwrap().len()), (202, 1));
    for (method, path, status) in [
        ("get", "/sources/opac/1", 404),
        ("put", "/sources/opac/1", 404),
        ("get", "/sources/sierra/1234567", 404),
        ("get", "/pipelines/none/status", 404),
        ("post", "/pipelines/none/serve", 404),
        ("get", "/reindexes/none", 404),
        ("get", "/queues/none/dead-letters", 404),
        ("post", "/redrive/none", 404),
        ("get", "/works/none", 404),
    ] {
        assert_eq!(door.call(method, path, &Value::Null).await.0, status, "{path}");
    }
    assert_eq!(
        door.call("get", "/jobs", &Value::Null)
            .await
            .1
            .as_array()
            .unwrap()
            .len(),
        10
    );
}
