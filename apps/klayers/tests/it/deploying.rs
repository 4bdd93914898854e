//! Builds, and layers in a region.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use klayers::model::{Build, Layer, LayerDplySts, NewBuild, NewLayer};
use klayers::{Deployed, Force, LayerStore as _};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use trestle::typed::{EpochSeconds, Error};

use crate::support::{PYTHON, REGION, START, World};

#[tokio::test]
async fn point_02_the_first_build_has_number_1_and_the_same_requirements_write_nothing() {
    let world = World::new();
    let first = world
        .app
        .build("requests", PYTHON, Force::default())
        .await
        .unwrap();
    assert_eq!((first.number, first.is_new), (1, true));
    world.database.take();
    let again = world
        .app
        .build("requests", PYTHON, Force::default())
        .await
        .unwrap();
    assert_eq!((again.number, again.is_new, &again.hash), (1, false, &first.hash));
    assert_eq!(world.database.take().1, 0, "writes");

    world.index.release("requests", "2.0");
    let second = world
        .app
        .build("requests", PYTHON, Force::default())
        .await
        .unwrap();
    assert_eq!((second.number, second.is_new), (2, true));
    assert_ne!(second.hash, first.hash);
}

/// The original's condition: `bltVrsn <> :new`, which also holds for a missing row.
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
        let build = Arc::new(
            world
                .app
                .build("requests", PYTHON, Force::default())
                .await
                .unwrap(),
        );
        // All have read the same latest layer before any of them continues.
        *world.layers.meeting.lock().unwrap() = Some(Arc::new(Barrier::new(4)));
        let mut deploys = JoinSet::new();
        for _ in 0..4 {
            let (world, build) = (world.clone(), build.clone());
            deploys.spawn(async move { world.app.deploy(REGION, &build).await.unwrap() });
        }
        let mut lost = deploys.join_all().await;
        lost.retain(|deployed| !matches!(deployed, Deployed::Latest(_)));
        assert_eq!(lost, [const { Deployed::Overtaken }; 3], "round {round}");
        world.check("requests", REGION).await;
        let versions = world.versions("requests", REGION).await.len();
        assert_eq!(
            (versions, world.layers.list().await.unwrap().len()),
            (round + 1, round + 1)
        );
    }
    is_over.store(true, Ordering::SeqCst);
    assert!(watcher.await.unwrap() > 0, "nobody looked");
}

/// What the original's condition does to the second of two: nothing is written, and the reason is the
/// condition.
#[tokio::test]
async fn point_04_a_version_that_is_there_is_not_put_again() {
    let world = World::new();
    world.deploy_versions("requests", REGION, &["1.0"]).await;
    let before = world.versions("requests", REGION).await;
    let other = Layer {
        arn: "another".into(),
        ..before[0].clone()
    };
    let put = world.app.db.put(&other).if_not_exists();
    let refused = world.app.db.transaction().with(put).commit().await.unwrap_err();
    assert!(
        matches!(refused, Error::Canceled(_)) && refused.is_condition(),
        "{refused}"
    );
    assert_eq!(world.versions("requests", REGION).await, before);
}

#[tokio::test]
async fn the_numbers_of_a_table_go_on_in_an_empty_layer_store() {
    let world = World::new();
    world.deploy_versions("requests", REGION, &["1.0", "2.0"]).await;
    let other = world.with_layers(Arc::default());
    other.index.release("requests", "3.0");
    let deployed = other.deploy("requests", REGION).await.unwrap();
    assert!(
        matches!(&deployed, Deployed::Latest(arn) if arn.version == 3),
        "{deployed:?}"
    );
}

#[tokio::test]
async fn a_number_that_a_row_has_already_is_noticed_and_the_next_attempt_takes_another() {
    let world = World::new();
    let tombstone = Layer {
        dltd_dt: Some("2021-02-01T00:00:00Z".into()),
        ..NewLayer {
            rgn: REGION.into(),
            pckg: "requests".into(),
            py_vrsn: PYTHON.into(),
            lyr_vrsn: 1,
            arn: "gone".into(),
            pckg_vrsn: "0.1".into(),
        }
        .into()
    };
    world.app.db.put(&tombstone).await.unwrap();
    let refused = world.deploy("requests", REGION).await.unwrap_err().to_string();
    assert!(
        refused.contains("Klayers-p312-requests:1 is another layer"),
        "{refused}"
    );
    assert_eq!(world.layers.list().await.unwrap(), []);
    let deployed = world.deploy("requests", REGION).await.unwrap();
    assert!(
        matches!(&deployed, Deployed::Latest(arn) if arn.version == 2),
        "{deployed:?}"
    );
    world.check("requests", REGION).await;
}

/// Reads as often as it can: at every moment, exactly one version is the latest. Returns how often it read.
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
    let old = world
        .app
        .build("requests", PYTHON, Force::default())
        .await
        .unwrap();
    for region in &regions[..150] {
        world.app.deploy(region, &old).await.unwrap();
    }
    world.index.release("requests", "2.0");
    let new = world
        .app
        .build("requests", PYTHON, Force::default())
        .await
        .unwrap();
    for region in &regions[50..550] {
        world.app.deploy(region, &new).await.unwrap();
    }
    world.database.take();
    let missing = world.app.regions_to_deploy(&new, &regions).await.unwrap();
    let (reads, _) = world.database.take();
    let expected = [&regions[..50], &regions[550..]].concat();
    assert_eq!(missing, expected, "stale ones, and those without");
    assert!(reads > 1, "{reads} pages");
}
