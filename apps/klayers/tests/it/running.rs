//! The monthly run.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Bytes;
use klayers::{
    App, Deployed, Error, Files, Force, LayerStore as _, PackageIndex, Progress, Release, Runs, Summary,
    runs_model,
};
use tokio::sync::Barrier;

use crate::support::{PYTHON, REGION, World, files, until};

const REGIONS: &str = include_str!("../../regions.csv");

fn packages() -> Vec<String> {
    Files::default().index().unwrap().packages()
}

#[test]
fn the_files_have_64_packages_and_22_regions_and_no_prerelease() {
    assert_eq!(packages().len(), 64);
    assert_eq!(REGIONS.lines().skip(1).count(), 22);
    let index = Files::default().index().unwrap();
    let release = index.latest("numpy").unwrap();
    assert_eq!(release.version, "2.1.2", "2.2.0rc1 is a pre-release");
    assert!(packages().contains(&"psycopg[binary,pool]".to_owned()));
}

#[tokio::test]
async fn point_13_one_query_returns_the_latest_build_of_all_64_packages() {
    let world = World::new();
    for package in packages() {
        world.app.build(&package, PYTHON, Force::default()).await.unwrap();
    }
    world.index.release("requests", "9.9");
    world
        .app
        .build("requests", PYTHON, Force::default())
        .await
        .unwrap();
    world
        .app
        .build("requests", "p3.8", Force::default())
        .await
        .unwrap();
    world.database.take();
    let builds = world.app.db.latest_builds(PYTHON).collect().await.unwrap();
    assert_eq!(world.database.take(), (1, 0), "one read");
    assert_eq!(builds.len(), 64);
    let requests = builds.iter().find(|build| build.pckg == "requests").unwrap();
    assert_eq!(
        (requests.blt_vrsn, requests.pckg_vrsn.as_deref()),
        (2, Some("9.9"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_14_a_second_run_writes_nothing_and_a_new_release_only_its_own() {
    let world = World::new();
    let regions: Vec<String> = REGIONS.lines().skip(1).map(str::to_owned).collect();
    let layers = packages().len() * regions.len();
    let counted = i64::try_from(layers).unwrap();
    world.app.load_config(&files()).await.unwrap();
    let mut told = Vec::new();
    let tell = |progress: &Progress| told.push((progress.done, progress.of));
    let first = world.app.run(Force::default(), tell).await.unwrap();
    assert_eq!(
        (told.len(), told[0]),
        (65, (0, layers)),
        "at the beginning, and for each package"
    );
    assert_eq!(told.last(), Some(&(layers, layers)));
    assert_eq!((first.built, first.deployed, first.failed), (64, counted, vec![]));

    let stored = async || world.layers.list().await.unwrap();
    let before = stored().await;
    world.database.take();
    world.app.load_config(&files()).await.unwrap();
    let second = world.app.run(Force::default(), |_| {}).await.unwrap();
    let nothing = Summary {
        unchanged: counted,
        ..Summary::default()
    };
    assert_eq!(second, nothing);
    assert_eq!(world.database.take().1, 0, "writes");
    assert_eq!(stored().await, before);

    world.index.release("pandas", "3.0");
    let third = world.app.run(Force::default(), |_| {}).await.unwrap();
    assert_eq!((third.built, third.deployed), (1, 22));
    for region in &regions {
        assert_eq!(world.check("pandas", region).await.as_deref(), Some("3.0"));
    }
}

#[tokio::test]
async fn a_forced_build_has_a_new_number_and_a_forced_deployment_a_new_layer() {
    let world = World::new();
    world.deploy_versions("requests", REGION, &["1.0"]).await;
    let force = Force {
        force_build: true,
        ..Force::default()
    };
    let build = world.app.build("requests", PYTHON, force).await.unwrap();
    assert_eq!((build.number, build.is_new), (2, true));
    let unchanged = world.app.deploy(REGION, &build).await.unwrap();
    assert_eq!(unchanged, Deployed::Unchanged, "it is made of the same");

    let force = Force {
        force_deploy: true,
        ..Force::default()
    };
    let build = world.app.build("requests", PYTHON, force).await.unwrap();
    assert_eq!((build.number, build.is_new), (2, false));
    let regions = [REGION.to_owned()];
    assert_eq!(
        world.app.regions_to_deploy(&build, &regions).await.unwrap(),
        regions
    );
    let deployed = world.app.deploy(REGION, &build).await.unwrap();
    assert!(
        matches!(&deployed, Deployed::Latest(arn) if arn.version == 2),
        "{deployed:?}"
    );
    world.check("requests", REGION).await;
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

#[tokio::test]
async fn a_server_runs_by_call_one_at_a_time_and_makes_up_for_a_run_that_was_cut_off() {
    let world = World::new();
    let runs = world.runs(files(), None);
    // The published layers do not arrive: the run stays in progress.
    *world.layers.meeting.lock().unwrap() = Some(Arc::new(Barrier::new(1_000_000)));
    let force = Force {
        force_build: true,
        ..Force::default()
    };
    let begun = runs.begin(force).await.unwrap();
    let listed = &runs.shown().await.unwrap()["runs"][0];
    assert_eq!(
        listed["started"],
        begun.as_str(),
        "a run that was accepted is listed at once"
    );
    until(
        "the run to be under way",
        &world.clock,
        Duration::ZERO,
        async || runs.shown().await.unwrap()["current"]["of"] == 64 * 22,
    )
    .await;
    assert_eq!(runs.begin(Force::default()).await, None, "one is under way");
    runs.stop().await;
    *world.layers.meeting.lock().unwrap() = None;
    assert_eq!(runs.shown().await.unwrap()["runs"][0].get("ended"), None);

    world.clock.advance(DAY);
    let called = world.runs(files(), None);
    called.start().await;
    until(
        "the run that was called and cut off",
        &world.clock,
        Duration::ZERO,
        async || called.shown().await.unwrap()["runs"][0].get("ended").is_some(),
    )
    .await;
    let again = called.shown().await.unwrap();
    assert_eq!(
        (&again["runs"][0]["forceBuild"], &again["runs"][0]["forceDeploy"]),
        (&true.into(), &false.into()),
        "with its flags"
    );
    assert_eq!(
        (&again["runs"][0]["built"], again.get("next")),
        (&64.into(), None)
    );
    called.stop().await;

    let next = world.runs(files(), Some(MONTH));
    next.start().await;
    let ended = async || {
        let shown = next.shown().await.unwrap();
        let runs = shown["runs"].as_array().unwrap().clone();
        runs.into_iter()
            .filter(|run| run.get("ended").is_some())
            .collect::<Vec<_>>()
    };
    until(
        "the run that is made up for",
        &world.clock,
        Duration::ZERO,
        async || ended().await.len() == 1,
    )
    .await;
    assert_eq!(ended().await[0]["deployed"], 64 * 22);
    world.clock.advance(MONTH - DAY);
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(ended().await.len(), 1, "the month is not over");
    world.clock.advance(DAY);
    until("the next month", &world.clock, Duration::ZERO, async || {
        ended().await.len() == 2
    })
    .await;
    let runs = ended().await;
    assert_eq!(
        (&runs[0]["deployed"], &runs[0]["unchanged"]),
        (&0.into(), &(64 * 22).into())
    );
    next.stop().await;
}

/// An index with a very long error message.
struct Wordy;

#[async_trait]
impl PackageIndex for Wordy {
    async fn latest(&self, _: &str, _: &str) -> Result<Release, Error> {
        Err(Error::Pip("no such release; ".repeat(10_000)))
    }

    async fn layer(&self, _: &Release, _: &str) -> Result<Bytes, Error> {
        Ok(Bytes::new())
    }
}

#[tokio::test]
async fn a_run_is_on_record_however_much_there_is_to_say_of_its_failures() {
    let world = World::new();
    let app = App {
        index: Arc::new(Wordy),
        ..world.app.clone()
    };
    let db = runs_model::Runs::apply_to(&world.stored).unwrap().shared();
    let runs = Runs::new(app, files(), db, None);
    let done = runs.run(Force::default()).await;
    assert_eq!(done.failed.len(), 64);
    let listed = &runs.shown().await.unwrap()["runs"][0];
    assert!(listed["ended"].is_string(), "or it would begin again");
    let failed = listed["failed"].as_array().unwrap();
    assert_eq!(failed.len(), 20);
    assert!(
        failed[0]
            .as_str()
            .unwrap()
            .contains(" for p3.12: no such release; no such")
    );
}
