//! The parts of the API without an acceptance point: lists, descriptions, and mistakes in requests.

use reqwest::Method;
use serde_json::{Value, json};
use trestle::app::paths_of;

use crate::support::{Pkg, World};

#[tokio::test]
async fn point_15_packages_come_in_pages_and_are_found_by_name_and_keyword() {
    let world = World::new().await;
    for number in 0..7 {
        let package = Pkg::new(&format!("p{number}"), "1.0.0").with("build", json!(false));
        world
            .publish(&package.with("keywords", json!(["all", format!("c#{}", number % 2)])))
            .await;
    }
    world
        .publish(&Pkg::new("@scope/q", "1.0.0").with("build", json!(false)))
        .await;
    let (mut names, mut after, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = world.read(&format!("/packages?limit=3{after}")).await;
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 3);
        names.extend(items.iter().map(|item| item["name"].as_str().unwrap().to_owned()));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(names, ["@scope/q", "p0", "p1", "p2", "p3", "p4", "p5", "p6"]);
    assert!(pages >= 3, "{pages}");
    assert_eq!(
        world.read("/packages?prefix=@scope/").await["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let search = json!({ "keyword": "c#1" });
    let (_, found) = world.call(Method::POST, "/packages/search", Some(&search)).await;
    let found: Vec<&Value> = found["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["name"])
        .collect();
    assert_eq!(found, ["p1", "p3", "p5"]);
    assert_eq!(world.get("/packages?after=nonsense").await.0, 400);
    assert_eq!(world.get("/packages/none").await.0, 404);
}

#[tokio::test]
async fn an_environment_has_a_latest_of_its_own_and_a_packument_has_a_tag() {
    let world = World::new().await;
    for version in ["1.0.0", "2.0.0"] {
        world.publish_and_build(&Pkg::new("p", version)).await;
    }
    assert_eq!(world.tag("p", "test", "1.0.0").await, 201);
    let ask = || world.client.get(format!("{}/p", world.url));
    let answer = ask().header("registry-environment", "test").send().await.unwrap();
    let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
    let packument: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(packument["dist-tags"]["latest"], "1.0.0");
    let again = ask()
        .header("registry-environment", "test")
        .header("if-none-match", &tag);
    assert_eq!(again.send().await.unwrap().status(), 304);
    let plain = ask().header("if-none-match", &tag).send().await.unwrap();
    assert_eq!(plain.status(), 200, "the latest of all is another");
}

#[tokio::test]
async fn errors_are_json_and_name_what_is_wrong() {
    let world = World::new().await;
    world
        .publish(&Pkg::new("p", "1.0.0").with("build", json!(false)))
        .await;
    let asked = [
        (Method::GET, "/builds/p/nowhere", 400, "nowhere"),
        (Method::GET, "/builds/p/dev", 404, "no build of p in dev"),
        (Method::GET, "/builds/p/dev/1", 400, "version"),
        (Method::GET, "/status/q/dev", 404, "status of q in dev"),
        (Method::GET, "/progress/q/dev", 404, "status of q in dev"),
        (Method::GET, "/-/package/q/dist-tags", 404, "'q' in the registry"),
        (Method::GET, "/p/-/p-2.0.0.tgz", 404, "p@2.0.0"),
        (Method::GET, "/p/-/q-1.0.0.tgz", 404, "q-1.0.0.tgz"),
        (Method::GET, "/cdn/none.js", 404, "none.js"),
        (Method::PATCH, "/promote/p/test/1.0.0", 409, "no `build`"),
        (Method::DELETE, "/p", 405, "openapi.json"),
        (Method::GET, "/a/b/c/d", 404, "openapi.json"),
        (
            Method::DELETE,
            "/-/package/p/dist-tags/test",
            404,
            "tag test of p",
        ),
    ];
    for (method, path, expected, reason) in asked {
        let (status, said) = world.call(method, path, None).await;
        assert_eq!(status, expected, "{path}: {said}");
        let error = said["error"].as_str().unwrap_or_default();
        assert!(error.contains(reason), "{path}: {said}");
    }
}

/// A path accepts exactly the described methods, and answers with a described status.
async fn check_methods(world: &World, path: &str, methods: &Value) {
    let body = match path {
        "/catchup" => json!({ "env": "dev" }),
        "/packages/search" => json!({ "keyword": "none" }),
        path if path.ends_with("/{tag}") => json!("1.0.0"),
        _ => json!({}),
    };
    let field = |part: &str| match part {
        "{env}" | "{tag}" => "dev".to_owned(),
        "{version}" => "1.0.0".to_owned(),
        "head" => "head?name=none".to_owned(),
        part if part.starts_with('{') => "none".to_owned(),
        part => part.to_owned(),
    };
    let parts: Vec<String> = path.split('/').map(field).collect();
    let asked = parts.join("/");
    for method in [
        Method::GET,
        Method::PUT,
        Method::POST,
        Method::PATCH,
        Method::DELETE,
    ] {
        let described = &methods[method.as_str().to_lowercase()];
        let (status, said) = world.call(method.clone(), &asked, Some(&body)).await;
        assert_eq!(
            status != 405,
            described.is_object(),
            "{method} {path}: {status} {said}"
        );
        let answers = &described["responses"];
        let is_told = status == 405 || answers.get(status.as_str()).is_some();
        assert!(is_told, "{method} {path}: {status} {said}; described: {answers}");
    }
}

#[tokio::test]
async fn names_of_paths_are_no_packages_and_the_description_has_every_path_with_its_methods() {
    let world = World::new().await;
    let openapi = world.read("/openapi.json").await;
    let routes = warehouse::api::routes();
    let paths = routes.iter().flat_map(|(path, _)| paths_of(path));
    let paths: Vec<String> = paths
        .chain(["/".to_owned(), "/openapi.json".to_owned()])
        .collect();
    let named: Vec<String> = paths
        .iter()
        .map(|path| path.replace("{*path}", "{path}"))
        .collect();
    let described = openapi["paths"].as_object().unwrap();
    let missing: Vec<&String> = named
        .iter()
        .filter(|path| !described.contains_key(*path))
        .collect();
    assert_eq!(missing, Vec::<&String>::new());
    assert_eq!(described.len(), paths.len());
    for (path, methods) in described {
        check_methods(&world, path, methods).await;
    }
    let first = paths.iter().filter_map(|path| path.split('/').nth(1));
    for name in first.filter(|name| !name.is_empty() && !name.starts_with(['{', '-'])) {
        let (status, said) = world.put(&Pkg::new(name, "1.0.0")).await;
        assert!(status == 400 || status == 405, "{name}: {status} {said}");
    }
}
