//! Builds, and layers in a region.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use klayers::model::{Build, Layer, LayerDplySts, NewBuild};
use klayers::{Deployed, LayerStore as _};
use tokio::sync::Barrier;
use trestle::typed::EpochSeconds;

use crate::support::{PYTHON, REGION, START, World};

#[tokio::test]
async fn point_02_the_first_build_has_number_1_and_the_same_requirements_write_nothing() {
    let world = World::new();
    let first = world.app.build("requests", PYTHON).await.unwrap();
    assert_eq!((first.number, first.is_new), (1, true));
    world.database.take();
    let again = world.app.build("requests", PYTHON).await.unwrap();
    assert_eq!((again.number, again.is_new, &again.hash), (1, false, &first.hash));
    assert_eq!(world.database.take().1, 0, "writes");

    world.index.release("requests", "2.0");
    let second = world.app.build("requests", PYTHON).await.unwrap();
    assert_eq!((second.number, second.is_new), (2, true));
    assert_ne!(second.hash, first.hash);
}

/// As the original says it: `bltVrsn <> :new`, which holds where there is nothing.
#[tokio::test]
async fn point_02_a_missing_row_differs_from_any_value() {
    let world = World::new();
    let build = Build::from(NewBuild {
        blt_vrsn: 1,
        py_vrsn: PYTHON.into(),
        pckg: "requests".into(),
    });
    let put = || world.app.db.put(&build).only_if(Build::BLT_VRSN.differs_from(1));
    put().await.unwrap();
    assert!(put().await.unwrap_err().is_condition());
}

#[tokio::test]
async fn point_03_a_new_layer_is_the_head_and_its_predecessor_expires_in_a_year() {
    let world = World::new();
    world.deploy_versions("requests", REGION, &["1.0"]).await;
    world.clock.advance(Duration::from_secs(60));
    world.deploy_versions("requests", REGION, &["2.0"]).await;
    assert_eq!(world.check("requests", REGION).await.as_deref(), Some("2.0"));
    let versions = world.versions("requests", REGION).await;
    let shown: Vec<_> = versions
        .iter()
        .map(|layer| (layer.lyr_vrsn, layer.dply_sts))
        .collect();
    assert_eq!(
        shown,
        [
            (1, Some(LayerDplySts::Deprecated)),
            (2, Some(LayerDplySts::Latest))
        ]
    );
    let in_a_year = START.plus(Duration::from_secs(60 + 365 * 24 * 60 * 60));
    assert_eq!(versions[0].ex_dt, Some(EpochSeconds::from(in_a_year)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_04_of_two_deployments_at_once_one_wins_and_nothing_is_left_of_the_other() {
    let world = Arc::new(World::new());
    world.deploy_versions("requests", REGION, &["0.0"]).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn(watch(world.clone(), is_over.clone()));
    for round in 1..=20 {
        world.index.release("requests", &format!("{round}.0"));
        let build = Arc::new(world.app.build("requests", PYTHON).await.unwrap());
        let start = Arc::new(Barrier::new(4));
        let deploys: Vec<_> = (0..4)
            .map(|_| {
                let (world, build, start) = (world.clone(), build.clone(), start.clone());
                tokio::spawn(async move {
                    start.wait().await;
                    world.app.deploy(REGION, &build).await.unwrap()
                })
            })
            .collect();
        let mut won = 0;
        for deploy in deploys {
            won += usize::from(matches!(deploy.await.unwrap(), Deployed::Latest(_)));
        }
        assert_eq!(won, 1, "round {round}");
        world.check("requests", REGION).await;
        let versions = world.versions("requests", REGION).await.len();
        assert_eq!(
            (versions, world.layers.list(REGION).await.unwrap().len()),
            (round + 1, round + 1)
        );
    }
    is_over.store(true, Ordering::SeqCst);
    let looked = watcher.await.unwrap();
    assert!(looked > 20, "looked {looked} times");
}

/// Looks as often as it can: at every moment, exactly one version is the latest. Says how often it looked.
async fn watch(world: Arc<World>, is_over: Arc<AtomicBool>) -> u32 {
    let mut looked = 0;
    while !is_over.load(Ordering::SeqCst) {
        let versions = world.versions("requests", REGION).await;
        let is_latest = |layer: &&Layer| layer.dply_sts == Some(LayerDplySts::Latest);
        assert_eq!(versions.iter().filter(is_latest).count(), 1, "{versions:#?}");
        looked += 1;
        tokio::task::yield_now().await;
    }
    looked
}

#[tokio::test]
async fn point_11_regions_to_deploy_are_those_without_the_layer_and_those_with_another_over_several_pages() {
    let world = World::new();
    // Their names are so long that not all of them fit into a page of the database's answer.
    let regions: Vec<String> = (0..600).map(|number| format!("{number:0>1000}")).collect();
    let old = world.app.build("requests", PYTHON).await.unwrap();
    for region in &regions[..150] {
        world.app.deploy(region, &old).await.unwrap();
    }
    world.index.release("requests", "2.0");
    let new = world.app.build("requests", PYTHON).await.unwrap();
    for region in &regions[50..550] {
        world.app.deploy(region, &new).await.unwrap();
    }
    world.database.take();
    let missing = world.app.regions_to_deploy(&new, &regions).await.unwrap();
    let (reads, _) = world.database.take();
    let expected: Vec<&String> = regions[..50].iter().chain(&regions[550..]).collect();
    assert_eq!(missing, expected, "stale ones, and those without");
    assert_eq!(reads, 2, "pages");
}
