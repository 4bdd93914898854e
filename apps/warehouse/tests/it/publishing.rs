//! What is stored when a package is published.

use std::collections::BTreeSet;

use serde_json::json;

use crate::support::{Pkg, World};

#[tokio::test]
async fn point_1_a_publication_is_a_version_and_a_package() {
    let world = World::new().await;
    let package = Pkg::new("my-package", "0.0.1")
        .with("description", json!("A kind of package"))
        .with("keywords", json!(["a", "b"]))
        .with("author", json!({ "name": "N" }))
        .with("_npmVersion", json!("11.0.0"))
        .with("readme", json!("# long"));
    world.publish(&package).await;
    let row = world.read("/packages/my-package").await;
    assert_eq!(row["version"], "0.0.1");
    assert_eq!(row["distTags"], json!({ "latest": "0.0.1" }));
    assert_eq!(row["keywords"], json!(["a", "b"]));
    assert_eq!(
        row["extended"],
        json!({ "author": { "name": "N" }, "build": "es" })
    );
    let whole = world.read("/my-package").await;
    assert_eq!(whole["versions"]["0.0.1"]["author"]["name"], "N");

    // The same content again changes nothing, whichever npm sends it.
    world.rest().await;
    let before = world.rows().await;
    let mut again = package.payload();
    again["versions"]["0.0.1"]["_npmVersion"] = json!("9.0.0");
    let (status, said) = world
        .call(reqwest::Method::PUT, "/my-package", Some(&again))
        .await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(world.rows().await, before);
    let (status, said) = world.put(&package.clone().file("more.js", "1")).await;
    assert_eq!(status, 409, "{said}");
    assert!(
        said["error"]
            .as_str()
            .unwrap()
            .contains("publish another version"),
        "{said}"
    );
    assert_eq!(world.rows().await, before);
}

#[tokio::test]
async fn what_is_no_publication_is_refused_with_the_reason() {
    let world = World::new().await;
    let good = Pkg::new("good", "1.0.0");
    let mut two = good.payload();
    two["versions"]["2.0.0"] = json!({});
    let mut no_tarball = good.payload();
    no_tarball["_attachments"] = json!({});
    let mut untrue = good.payload();
    untrue["versions"]["1.0.0"]["dist"] = json!({ "integrity": "sha512-AAAA" });
    let refusals = [
        ("/good", two, "exactly one version"),
        ("/good", no_tarball, "exactly one tarball"),
        ("/good", untrue, "not what its integrity says"),
        ("/bad", good.payload(), "at the path of bad"),
        ("/good", Pkg::new("good", "1.0").payload(), "no semantic version"),
        (
            "/Good",
            Pkg::new("Good", "1.0.0").payload(),
            "no name of a package",
        ),
        (
            "/_good",
            Pkg::new("_good", "1.0.0").payload(),
            "no name of a package",
        ),
        (
            "/@x%2f",
            Pkg::new("@x/", "1.0.0").payload(),
            "no name of a package",
        ),
        (
            "/@a%2f..",
            Pkg::new("@a/..", "1.0.0").payload(),
            "no name of a package",
        ),
    ];
    for (path, body, reason) in refusals {
        let (status, said) = world.call(reqwest::Method::PUT, path, Some(&body)).await;
        assert_eq!(status, 400, "{path}: {said}");
        assert!(said["error"].as_str().unwrap().contains(reason), "{said}");
    }
    assert_eq!(world.get("/good").await.0, 404);
}

/// Packages of the graph. Each may depend on those before it.
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// A package that all of them name as a dependency, too, and that is not in the registry.
const ELSEWHERE: &str = "elsewhere";

/// The graph in the rows of the dependents, and in those of the parents: pairs of a parent and its dependent.
async fn edges(world: &World) -> [BTreeSet<(String, String)>; 2] {
    let (mut down, mut up) = (BTreeSet::new(), BTreeSet::new());
    let db = &world.service().db;
    for name in NAMES.into_iter().chain([ELSEWHERE]) {
        let parents = db.dependent_of(name).consistent().await.unwrap();
        let parents = parents.map(|row| row.dependent_of).unwrap_or_default();
        down.extend(parents.into_iter().map(|parent| (parent, name.to_owned())));
        let dependents = db.dependents(name).consistent().await.unwrap();
        let dependents = dependents.map(|row| row.dependents).unwrap_or_default();
        up.extend(dependents.into_iter().map(|one| (name.to_owned(), one)));
    }
    [down, up]
}

/// Publishes a package while others are published.
async fn publish_beside_others(world: &World, package: &Pkg) {
    loop {
        let (status, said) = world.put(package).await;
        match status.as_u16() {
            201 => return,
            409 => assert!(said["error"].as_str().unwrap().contains("try again"), "{said}"),
            _ => panic!("{status}: {said}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_9_both_directions_of_the_graph_have_the_edges_that_were_published_and_no_others() {
    for seed in [7, 8, 9] {
        let world = World::new().await;
        for name in NAMES {
            let first = Pkg::new(name, "0.1.0").with("build", json!(false));
            world.publish(&first).await;
        }
        let mut random: u64 = seed;
        let mut next = |bound: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % bound
        };
        let mut expected = BTreeSet::new();
        for round in 0..8 {
            let mut packages = Vec::new();
            for name in NAMES {
                let package = Pkg::new(name, &format!("1.0.{round}")).with("build", json!(false));
                let mut package = package.needs(ELSEWHERE, "^1.0.0");
                for parent in NAMES.into_iter().filter(|parent| *parent < name) {
                    if next(6) == 0 {
                        package = package.needs(parent, "^1.0.0");
                        expected.insert((parent.to_owned(), name.to_owned()));
                    }
                }
                packages.push(package);
            }
            let all = packages
                .iter()
                .map(|package| publish_beside_others(&world, package));
            futures_util::future::join_all(all).await;
            world.rest().await;
            let found = edges(&world).await;
            assert_eq!(
                found,
                [expected.clone(), expected.clone()],
                "seed {seed}, round {round}"
            );
        }
        let parents_of = |name: &str| expected.iter().filter(|edge| edge.1 == name).count();
        assert!(
            NAMES.into_iter().any(|name| parents_of(name) > 2),
            "seed {seed}: {expected:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_12_tags_that_are_given_at_once_all_survive() {
    let world = World::new().await;
    for version in ["1.0.0", "1.1.0"] {
        world.publish_and_build(&Pkg::new("p", version)).await;
    }
    for round in 0..20 {
        let version = ["1.0.0", "1.1.0"][round % 2];
        let other = ["1.1.0", "1.0.0"][round % 2];
        let next = Pkg::new("p", &format!("2.0.{round}")).with("build", json!(false));
        let (latest, dev, next) = tokio::join!(
            world.tag("p", "latest", version),
            world.tag("p", "dev", other),
            world.put(&next),
        );
        assert_eq!([latest.as_u16(), dev.as_u16(), next.0.as_u16()], [201; 3]);
        let tags = world.tags("p").await;
        assert_eq!(tags["dev"], other);
        let latest = tags["latest"].as_str().unwrap();
        assert!(latest == version || latest == format!("2.0.{round}"), "{tags}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_that_are_published_at_once_are_all_there() {
    let world = World::new().await;
    let package = |number: usize| Pkg::new("p", &format!("1.0.{number}")).with("build", json!(false));
    let packages: Vec<Pkg> = (0..12).map(package).collect();
    let puts = packages.iter().map(|package| world.put(package));
    for (status, said) in futures_util::future::join_all(puts).await {
        assert_eq!(status, 201, "{said}");
    }
    assert_eq!(world.read("/p").await["versions"].as_object().unwrap().len(), 12);
    // Publishing the same content concurrently gives one version.
    let one = Pkg::new("q", "1.0.0");
    let puts = (0..8).map(|_| world.put(&one));
    let answers = futures_util::future::join_all(puts).await;
    assert!(
        answers.iter().all(|(status, _)| status.is_success()),
        "{answers:?}"
    );
    assert_eq!(answers.iter().filter(|(status, _)| *status == 201).count(), 1);
}
