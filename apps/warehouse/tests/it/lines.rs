//! Release lines: which dependents are published again, and promoted.

use serde_json::json;
use warehouse::model::DependentOf;

use crate::support::{Pkg, World};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_10_release_lines_of_several_majors_give_the_right_versions_of_a_child() {
    let world = World::new().await;
    let promote = async |version: &str, child: &str| {
        for env in ["test", "prod"] {
            assert_eq!(world.tag("trunk", env, version).await, 201);
            world.in_use("trunk", env, version).await;
            world.in_use("child", env, child).await;
        }
    };
    world.publish_and_build(&Pkg::new("trunk", "5.0.0")).await;
    world
        .publish_and_build(&Pkg::new("child", "5.0.0").needs("trunk", "^5.0.0"))
        .await;
    world.rest().await;

    // The usual way.
    world.publish(&Pkg::new("trunk", "5.2.3")).await;
    world.in_use("child", "dev", "5.0.1-0").await;
    promote("5.2.3", "5.0.1-0").await;

    // A new major version, which the child's range excludes.
    world.publish_and_build(&Pkg::new("trunk", "6.0.0")).await;
    world.rest().await;
    assert_eq!(world.read("/builds/child/dev").await["version"], "5.0.1-0");
    assert_eq!(
        world.read("/release-line/trunk/6.0.0").await["dependents"],
        json!({})
    );
    world
        .publish_and_build(&Pkg::new("child", "6.0.0").needs("trunk", "^6.0.0"))
        .await;
    assert_eq!(
        world.read("/release-line/trunk").await["dependents"],
        json!({ "child": "6.0.0" })
    );
    promote("6.0.0", "6.0.0").await;

    // A version of the previous major version.
    world.publish_and_build(&Pkg::new("trunk", "5.3.0")).await;
    world.rest().await;
    let line = world.read("/release-line/trunk/5.3.0").await;
    assert_eq!(line["dependents"], json!({ "child": "5.0.1-1" }));
    assert_eq!(line["previousVersion"], "6.0.0");
    promote("5.3.0", "5.0.1-1").await;
    assert_eq!(world.read("/release-line/trunk/latest").await["version"], "5.3.0");
    assert_eq!(world.get("/release-line/trunk/1.0.0").await.0, 404);
    assert_eq!(world.get("/release-line/none").await.0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_reaches_dependents_of_dependents_and_circles_end() {
    let world = World::new().await;
    world.publish_and_build(&Pkg::new("a", "1.0.0")).await;
    world
        .publish_and_build(&Pkg::new("b", "1.0.0").needs("a", "^1.0.0"))
        .await;
    world
        .publish_and_build(&Pkg::new("c", "1.0.0").needs("b", "^1.0.0"))
        .await;
    // Now a needs c, too.
    world.publish(&Pkg::new("a", "1.1.0").needs("c", "^1.0.0")).await;
    world.in_use("b", "dev", "1.0.1-0").await;
    world.in_use("c", "dev", "1.0.1-0").await;
    world.rest().await;
    let versions = async |name: &str| {
        let versions = world.read(&format!("/{name}")).await["versions"].clone();
        versions.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(versions("a").await, ["1.0.0", "1.1.0"]);
    assert_eq!(versions("b").await, ["1.0.0", "1.0.1-0"]);
    assert_eq!(versions("c").await, ["1.0.0", "1.0.1-0"]);
    assert_eq!(world.tags("b").await, json!({ "latest": "1.0.0" }));
    let graph = world.read("/graph/b").await;
    assert_eq!(graph, json!({ "a": ["c"], "b": ["a"], "c": ["b"] }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_of_more_than_500_packages_has_the_nearest() {
    let world = World::new().await;
    world
        .publish(&Pkg::new("hub", "1.0.0").with("build", json!(false)))
        .await;
    let db = &world.service().db;
    let depend = async |pkg: &str, on: &str| {
        let mut row = DependentOf::new(pkg);
        row.dependent_of.insert(on.to_owned());
        db.put(&row).await.unwrap();
    };
    for number in 0..498 {
        depend(&format!("near-{number:03}"), "hub").await;
    }
    depend("far", "near-000").await;
    let graph = world.read("/graph/hub").await;
    assert_eq!(
        graph.as_object().unwrap().len(),
        500,
        "the hub, what is near, and what is far"
    );
    assert_eq!(graph["far"], json!(["near-000"]));
    for number in 498..510 {
        depend(&format!("near-{number:03}"), "hub").await;
    }
    let graph = world.read("/graph/hub").await;
    let shown = graph.as_object().unwrap();
    let near = shown.keys().filter(|name| name.starts_with("near-")).count();
    assert_eq!((shown.len(), near), (500, 499));
}
