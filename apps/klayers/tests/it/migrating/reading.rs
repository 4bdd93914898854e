//! Readers get the same answers while rows move.

use std::cell::Cell;
use std::collections::BTreeSet;

use klayers::Files;
use klayers::model::{LatestInRegionByPythonVersionWhere, LatestLayerWhere, VersionsOfLayerWhere};
use trestle::migrate::MigrationState;
use trestle::typed::Bookmark;

use super::answers::{self, assert_same};
use super::{First, PACKAGES, PYTHON, REGIONS, rows, v1};
use crate::api;

#[tokio::test]
async fn point_12_every_access_pattern_gives_the_same_layers_at_every_moment() {
    let first = First::new().await;
    let before = answers::first(&first.db).await;
    assert_eq!(before["layers in ap-south-1"].len(), 3 * PACKAGES.len());
    assert_eq!(before["latest layers of requests"].len(), REGIONS.len());
    assert_eq!(before["heads made as requests"].len(), REGIONS.len());
    assert_eq!(before["latest builds"].len(), PACKAGES.len() + 2);
    let is_former = |pk: &str| pk.starts_with("lyr#") && !pk.contains(':');

    let moving = first.migrate();
    assert_eq!(moving.status().state, MigrationState::Dual);
    let db = &moving.app().db;
    assert_same(&before, &answers::present(db, 3).await, "after the start");
    let mut sizes = [1, 2, 7, 100].into_iter().cycle();
    moving
        .sweep(async |status| {
            let page = sizes.next().unwrap();
            let moment = format!("{} {:.2}, pages of {page}", status.state, status.done);
            assert_same(&before, &answers::present(db, page).await, &moment);
        })
        .await;
    moving.finish();
    assert_same(&before, &answers::present(db, 2).await, "when it is over");
    let pks = rows(&moving.world.stored).await.into_iter();
    let left = pks.filter(|row| is_former(row.get("pk").and_then(|pk| pk.as_s()).unwrap_or_default()));
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn point_12_a_list_that_is_read_while_its_rows_move_has_every_layer_once() {
    let moving = First::new().await.migrate();
    let db = &moving.app().db;
    let region = REGIONS[2];
    let mut lists: Vec<List> = Vec::new();
    moving
        .sweep(async |_| {
            // A list is begun at every moment, and each continues by one page.
            lists.push(List::default());
            for list in &mut lists {
                list.turn(async |after| {
                    let rows = db.deployed_in_region(region).page_size(3).continued(after);
                    let page = rows.page().await.unwrap();
                    let arns = page.rows.into_iter().map(|layer| layer.arn);
                    (arns.collect(), page.next)
                })
                .await;
            }
        })
        .await;
    let all = db.deployed_in_region(region).collect().await.unwrap();
    let all: Vec<String> = all.into_iter().map(|layer| layer.arn).collect();
    let ended = lists.iter().filter(|list| list.is_over);
    assert!(ended.clone().count() > 3, "of {} lists", lists.len());
    for list in ended {
        assert_eq!(list.arns, all, "in the same order");
    }
    for list in &lists {
        assert_eq!(list.arns, all[..list.arns.len()], "as far as it was read");
    }
}

#[tokio::test]
async fn point_12_versions_whose_first_page_is_from_before_the_start_go_on_after_it() {
    let first = First::new().await;
    let (region, package) = (REGIONS[2], "requests");
    let versions = v1::VersionsOfLayerWhere { region, package };
    let page = first
        .db
        .versions_of_layer(versions)
        .page_size(1)
        .page()
        .await
        .unwrap();
    assert_eq!(
        page.rows.iter().map(|layer| layer.lyr_vrsn).collect::<Vec<_>>(),
        [1]
    );
    let builds = first.db.latest_builds().page_size(5).page().await.unwrap();
    let mut packages: Vec<String> = builds.rows.into_iter().map(|build| build.pckg).collect();
    let layers = first.db.deployed_in_region(region).page_size(3).page();
    let layers = layers.await.unwrap();

    let moving = first.migrate();
    let db = &moving.app().db;
    let versions = VersionsOfLayerWhere {
        region,
        package,
        python_version: PYTHON,
    };
    let rest = db.versions_of_layer(versions).after(page.next.unwrap());
    let rest = rest.collect().await.unwrap();
    assert_eq!(
        rest.iter().map(|layer| layer.lyr_vrsn).collect::<Vec<_>>(),
        [2, 3]
    );
    let rest = db.latest_builds(PYTHON).after(builds.next.unwrap());
    packages.extend(rest.collect().await.unwrap().into_iter().map(|build| build.pckg));
    let mut all: Vec<&str> = PACKAGES.into_iter().chain(["bigmath", "tinylib"]).collect();
    all.sort_unstable();
    assert_eq!(packages, all);
    // In an index, rows with equal keys are in another order now: nothing is left out silently.
    let rest = db.deployed_in_region(region).after(layers.next.unwrap());
    let refused = rest.collect().await.unwrap_err().to_string();
    assert!(refused.contains("Begin the query again"), "{refused}");
}

/// A list that is read a page at a time.
#[derive(Default)]
struct List {
    arns: Vec<String>,
    next: Option<Bookmark>,
    is_over: bool,
}

impl List {
    async fn turn(&mut self, page: impl AsyncFnOnce(Option<Bookmark>) -> (Vec<String>, Option<Bookmark>)) {
        if self.is_over {
            return;
        }
        let (arns, next) = page(self.next.take()).await;
        self.arns.extend(arns);
        (self.is_over, self.next) = (next.is_none(), next);
    }
}

#[tokio::test]
async fn point_12_the_api_answers_throughout_and_says_the_same() {
    let moving = First::new().await.migrate();
    let served = moving.world.served(Files::default());
    let mut paths = Vec::new();
    for version in ["/api/v1".to_owned(), format!("/api/v2/{PYTHON}")] {
        for path in [
            "",
            "/json",
            "/csv",
            "/html",
            "/requests",
            "/requests-oauthlib",
            "/nothing",
        ] {
            paths.push(format!("{version}/layers/latest/eu-west-1{path}"));
        }
        paths.push(format!("{version}/layers/us-east-1/requests"));
        paths.push(format!("{version}/layers/us-east-1/ruamel.yaml"));
        paths.push(format!("{version}/builds/latest"));
    }
    paths.push("/api/v2/p3.12/layers/latest/eu-west-1".to_owned());
    let ask_all = async || {
        let mut answers = Vec::new();
        for path in &paths {
            answers.push((path.clone(), api::get(&served, path).await));
        }
        answers
    };
    let begun = ask_all().await;
    let text = format!("{begun:?}");
    let named = REGIONS[2..3].iter().flat_map(|region| {
        PACKAGES.map(|package| klayers::LayerArn {
            region: (*region).to_owned(),
            account: klayers::ACCOUNT.to_owned(),
            layer: klayers::LayerArn::layer_name(package, PYTHON),
            version: 3,
        })
    });
    let missing: BTreeSet<String> = named
        .map(|arn| arn.to_string())
        .filter(|arn| !text.contains(arn))
        .collect();
    assert_eq!(missing, BTreeSet::new());
    moving
        .sweep(async |status| assert_eq!(ask_all().await, begun, "{status}"))
        .await;
    moving.finish();
    assert_eq!(ask_all().await, begun);
}

#[tokio::test]
async fn point_12_both_places_are_read_only_as_long_as_rows_may_be_in_both() {
    let moving = First::new().await.migrate();
    let db = &moving.app().db;
    let read = async || {
        let before = moving.status().double_reads;
        let latest = LatestLayerWhere {
            region: REGIONS[2],
            package: "requests",
            python_version: PYTHON,
        };
        db.latest_layer(latest).await.unwrap().unwrap();
        db.latest_builds(PYTHON).collect().await.unwrap();
        db.deployed_in_region(REGIONS[2]).collect().await.unwrap();
        let latest = LatestInRegionByPythonVersionWhere {
            region: REGIONS[2],
            python_version: PYTHON,
        };
        db.latest_in_region_by_python_version(latest)
            .collect()
            .await
            .unwrap();
        moving.status().double_reads - before
    };
    assert_eq!(read().await, 4);
    let last = Cell::new(4);
    moving
        .sweep(async |status| {
            let double = read().await;
            match status.state {
                // The last page ended it, without a command.
                MigrationState::Verifying | MigrationState::Verified => assert_eq!(double, 0),
                // What the sweep has passed is searched in one place: never more reads than before. The two
                // indexes are read in both places until its end.
                _ => assert!((2..=last.replace(double)).contains(&double), "{double}: {status}"),
            }
        })
        .await;
    moving.finish();
    assert_eq!(read().await, 0);
}
