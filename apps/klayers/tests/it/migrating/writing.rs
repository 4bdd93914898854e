//! Writes during the migration are neither lost nor carried out twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;
use klayers::model::{KlayersModel, LatestLayerWhere, LayerDplySts, LayerKey, VersionsOfLayerWhere};
use klayers::{Deployed, Force, LayerStore as _, watch};
use trestle::migrate::{self, MigrationState, MigrationStep, StartOptions};

use super::{First, Migrating, PACKAGES, PAUSE, PYTHON, REGIONS, VERSIONS, v1};
use crate::support::until;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
const NO_TIME: Duration = Duration::ZERO;

/// The expected latest version of every package in every region.
struct Latest(BTreeMap<(&'static str, &'static str), i64>);

impl Latest {
    fn new() -> Self {
        let all = REGIONS
            .into_iter()
            .flat_map(|region| PACKAGES.map(|package| (region, package)));
        Latest(all.map(|place| (place, VERSIONS)).collect())
    }

    /// A package gets a new release, which is deployed to these regions at once.
    async fn release(&mut self, moving: &Migrating, package: &'static str, regions: &[&'static str]) {
        let release = self.0.values().max().unwrap() + 1;
        moving.world.index.release(package, &format!("{release}.0"));
        let build = moving
            .app()
            .build(package, PYTHON, Force::default())
            .await
            .unwrap();
        assert!(build.is_new && build.number > VERSIONS, "{build:?}");
        let deployed = join_all(regions.iter().map(|region| moving.app().deploy(region, &build))).await;
        for (region, deployed) in regions.iter().zip(deployed) {
            let Deployed::Latest(arn) = deployed.unwrap() else {
                panic!("{package} in {region} was not deployed")
            };
            let before = self.0.insert((region, package), arn.version);
            assert_eq!(before, Some(arn.version - 1));
        }
    }

    /// Of every package in every region one version is the latest, and it is this one; all others expire.
    async fn check(&self, moving: &Migrating, moment: &str) {
        for (place, version) in &self.0 {
            check_one(moving, *place, Some(*version), moment).await;
        }
    }
}

async fn check_one(moving: &Migrating, place: (&str, &str), expected: Option<i64>, moment: &str) -> i64 {
    let (region, package) = place;
    let db = &moving.app().db;
    let (head, versions) = {
        let latest = LatestLayerWhere {
            region,
            package,
            python_version: PYTHON,
        };
        let versions = VersionsOfLayerWhere {
            region,
            package,
            python_version: PYTHON,
        };
        let head = db.latest_layer(latest).consistent().await.unwrap().unwrap();
        (
            head,
            db.versions_of_layer(versions)
                .consistent()
                .collect()
                .await
                .unwrap(),
        )
    };
    let latest = versions
        .iter()
        .filter(|layer| layer.dply_sts == Some(LayerDplySts::Latest));
    let latest: Vec<i64> = latest.map(|layer| layer.lyr_vrsn).collect();
    assert_eq!(latest.len(), 1, "{moment}: {place:?}: {versions:#?}");
    if let Some(expected) = expected {
        assert_eq!(
            (latest[0], head.lyr_vrsn),
            (expected, expected),
            "{moment}: {place:?}"
        );
        let numbers: BTreeSet<i64> = versions.iter().map(|layer| layer.lyr_vrsn).collect();
        assert_eq!(numbers, (1..=expected).collect(), "{moment}: {place:?}");
        assert_eq!(numbers.len(), versions.len(), "{moment}: {place:?}");
        let lasting = versions.iter().filter(|layer| layer.ex_dt.is_none());
        assert_eq!(lasting.count(), 1, "{moment}: {place:?}");
    }
    head.lyr_vrsn
}

#[tokio::test]
async fn point_12_deployments_go_on_and_there_is_one_latest_throughout() {
    let moving = First::new().await.migrate();
    let mut latest = Latest::new();
    latest.check(&moving, "after the start").await;
    latest.release(&moving, "requests", &REGIONS[..3]).await;
    let mut packages = PACKAGES.into_iter().cycle();
    moving
        .sweep(async |status| {
            let moment = format!("{} {:.2}", status.state, status.done);
            latest.check(&moving, &moment).await;
            let package = packages.next().unwrap();
            latest.release(&moving, package, &REGIONS[2..4]).await;
            latest.check(&moving, &format!("{moment}, after {package}")).await;
        })
        .await;
    moving.finish();
    latest.release(&moving, "requests", &REGIONS).await;
    latest.check(&moving, "when it is over").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn point_12_deployments_while_a_thread_moves_the_rows_leave_one_latest() {
    let moving = First::new().await.migrate();
    let stored = &moving.world.stored;
    if let Some(embedded) = stored.embedded() {
        embedded.begin_work().unwrap();
    }
    let migration = migrate::to::<KlayersModel, _>(stored, StartOptions::default()).unwrap();
    if stored.embedded().is_none() {
        // There it was started paused.
        migration.resume(None).unwrap();
    }
    let state = || migration.status().unwrap().state;
    let mut latest = Latest::new();
    let mut packages = PACKAGES.into_iter().cycle();
    let mut releases = 0;
    while state() != MigrationState::Verified {
        // The rate is kept by this clock: a few more rows may move while this is written.
        moving.world.clock.advance(Duration::from_millis(100));
        let package = packages.next().unwrap();
        latest.release(&moving, package, &REGIONS).await;
        for region in REGIONS {
            check_one(&moving, (region, package), None, "meanwhile").await;
        }
        releases += 1;
        assert!(releases < 1000, "{:?}", migration.status());
    }
    assert!(releases > 5, "{releases} releases while rows moved");
    latest.check(&moving, "at the end").await;
    assert_eq!(migration.finish().unwrap().state, MigrationState::Done);
    latest.check(&moving, "when it is over").await;
}

fn key(region: &str, package: &str, version: i64) -> LayerKey {
    LayerKey {
        rgn: region.into(),
        pckg: package.into(),
        py_vrsn: PYTHON.into(),
        lyr_vrsn: version,
    }
}

#[tokio::test]
async fn point_12_a_layer_that_expires_while_rows_move_is_removed_once_and_none_because_it_moved() {
    let first = First::at_work().await;
    let stored = REGIONS.len() * PACKAGES.len() * 3;
    let (region, package) = (REGIONS[0], PACKAGES[0]);
    let second = Duration::from_secs(1);
    // Two layers expire, and no process of the first version receives the change.
    first.clock.advance(YEAR - PAUSE + DAY);
    until("the first removals", &first.clock, second, async || {
        let versions = v1::VersionsOfLayerWhere { region, package };
        first
            .db
            .versions_of_layer(versions)
            .collect()
            .await
            .unwrap()
            .len()
            == 1
    })
    .await;
    let moving = first.migrate();
    let clock = &moving.world.clock;
    let router = watch(moving.app(), &moving.world.stored).await.unwrap();
    let delivered = || usize::try_from(router.status()[0].delivered).unwrap();
    until("the first tombstones", clock, NO_TIME, async || delivered() >= 2).await;

    // Half of the others have moved when they expire, and half have not.
    while moving.page().done < 0.5 {}
    let status = moving.migration().step(MigrationStep::Pause);
    assert!(status.rows_moved > 100 && status.rows_remaining > 100, "{status}");
    clock.advance(PAUSE);
    let expired = REGIONS.len() * PACKAGES.len() * 2;
    until("all tombstones", clock, second, async || delivered() >= expired).await;
    assert_eq!(moving.sweep_all().state, MigrationState::Verified);
    moving.finish();

    // The last change is read last: nothing else was delivered before it.
    moving
        .app()
        .db
        .delete(key(region, package, VERSIONS))
        .await
        .unwrap();
    until("the last removal", clock, NO_TIME, async || delivered() > expired).await;
    assert_eq!(delivered(), expired + 1);
    router.stop().await;
    let deleted = moving.world.layers.deleted.lock().unwrap().clone();
    let each: BTreeSet<_> = deleted.iter().map(ToString::to_string).collect();
    assert_eq!((deleted.len(), each.len()), (expired + 1, expired + 1));
    let left = moving.world.layers.list().await.unwrap();
    assert_eq!(left.len(), stored - expired - 1);
    for region in REGIONS {
        for package in PACKAGES {
            let row = moving
                .app()
                .db
                .get(key(region, package, 1))
                .await
                .unwrap()
                .unwrap();
            assert!(row.dltd_dt.is_some() && row.dply_sts.is_none(), "{row:?}");
        }
    }
}
