//! The API, byte by byte.

use std::collections::BTreeSet;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use klayers::http::{Service, routes};
use klayers::{Files, Force, LayerStore as _};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::support::{PYTHON, REGION, TOKEN, World, files};

async fn served() -> (World, Router) {
    let world = World::new();
    world.deploy_versions("requests", REGION, &["1.0", "2.0"]).await;
    world.deploy_versions("a<b", REGION, &["0,1"]).await;
    let old = world.app.build("idna", "p3.8", Force::default()).await.unwrap();
    world.app.deploy(REGION, &old).await.unwrap();
    let api = world.served(Files::default());
    (world, api)
}

#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    status: StatusCode,
    kind: String,
    disposition: Option<String>,
    cache: Option<String>,
    body: String,
}

async fn ask(api: &Router, method: Method, path: &str) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
        .body(Body::empty())
        .unwrap();
    let response = api.clone().oneshot(request).await.unwrap();
    let head = |name| {
        response
            .headers()
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let (kind, disposition) = (head(header::CONTENT_TYPE), head(header::CONTENT_DISPOSITION));
    let cache = head(header::CACHE_CONTROL);
    let status = response.status();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    Answer {
        status,
        kind: kind.unwrap_or_default(),
        disposition,
        cache,
        body: String::from_utf8(body.to_vec()).unwrap(),
    }
}

pub(crate) async fn get(api: &Router, path: &str) -> Answer {
    let answer = ask(api, Method::GET, path).await;
    assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
    answer
}

const LATEST: &str = concat!(
    r#"[{"package":"a<b","packageVersion":"0,1","arn":"arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-a-b:1"},"#,
    r#"{"package":"requests","packageVersion":"2.0","arn":"arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-requests:2"}]"#,
);

const HTML: &str = "<h1>Layers for p3.12 in eu-west-1</h1>
<table>
<tr><th>Package</th><th>Package Version</th><th>arn</th></tr>
<tr><td>a&lt;b</td><td>0,1</td><td>arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-a-b:1</td></tr>
<tr><td>requests</td><td>2.0</td><td>arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-requests:2</td></tr>
</table>
";

#[tokio::test]
async fn point_10_the_latest_layers_as_json_csv_and_html() {
    let (_world, api) = served().await;
    for path in ["", "/json"] {
        let json = get(&api, &format!("/api/v2/p3.12/layers/latest/eu-west-1{path}")).await;
        assert_eq!(
            (json.kind.as_str(), json.body.as_str()),
            ("application/json", LATEST)
        );
        assert_eq!(json.cache.as_deref(), Some("public, max-age=3600"));
    }
    let csv = get(&api, "/api/v2/p3.12/layers/latest/eu-west-1/csv").await;
    assert_eq!(csv.kind, "text/csv");
    assert_eq!(
        csv.disposition.as_deref(),
        Some("attachment; filename=\"klayers-eu-west-1-p3.12.csv\"")
    );
    assert_eq!(
        csv.body,
        "Package,Package Version,arn\r\n\
         a<b,\"0,1\",arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-a-b:1\r\n\
         requests,2.0,arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-requests:2\r\n"
    );
    let html = get(&api, "/api/v2/p3.12/layers/latest/eu-west-1/html").await;
    assert_eq!(html.kind, "text/html; charset=utf-8");
    assert!(html.body.contains(HTML), "{}", html.body);
}

#[tokio::test]
async fn point_10_versions_and_builds_with_their_long_names() {
    let (_world, api) = served().await;
    let versions = get(&api, "/api/v2/p3.12/layers/eu-west-1/requests").await;
    assert_eq!(
        versions.body,
        concat!(
            r#"[{"packageVersion":"1.0","arn":"arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-requests:1","#,
            r#""deployStatus":"deprecated","dependencies":["idna==3.10","requests==1.0"],"expiryDate":"2028-01-15T08:00:00"},"#,
            r#"{"packageVersion":"2.0","arn":"arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p312-requests:2","#,
            r#""deployStatus":"latest","dependencies":["idna==3.10","requests==2.0"]}]"#,
        )
    );
    let builds = get(&api, "/api/v2/p3.12/builds/latest").await;
    assert_eq!(
        builds.body,
        concat!(
            r#"[{"package":"a<b","packageVersion":"0,1","dependencies":["idna==3.10","a<b==0,1"],"createdDateTime":"2027-01-15T08:00:00"},"#,
            r#"{"package":"requests","packageVersion":"2.0","dependencies":["idna==3.10","requests==2.0"],"createdDateTime":"2027-01-15T08:00:00"}]"#,
        )
    );
}

#[tokio::test]
async fn point_10_the_first_version_is_about_python_38_and_knows_single_packages() {
    let (_world, api) = served().await;
    let arn = "arn:aws:lambda:eu-west-1:000000000000:layer:Klayers-p38-idna:1";
    let latest = get(&api, "/api/v1/layers/latest/eu-west-1").await;
    assert_eq!(
        latest.body,
        format!(r#"[{{"package":"idna","packageVersion":"1.0","arn":"{arn}"}}]"#)
    );
    let csv = get(&api, "/api/v1/layers/latest/eu-west-1/csv").await;
    assert_eq!(
        csv.body,
        format!("Package,Package Version,arn\r\nidna,1.0,{arn}\r\n")
    );
    assert_eq!(
        csv.disposition.as_deref(),
        Some("attachment; filename=\"klayers-eu-west-1-p3.8.csv\"")
    );
    let html = get(&api, "/api/v1/layers/latest/eu-west-1/html").await;
    let rows = format!(
        "<tr><th>Package</th><th>Package Version</th><th>arn</th></tr>\n<tr><td>idna</td><td>1.0</td><td>{arn}</td></tr>\n"
    );
    let page = include_str!("../../table.html").replace("{title}", "Layers for p3.8 in eu-west-1");
    assert_eq!(
        (html.kind.as_str(), html.body),
        ("text/html; charset=utf-8", page.replace("{rows}", &rows))
    );
    let one = get(&api, "/api/v1/layers/latest/eu-west-1/idna").await;
    assert_eq!(
        one.body,
        format!(
            r#"{{"package":"idna","packageVersion":"1.0","region":"eu-west-1","arn":"{arn}","dependencies":["idna==3.10","idna==1.0"]}}"#
        )
    );
    let versions = get(&api, "/api/v1/layers/eu-west-1/idna").await;
    assert_eq!(
        versions.body,
        format!(
            r#"[{{"packageVersion":"1.0","arn":"{arn}","deployStatus":"latest","dependencies":["idna==3.10","idna==1.0"]}}]"#
        )
    );
    let builds = get(&api, "/api/v1/builds/latest").await;
    assert_eq!(
        builds.body,
        r#"[{"package":"idna","packageVersion":"1.0","dependencies":["idna==3.10","idna==1.0"],"createdDateTime":"2027-01-15T08:00:00"}]"#
    );
}

#[tokio::test]
async fn point_10_what_nobody_knows_is_empty_and_no_error() {
    let (_world, api) = served().await;
    for (path, body) in [
        ("/api/v2/p3.12/layers/latest/nowhere", "[]"),
        ("/api/v2/p9.9/layers/latest/eu-west-1", "[]"),
        ("/api/v2/p3.12/layers/eu-west-1/unknown", "[]"),
        ("/api/v2/p9.9/builds/latest", "[]"),
        ("/api/v1/layers/latest/eu-west-1/requests", "{}"),
        (
            "/api/v2/p3.12/layers/latest/nowhere/csv",
            "Package,Package Version,arn\r\n",
        ),
        // No key can contain these characters, so no row has such a name.
        ("/api/v2/p3.12/layers/latest/eu:west-1", "[]"),
        ("/api/v2/p3.12/layers/latest/eu-west-1/a:b", "{}"),
        ("/api/v2/p3.12/layers/eu-west-1/a:b", "[]"),
        ("/api/v2/p3.12/layers//requests", "[]"),
        ("/api/v2/p3:12/builds/latest", "[]"),
        ("/api/v1/layers/latest/%00/csv", "Package,Package Version,arn\r\n"),
        ("/api/v1/config/p9.9/pckgs", "[]"),
        ("/api/v1/config/p3.12/unknown", "[]"),
        ("/api/v1/configS3/p9.9/pckgs", "[]"),
        ("/api/v1/configS3/p3.12/unknown", "[]"),
        ("/api/v2/p3.12/packages/unknown", "[]"),
        ("/api/v2/p3.12/packages/a:b", "[]"),
    ] {
        assert_eq!(get(&api, path).await.body, body, "{path}");
    }
}

#[tokio::test]
async fn what_cannot_be_answered_says_why() {
    let (world, api) = served().await;
    let long = "a".repeat(3000);
    let builds = "/api/v1/builds/latest";
    for (method, path, status, reason) in [
        (Method::GET, "/nowhere", 404, "/openapi.json says what there is"),
        (
            Method::GET,
            "/api/v2/p3.12/nothing",
            404,
            "/openapi.json says what there is",
        ),
        (
            Method::GET,
            "/api/v1/layers/latest/%FF",
            400,
            "Invalid UTF-8 in `region`",
        ),
        (
            Method::GET,
            &format!("/api/v1/layers/latest/eu-west-1/{long}"),
            400,
            "2048 bytes",
        ),
        (
            Method::GET,
            &format!("/api/v1/config/{long}/pckgs"),
            400,
            "1024 bytes",
        ),
        (Method::DELETE, builds, 405, "405 Method Not Allowed"),
        (Method::GET, "/api/v1/load-config", 405, "405 Method Not Allowed"),
        (
            Method::POST,
            "/api/v1/runs?force_build=perhaps",
            400,
            "force_build",
        ),
        (Method::HEAD, builds, 200, ""),
    ] {
        let answer = ask(&api, method.clone(), path).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {}", answer.body);
        assert!(answer.body.contains(reason), "{method} {path}: {}", answer.body);
        assert_eq!(
            answer.body.is_empty(),
            reason.is_empty(),
            "{method} {path}: {}",
            answer.body
        );
        assert_eq!(answer.cache.is_some(), status == 200, "{method} {path}");
    }
    world.database.fail_after(0, false);
    let failed = ask(&api, Method::GET, builds).await;
    assert_eq!(
        (failed.status, failed.cache),
        (StatusCode::SERVICE_UNAVAILABLE, None),
        "the same request may succeed later"
    );
    assert!(failed.body.starts_with(r#"{"error":"#), "{}", failed.body);
}

#[tokio::test]
async fn the_lists_are_those_of_the_files_and_in_the_table_once_they_are_loaded() {
    let place = tempfile::tempdir().unwrap();
    let files = Files {
        packages: Some(place.path().join("packages.csv")),
        regions: Some(place.path().join("regions.csv")),
        pythons: vec![PYTHON.into()],
    };
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    write("packages.csv", "package,version,requires\nrequests,1.0,\n");
    write("regions.csv", "region\neu-west-1\n ap-east-1\n");
    let world = World::new();
    let api = world.served(files);
    let lists = async |config: &str| {
        let packages = get(&api, &format!("/api/v1/{config}/p3.12/pckgs")).await.body;
        let regions = get(&api, &format!("/api/v1/{config}/p3.12/rgns")).await.body;
        (packages, regions)
    };
    let in_files = (
        r#"["requests"]"#.to_owned(),
        r#"["eu-west-1","ap-east-1"]"#.to_owned(),
    );
    let nothing = ("[]".to_owned(), "[]".to_owned());
    assert_eq!(lists("configS3").await, in_files);
    assert_eq!(lists("config").await, nothing);
    assert_eq!(get(&api, "/api/v1/python-versions").await.body, "[]");

    let load = async || ask(&api, Method::POST, "/api/v1/load-config").await.body;
    assert_eq!(load().await, r#"{"changed":3}"#);
    assert_eq!(load().await, r#"{"changed":0}"#);
    assert_eq!(lists("config").await, in_files);
    let pythons = get(&api, "/api/v1/python-versions").await;
    assert_eq!((pythons.body.as_str(), pythons.cache), (r#"["p3.12"]"#, None));

    // A package is added without restarting the program.
    write(
        "packages.csv",
        "package,version,requires\nidna,3.10,\nrequests,1.0,\n",
    );
    assert_eq!(lists("configS3").await.0, r#"["idna","requests"]"#);
    assert_eq!(lists("config").await, in_files);
    assert_eq!(load().await, r#"{"changed":1}"#);
    assert_eq!(lists("config").await.0, r#"["idna","requests"]"#);
}

#[tokio::test]
async fn every_operation_of_the_openapi_document_answers_and_every_route_is_in_it() {
    let (world, api) = served().await;
    let requests = world
        .app
        .build("requests", "p3.8", Force::default())
        .await
        .unwrap();
    world.app.deploy(REGION, &requests).await.unwrap();
    world.run_to_its_end(&world.runs(files(), None)).await;
    let document: Value = serde_json::from_str(&get(&api, "/openapi.json").await.body).unwrap();
    let mut documented = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            documented.insert((path.clone(), method.clone()));
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let concrete = parameters.fold(path.clone(), |path, parameter| {
                let name = format!("{{{}}}", parameter["name"].as_str().unwrap());
                path.replace(&name, parameter["example"].as_str().unwrap())
            });
            assert!(
                !concrete.contains('{'),
                "{path} has a parameter that is not described"
            );
            let is_post = method == "post";
            let success = if concrete == "/api/v1/runs" && is_post {
                "202"
            } else {
                "200"
            };
            let answer = ask(&api, method.to_uppercase().parse().unwrap(), &concrete).await;
            assert_eq!(answer.status.as_str(), success, "{concrete}: {}", answer.body);
            let content = &operation["responses"][success]["content"];
            let kind = answer.kind.split(';').next().unwrap();
            let schema = &content[kind]["schema"];
            assert!(schema.is_object(), "{concrete}: {kind} is not described");
            if kind == "application/json" && path != "/openapi.json" {
                fits(&document, schema, &serde_json::from_str(&answer.body).unwrap());
            }
            let mut errors: Vec<&str> = vec![success];
            errors.extend(operation["parameters"].is_array().then_some("400"));
            errors.extend(is_post.then_some("403"));
            errors.extend((success == "202").then_some("409"));
            errors.extend((path.starts_with("/api")).then_some("500"));
            let described = operation["responses"].as_object().unwrap().keys();
            assert!(described.eq(errors), "{path}");
        }
    }
    assert_eq!(documented, in_source());
    let latest = format!("/api/v2/{PYTHON}/layers/latest/{REGION}/requests");
    let head = serde_json::from_str(&get(&api, &latest).await.body).unwrap();
    fits(&document, &json!({"$ref": "#/components/schemas/Head"}), &head);
    let failed = json!({"$ref": "#/components/schemas/Error"});
    fits(&document, &failed, &json!({"error": "as the server's errors"}));
}

/// A value has everything that its schema requires, and nothing that the schema does not know.
fn fits(document: &Value, schema: &Value, value: &Value) {
    let schema = match schema["$ref"].as_str() {
        Some(place) => document.pointer(place.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    match value {
        Value::Array(values) => {
            assert_eq!(schema["type"], "array", "{value}");
            assert!(
                !values.is_empty() || schema["items"]["type"] == "string",
                "nothing to look at"
            );
            values
                .iter()
                .for_each(|value| fits(document, &schema["items"], value));
        }
        Value::Object(members) => {
            assert_eq!(schema["type"], "object", "{value}");
            let required = schema["required"].as_array().into_iter().flatten();
            for name in required.filter_map(Value::as_str) {
                assert!(members.contains_key(name), "{name} is missing in {value}");
            }
            for (name, member) in members {
                fits(document, &schema["properties"][name], member);
            }
        }
        Value::String(_) => assert_eq!(schema["type"], "string", "{value}"),
        Value::Number(_) => assert_eq!(schema["type"], "integer", "{value}"),
        Value::Bool(_) => assert_eq!(schema["type"], "boolean", "{value}"),
        other => panic!("{other} is nowhere described"),
    }
}

/// The routes as the program declares them.
fn in_source() -> BTreeSet<(String, String)> {
    let source = include_str!("../../src/http.rs");
    let routes = source.split(".route(\"").skip(1);
    let of_every_site = ["/", "/openapi.json"].map(|path| (path.to_owned(), "get".to_owned()));
    let of_api = routes.filter(|route| route.starts_with("/api"));
    of_api
        .map(|route| {
            let (path, rest) = route.split_once("\", ").unwrap();
            let (method, _) = rest.split_once('(').unwrap();
            (path.to_owned(), method.to_owned())
        })
        .chain(of_every_site)
        .collect()
}

#[tokio::test]
async fn a_package_in_every_region_is_one_answer() {
    let (world, api) = served().await;
    world.deploy_versions("requests", "us-east-1", &["2.0"]).await;
    let answer = get(&api, "/api/v2/p3.12/packages/requests").await;
    let rows: Vec<Value> = serde_json::from_str(&answer.body).unwrap();
    let shown: Vec<_> = rows
        .iter()
        .map(|row| {
            (
                row["region"].as_str().unwrap(),
                row["packageVersion"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(shown, [("eu-west-1", "2.0"), ("us-east-1", "2.0")]);
    assert_eq!(rows[0]["codeSize"], json!("idna==3.10\nrequests==2.0".len()));
    assert_eq!(
        rows[1]["arn"],
        "arn:aws:lambda:us-east-1:000000000000:layer:Klayers-p312-requests:1"
    );
}

#[tokio::test]
async fn what_changes_something_needs_the_token() {
    let (world, api) = served().await;
    let closed = routes(Service {
        token: None,
        base_url: None,
        runs: world.runs(files(), None),
    });
    let post = async |api: &Router, path: &str, given: Option<&str>| {
        let request = Request::builder().method(Method::POST).uri(path);
        let request = match given {
            Some(given) => request.header(header::AUTHORIZATION, given),
            None => request,
        };
        let answer = api
            .clone()
            .oneshot(request.body(Body::empty()).unwrap())
            .await
            .unwrap();
        let status = answer.status();
        let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    };
    let bearer = format!("Bearer {TOKEN}");
    for path in [
        "/api/v1/load-config",
        "/api/v1/runs",
        "/2018-10-31/layers/mine/versions",
    ] {
        for given in [
            None,
            Some("Bearer wrong"),
            Some("Bearer "),
            Some("AWS4-HMAC-SHA256 Credential=wrong/1/r/lambda"),
        ] {
            let (status, body) = post(&api, path, given).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{path} {given:?}");
            assert!(body.contains("needs the server's token"), "{body}");
        }
        let (status, body) = post(&closed, path, Some(&bearer)).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}");
        assert!(body.contains("without KLAYERS_TOKEN"), "{body}");
        assert_ne!(
            post(&api, path, Some(&bearer)).await.0,
            StatusCode::FORBIDDEN,
            "{path}"
        );
    }
    assert_eq!(
        post(&api, "/api/v1/load-config", Some(&bearer)).await.0,
        StatusCode::OK
    );
}

/// What a call of Lambda is answered with, by a server that was called by this name.
async fn called(api: &Router, host: &str, path: &str, body: Option<&Value>) -> Value {
    let request = match body {
        Some(_) => Request::post(path).header(header::CONTENT_TYPE, "application/json"),
        None => Request::get(path),
    };
    let request = request
        .header(header::HOST, host)
        .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
        .body(body.map_or_else(Body::empty, |body| Body::from(body.to_string())));
    let answer = api.clone().oneshot(request.unwrap()).await.unwrap();
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[tokio::test]
async fn urls_of_zips_begin_with_the_address_of_the_proxy_or_with_the_host_that_was_called() {
    let world = World::new();
    let (named, inside) = ("https://layers.example.org/klayers", "127.0.0.1:8080");
    let behind_proxy = routes(Service {
        token: Some(TOKEN.to_owned()),
        base_url: Some(named.to_owned()),
        runs: world.runs(files(), None),
    });
    let alone = world.served(Files::default());
    let layer = format!("arn:aws:lambda:{REGION}:1:layer:mine");
    let versions = format!("/2018-10-31/layers/{layer}/versions");
    let mut published = 0;
    for (api, base) in [(&behind_proxy, named), (&alone, "http://127.0.0.1:8080")] {
        // An empty zip.
        let content = format!("UEsFBg{}==", "A".repeat(24));
        let content = json!({"Content": {"ZipFile": content}, "CompatibleRuntimes": ["python3.12"]});
        let made = called(api, inside, &versions, Some(&content)).await;
        published += 1;
        let arn = made["LayerVersionArn"].as_str().unwrap();
        let location = format!("{base}/layers/{arn}");
        assert_eq!(made["Content"]["Location"], location);
        let by_version = called(api, inside, &format!("{versions}/{published}"), None).await;
        assert_eq!(by_version["Content"]["Location"], location);
        let by_arn = format!("/2018-10-31/layers?find=LayerVersion&Arn={arn}");
        let by_arn = called(api, inside, &by_arn, None).await;
        assert_eq!(by_arn["Content"]["Location"], location);
        // The proxy hands on what lies behind its own address.
        let path = location.strip_prefix(base).unwrap();
        let zip = get(api, path).await;
        assert_eq!(zip.kind, "application/zip");
        assert_eq!(json!(zip.body.len()), made["Content"]["CodeSize"]);
    }
    let elsewhere = called(&alone, "tunnel:9000", &format!("{versions}/1"), None).await;
    let location = elsewhere["Content"]["Location"].as_str().unwrap();
    assert!(
        location.starts_with("http://tunnel:9000/layers/arn:"),
        "{location}"
    );
    let other = called(&behind_proxy, "tunnel:9000", &format!("{versions}/1"), None).await;
    let location = other["Content"]["Location"].as_str().unwrap();
    assert!(location.starts_with(named), "{location}");
}

#[tokio::test]
async fn a_layer_that_lambda_would_not_name_so_is_not_published() {
    let (world, api) = served().await;
    let content = json!({"Content": {"ZipFile": "UEsFBg=="}, "CompatibleRuntimes": ["python3.12"]});
    let publish = async |region: &str, layer: &str| {
        let path = format!("/2018-10-31/layers/arn:aws:lambda:{region}:1:layer:{layer}/versions");
        let request = Request::post(path)
            .header(header::AUTHORIZATION, format!("Bearer {TOKEN}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(content.to_string()));
        api.clone().oneshot(request.unwrap()).await.unwrap().status()
    };
    let stored = world.layers.list().await.unwrap().len();
    let long = "a".repeat(141);
    for (region, layer) in [("eu-west-1", "a%2525b"), ("..", "mine"), ("eu-west-1", &long)] {
        assert_eq!(
            publish(region, layer).await,
            StatusCode::BAD_REQUEST,
            "{region} {layer}"
        );
    }
    assert_eq!(world.layers.list().await.unwrap().len(), stored);
    assert_eq!(publish("eu-west-1", &long[1..]).await, StatusCode::CREATED);
}
