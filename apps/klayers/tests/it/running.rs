//! The monthly run.

use futures_util::future::try_join_all;
use klayers::{Files, LayerStore as _, Summary};

use crate::support::{PYTHON, World, files};

const REGIONS: &str = include_str!("../../regions.csv");

fn packages() -> Vec<String> {
    Files::default().index().unwrap().packages()
}

#[test]
fn the_files_have_64_packages_and_22_regions_and_no_prerelease() {
    assert_eq!(packages().len(), 64);
    assert_eq!(REGIONS.lines().skip(1).count(), 22);
    let index = Files::default().index().unwrap();
    let release = klayers::PackageIndex::latest(&index, "numpy", PYTHON).unwrap();
    assert_eq!(release.version, "2.1.2", "2.2.0rc1 is a pre-release");
    assert!(packages().contains(&"psycopg[binary,pool]".to_owned()));
}

#[tokio::test]
async fn point_13_one_query_returns_the_latest_build_of_all_64_packages() {
    let world = World::new();
    for package in packages() {
        world.app.build(&package, PYTHON).await.unwrap();
    }
    world.index.release("requests", "9.9");
    world.app.build("requests", PYTHON).await.unwrap();
    world.app.build("requests", "p3.8").await.unwrap();
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
    world.app.load_config(&files()).await.unwrap();
    let first = world.app.run().await.unwrap();
    assert_eq!((first.built, first.deployed, first.failed), (64, layers, vec![]));

    let stored = async || {
        let regions = regions.iter().map(|region| world.layers.list(region));
        try_join_all(regions).await.unwrap()
    };
    let before = stored().await;
    world.database.take();
    world.app.load_config(&files()).await.unwrap();
    let second = world.app.run().await.unwrap();
    let nothing = Summary {
        unchanged: layers,
        ..Summary::default()
    };
    assert_eq!(second, nothing);
    assert_eq!(world.database.take().1, 0, "writes");
    assert_eq!(stored().await, before);

    world.index.release("pandas", "3.0");
    let third = world.app.run().await.unwrap();
    assert_eq!((third.built, third.deployed), (1, regions.len()));
    for region in &regions {
        assert_eq!(world.check("pandas", region).await.as_deref(), Some("3.0"));
    }
}
