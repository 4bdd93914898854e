//! Faults between any two steps, and killed processes: there is exactly one latest nevertheless.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use klayers::model::Klayers;
use klayers::{App, Files, LayerStore as _};
use testing::TestPlace;

use crate::support::{REGION, World, check, directory, files};

/// More steps than a deployment has.
const STEPS: u64 = 12;

#[tokio::test]
async fn point_03_there_is_one_latest_after_a_fault_of_the_database_between_any_two_steps() {
    for loses_answers in [false, true] {
        let mut failed = 0;
        for step in 0..STEPS {
            let world = World::new();
            world.deploy_versions("requests", REGION, &["1.0"]).await;
            world.index.release("requests", "2.0");
            world.database.fail_after(step, loses_answers);
            failed += u64::from(world.deploy("requests", REGION).await.is_err());
            world.database.repair();
            recover(&world).await;
        }
        assert!((3..STEPS).contains(&failed), "{failed} steps failed");
    }
}

#[tokio::test]
async fn point_03_there_is_one_latest_after_a_fault_of_the_layer_store() {
    for loses_answers in [false, true] {
        let world = World::new();
        world.deploy_versions("requests", REGION, &["1.0"]).await;
        world.index.release("requests", "2.0");
        world.layers.fail_after(0, loses_answers);
        assert!(world.deploy("requests", REGION).await.is_err());
        world.layers.repair();
        recover(&world).await;
    }
}

/// The invariants hold, and the next attempt succeeds and leaves no layer without a row.
async fn recover(world: &World) {
    let latest = world.check("requests", REGION).await;
    assert!(matches!(latest.as_deref(), Some("1.0" | "2.0")), "{latest:?}");
    world.deploy("requests", REGION).await.unwrap();
    assert_eq!(world.check("requests", REGION).await.as_deref(), Some("2.0"));
    world.app.load_config(&files()).await.unwrap();
    world.app.sweep().await.unwrap();
    let named = world.versions("requests", REGION).await.len();
    assert_eq!((named, world.layers.list().await.unwrap().len()), (2, 2));
}

const PACKAGES: usize = 12;
const REGIONS: [&str; 3] = ["eu-west-1", "us-east-1", "ap-south-1"];

#[tokio::test]
async fn point_03_there_is_one_latest_however_often_the_process_is_killed() {
    let (at, place) = (TestPlace::new("klayers"), tempfile::tempdir().unwrap());
    std::fs::write(
        place.path().join("regions.csv"),
        format!("region\n{}\n", REGIONS.join("\n")),
    )
    .unwrap();
    release(place.path(), 0);
    assert!(start(&at, place.path()).wait().unwrap().success());
    let mut cut_off = 0;
    for round in 1..=6 {
        release(place.path(), round);
        let mut child = start(&at, place.path());
        // The log has a line for each finished package; by then, others are at any of their steps.
        let log = BufReader::new(child.stderr.take().unwrap());
        let lines = usize::try_from(round).unwrap();
        assert_eq!(log.lines().take(lines).map_while(Result::ok).count(), lines);
        child.kill().unwrap();
        child.wait().unwrap();
        let newest = check_all(&at, place.path()).await;
        cut_off += usize::from(newest.iter().any(|version| *version != format!("{round}.0")));
    }
    assert!(cut_off > 0, "no run was cut off");
    assert!(start(&at, place.path()).wait().unwrap().success());
    let newest = check_all(&at, place.path()).await;
    assert!(newest.iter().all(|version| version == "6.0"), "{newest:?}");
}

/// A new version of every package.
fn release(place: &Path, round: u64) {
    let mut packages = "package,version,requires\n".to_owned();
    for package in 0..PACKAGES {
        writeln!(packages, "package-{package},{round}.0,").unwrap();
    }
    std::fs::write(place.join("packages.csv"), packages).unwrap();
}

fn start(at: &TestPlace, place: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_klayers"));
    command
        .args(["run", "--index", "list", "--pythons", "p3.12"])
        .arg("--data")
        .arg(place)
        .arg("--packages")
        .arg(place.join("packages.csv"))
        .arg("--regions")
        .arg(place.join("regions.csv"));
    at.tell(&mut command)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Opens the database that the process left, and returns the latest version of every package in every region.
async fn check_all(at: &TestPlace, place: &Path) -> Vec<String> {
    let stored = at.open_directory(&place.join("table"));
    let layers = Arc::new(directory(&place.join("layers")));
    let db = Klayers::apply_to(&stored).unwrap().shared();
    let app = App {
        db,
        layers: layers.clone(),
        index: Arc::new(Files::default()),
    };
    app.sweep().await.unwrap();
    let mut newest = Vec::new();
    for region in REGIONS {
        for package in 0..PACKAGES {
            let latest = check(&app, &*layers, &format!("package-{package}"), region).await;
            newest.push(latest.unwrap());
        }
        let named = app.db.deployed_in_region(region).collect().await.unwrap().len();
        let stored = layers.list().await.unwrap();
        let stored = stored.iter().filter(|layer| layer.region == *region).count();
        assert_eq!(stored, named, "every layer is named");
    }
    newest
}
