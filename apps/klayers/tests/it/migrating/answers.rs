//! The answers of the access patterns that both versions have, whichever of the two is asked.

use std::collections::BTreeMap;

use klayers::{Db, model as now};
use trestle::AnyDatabase;

use super::{PACKAGES, PYTHON, REGIONS, VERSIONS, hash, v1};

/// The rows of each question, as text: an ARN or a place, a version, a status.
pub(super) type Answers = BTreeMap<String, Vec<String>>;

/// Any region will do: in each, some rows move early and some late.
const ASKED: [&str; 3] = [REGIONS[0], REGIONS[2], REGIONS[4]];
/// Packages of the rows that were imported come on top.
const IMPORTED: [&str; 2] = ["bigmath", "tinylib"];

fn packages() -> impl Iterator<Item = &'static str> {
    PACKAGES.into_iter().chain(IMPORTED)
}

/// The queries one by one, with pages of this size. The two versions differ in that one needs the version of
/// Python.
macro_rules! answers {
    ($model:ident, $db:expr, $page:expr, {$($python:tt)*}, $package:ident => $build:expr, ($($builds:expr)?)) => {{
        let (db, page, mut answers) = ($db, $page, Answers::new());
        for region in ASKED {
            for package in packages() {
                let latest = $model::LatestLayerWhere { region, package, $($python)* };
                let latest = db.latest_layer(latest).await.unwrap();
                let latest = latest.into_iter().map(|head| format!("{} {}", head.arn, head.lyr_vrsn));
                answers.insert(format!("latest layer of {package} in {region}"), latest.collect());
                let versions = $model::VersionsOfLayerWhere { region, package, $($python)* };
                let versions = db.versions_of_layer(versions).page_size(page).collect().await.unwrap();
                let lines = versions.iter().map(|layer| {
                    format!("{} {} {:?} {:?}", layer.arn, layer.lyr_vrsn, layer.dply_sts, layer.ex_dt)
                });
                answers.insert(format!("versions of {package} in {region}"), lines.collect());
                let one = $model::LayerWhere { region, package, version: 1, $($python)* };
                let one = db.layer(one).await.unwrap();
                let one = one.into_iter().map(|layer| format!("{} {:?} {:?}", layer.arn, layer.dply_sts, layer.dltd_dt));
                answers.insert(format!("version 1 of {package} in {region}"), one.collect());
            }
            let all = db.deployed_in_region(region).page_size(page).collect().await.unwrap();
            let lines = all.iter().map(|layer| format!("{} {} {:?}", layer.arn, layer.lyr_vrsn, layer.dply_sts));
            answers.insert(format!("layers in {region}"), sorted(lines));
            let latest = db.latest_in_region(region).page_size(page).collect().await.unwrap();
            let lines = latest.iter().map(|layer| format!("{} {}", layer.arn, layer.lyr_vrsn));
            answers.insert(format!("latest layers in {region}"), sorted(lines));
        }
        for $package in packages() {
            let latest = db.latest_of_package($package).page_size(page).collect().await.unwrap();
            let lines = latest.iter().map(|layer| {
                format!("{} {} {} {:?}", layer.rgn, layer.pckg, layer.lyr_vrsn, layer.rqrmnts_hsh)
            });
            answers.insert(format!("latest layers of {}", $package), sorted(lines));
            let build = db.latest_build($build).await.unwrap();
            let build = build.into_iter().map(|head| format!("{} {} {:?}", head.pckg, head.blt_vrsn, head.rqrmnts_hsh));
            answers.insert(format!("latest build of {}", $package), build.collect());
            let same = hash($package, VERSIONS);
            let same = db.with_requirements(&same).page_size(page).gather().await.unwrap();
            let layers = same.layer.iter().map(|layer| format!("{} {}", layer.rgn, layer.lyr_vrsn));
            answers.insert(format!("layers made as {}", $package), sorted(layers));
            let heads = same.layer_head.iter().map(|head| format!("{} {}", head.rgn, head.pckg));
            answers.insert(format!("heads made as {}", $package), sorted(heads));
            let builds = (same.build.len(), same.build_head.len());
            answers.insert(format!("builds made as {}", $package), vec![format!("{builds:?}")]);
        }
        let builds = db.latest_builds($($builds)?).page_size(page).collect().await.unwrap();
        let lines = builds.iter().map(|head| format!("{} {} {:?}", head.pckg, head.blt_vrsn, head.rqrmnts_hsh));
        answers.insert("latest builds".to_owned(), lines.collect());
        answers
    }};
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    lines.sort();
    lines
}

/// The answers of the first version.
pub(super) async fn first(db: &v1::Klayers<AnyDatabase>) -> Answers {
    answers!(v1, db, 100, {}, package => package, ())
}

/// The answers of the present version, with pages of this size.
pub(super) async fn present(db: &Db, page: u32) -> Answers {
    let answers = answers!(
        now, db, page, { python_version: PYTHON },
        package => now::LatestBuildWhere { python_version: PYTHON, package }, (PYTHON)
    );
    by_python_version(db, page, &answers).await;
    answers
}

/// The patterns that only the present version has give the same answers as those that both have: there is one
/// version of Python.
async fn by_python_version(db: &Db, page: u32, answers: &Answers) {
    for region in ASKED {
        let latest = now::LatestInRegionByPythonVersionWhere {
            region,
            python_version: PYTHON,
        };
        let latest = db.latest_in_region_by_python_version(latest).page_size(page);
        let latest = latest.collect().await.unwrap();
        let lines = latest
            .iter()
            .map(|layer| format!("{} {}", layer.arn, layer.lyr_vrsn));
        assert_eq!(sorted(lines), answers[&format!("latest layers in {region}")]);
    }
    for package in ["requests", "tinylib"] {
        let latest = now::LatestOfPackageByPythonVersionWhere {
            package,
            python_version: PYTHON,
        };
        let latest = db.latest_of_package_by_python_version(latest).page_size(page);
        let latest = latest.collect().await.unwrap();
        let lines = latest.iter().map(|layer| {
            format!(
                "{} {} {} {:?}",
                layer.rgn, layer.pckg, layer.lyr_vrsn, layer.rqrmnts_hsh
            )
        });
        assert_eq!(sorted(lines), answers[&format!("latest layers of {package}")]);
    }
}

/// Returns the queries whose answers differ from before.
pub(super) fn assert_same(before: &Answers, now: &Answers, moment: &str) {
    let questions = before.keys().chain(now.keys());
    for question in questions {
        assert_eq!(now.get(question), before.get(question), "{moment}: {question}");
    }
}
