//! The version that an environment uses: promoted, rolled back, in all locales at once.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Pkg, World};

const LOCALES: [&str; 3] = ["de-DE", "en-US", "fr-FR"];

async fn versions_in_use(world: &World, name: &str, env: &str) -> Vec<String> {
    let heads = world.read(&format!("/builds/-/head?name={name}&env={env}")).await;
    let version = |head: &Value| head["version"].as_str().unwrap().to_owned();
    heads.as_array().unwrap().iter().map(version).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_5_a_head_knows_its_predecessor_which_can_still_be_read() {
    let world = World::new().await;
    for version in ["1.0.0", "2.0.0"] {
        world.publish_and_build(&Pkg::new("p", version)).await;
    }
    let head = world.read("/builds/p/dev").await;
    assert_eq!(
        (&head["version"], &head["previousBuildId"]),
        (&json!("2.0.0"), &json!("p!dev!1.0.0!en-US"))
    );
    assert_eq!(
        world.read("/builds/p/dev/2.0.0").await["previousBuildId"],
        "p!dev!1.0.0!en-US"
    );
    assert_eq!(
        world.read("/builds/p/dev/1.0.0").await["buildId"],
        "p!dev!1.0.0!en-US"
    );
    let meta = world.read("/builds/-/meta/p/2.0.0").await;
    assert_eq!(meta["envs"]["dev"]["buildId"], "p!dev!2.0.0!en-US");
    assert_eq!(meta["envs"]["test"], Value::Null);
    assert_eq!(world.get("/builds/-/meta/p/3.0.0").await.0, 404);
}

/// A parent and its child, in two versions each, all of them built in test.
async fn parent_and_child(world: &World) {
    for version in ["0.0.1", "0.0.2"] {
        world
            .publish_and_build(&Pkg::new("parent", version).locales(&LOCALES))
            .await;
        world.rest().await;
        let child = Pkg::new("child", version)
            .needs("parent", ">=0.0.1")
            .locales(&LOCALES);
        world.publish_and_build(&child).await;
        assert_eq!(world.tag("parent", "test", version).await, 201);
        world.in_use("parent", "test", version).await;
        world.in_use("child", "test", version).await;
    }
    world.rest().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_6_a_rollback_by_tag_moves_all_locales_and_the_dependents_of_the_line() {
    let world = World::new().await;
    parent_and_child(&world).await;
    assert_eq!(world.tag("parent", "test", "0.0.1").await, 201);
    assert_eq!(versions_in_use(&world, "parent", "test").await, ["0.0.1"; 3]);
    world.in_use("child", "test", "0.0.1").await;
    assert_eq!(versions_in_use(&world, "child", "test").await, ["0.0.1"; 3]);
    assert_eq!(
        world.tags("parent").await,
        json!({ "latest": "0.0.2", "test": "0.0.1" })
    );
    assert_eq!(
        world.tags("child").await,
        json!({ "latest": "0.0.2", "test": "0.0.1" })
    );
    for (name, locale) in [("parent", "de-DE"), ("child", "fr-FR")] {
        let head = world.read(&format!("/builds/{name}/test?locale={locale}")).await;
        let left: Vec<&Value> = head["rollbackBuildIds"].as_object().unwrap().values().collect();
        assert_eq!(left, [&json!(format!("{name}!test!0.0.2!{locale}"))]);
    }
    let history = world.read("/builds/parent/test/-/history").await;
    let moves: Vec<(&Value, &Value)> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["from"], &one["version"]))
        .collect();
    let (one, two) = (json!("0.0.1"), json!("0.0.2"));
    assert_eq!(moves, [(&two, &one), (&one, &two), (&Value::Null, &one)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_7_a_tag_of_a_version_without_a_build_has_it_built_and_leaves_tags_of_children_alone() {
    let world = World::new().await;
    parent_and_child(&world).await;
    world
        .publish_and_build(&Pkg::new("parent", "0.0.3").locales(&LOCALES))
        .await;
    assert_eq!(world.get("/builds/parent/test/0.0.3").await.0, 404);
    let before = world.tags("child").await;
    assert_eq!(world.tag("parent", "test", "0.0.3").await, 201);
    assert_eq!(world.tags("parent").await["test"], "0.0.3");
    world.in_use("parent", "test", "0.0.3").await;
    // Its dependents follow, by the release line; its tag stays.
    world.in_use("child", "test", "0.0.3-0").await;
    world.rest().await;
    assert_eq!(versions_in_use(&world, "parent", "test").await, ["0.0.3"; 3]);
    assert_eq!(world.tags("child").await, before);
    assert_eq!(world.tag("parent", "test", "9.9.9").await, 404);
    assert_eq!(world.tags("parent").await["test"], "0.0.3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollback_goes_to_the_version_before_and_then_to_the_one_before_that() {
    let world = World::new().await;
    for version in ["1.0.0", "2.0.0", "3.0.0"] {
        world.publish_and_build(&Pkg::new("p", version)).await;
    }
    let back = async || world.call(Method::POST, "/rollback/p/dev", None).await;
    assert_eq!(back().await.1["version"], "2.0.0");
    assert_eq!(back().await.1["version"], "1.0.0");
    let (status, said) = back().await;
    assert_eq!(status, 409);
    let told = "1.0.0 was the first version of p in dev; name another one with ?to=VERSION";
    assert_eq!(said["error"], told);
    let (status, _) = world.call(Method::POST, "/rollback/p/dev?to=3.0.0", None).await;
    assert_eq!(status, 200);
    assert_eq!(back().await.1["version"], "2.0.0");
    assert_eq!(world.call(Method::POST, "/rollback/none/dev", None).await.0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_14_of_promotions_at_once_one_wins_in_all_locales() {
    let world = World::new().await;
    let versions = ["1.0.0", "1.1.0", "1.2.0"];
    for version in versions {
        world
            .publish_and_build(&Pkg::new("p", version).locales(&LOCALES))
            .await;
    }
    let mut refused = 0;
    for round in 0..30 {
        let [now, one, two] = [0, 1, 2].map(|more| versions[(round + more) % 3]);
        assert!(world.tag("p", "dev", now).await.is_success());
        // With the version that both have seen, exactly one can win.
        let promotions = [one, two].map(|to| format!("/promote/p/dev/{to}?from={now}"));
        let answers = join_all(
            promotions
                .iter()
                .map(|path| world.call(Method::PATCH, path, None)),
        )
        .await;
        let mut statuses: Vec<u16> = answers.iter().map(|(status, _)| status.as_u16()).collect();
        let winner = if statuses[0] == 204 { one } else { two };
        assert_eq!(
            versions_in_use(&world, "p", "dev").await,
            [winner; 3],
            "{answers:?}"
        );
        assert_eq!(world.tags("p").await["dev"], winner);
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 409], "{answers:?}");
        // Without it, the later one may follow the other; they never both win over the same head.
        let paths = [now, winner].map(|to| format!("/promote/p/dev/{to}"));
        let answers = join_all(
            paths
                .iter()
                .chain(&paths)
                .map(|path| world.call(Method::PATCH, path, None)),
        )
        .await;
        refused += answers.iter().filter(|(status, _)| *status == 409).count();
        assert!(
            answers
                .iter()
                .all(|(status, _)| [204, 409].contains(&status.as_u16())),
            "{answers:?}"
        );
        let in_use = versions_in_use(&world, "p", "dev").await;
        assert!(
            in_use.iter().all(|version| *version == in_use[0]) && in_use.len() == 3,
            "{in_use:?}"
        );
        assert_eq!(world.tags("p").await["dev"], in_use[0].as_str());
    }
    println!("{refused} promotions were refused without naming a version");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_14_a_rollback_and_a_promotion_at_once_are_one_after_the_other_in_all_locales() {
    let world = World::new().await;
    let versions = ["1.0.0", "1.1.0", "1.2.0"];
    for version in versions {
        world
            .publish_and_build(&Pkg::new("p", version).locales(&LOCALES))
            .await;
    }
    for round in 0..20 {
        let [now, next] = [0, 1].map(|more| versions[(round + more) % 3]);
        assert!(world.tag("p", "dev", now).await.is_success());
        let promotion = format!("/promote/p/dev/{next}?from={now}");
        let (promoted, rolled_back) = tokio::join!(
            world.call(Method::PATCH, &promotion, None),
            world.call(Method::POST, "/rollback/p/dev", None),
        );
        let answers = (promoted.0.as_u16(), rolled_back.0.as_u16());
        let in_use = versions_in_use(&world, "p", "dev").await;
        let expected = match answers {
            (204, 409) => json!(next),
            // Without the promotion, or after it.
            (409 | 204, 200) => rolled_back.1["version"].clone(),
            _ => panic!("{promoted:?} {rolled_back:?}"),
        };
        assert_eq!(
            json!(in_use),
            json!([expected, expected, expected]),
            "{answers:?}"
        );
        assert_eq!(world.tags("p").await["dev"], expected);
    }
    // No two moves left the same head: each begins where the previous one ended.
    let history = world.read("/builds/p/dev/-/history").await;
    let moves = history.as_array().unwrap();
    assert!(moves.len() > 20);
    for two in moves.windows(2) {
        assert_eq!(two[0]["from"], two[1]["version"], "{history}");
    }
}
