//! The tables of Cassandra, imported and then read by the application.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use testing::TestPlace;
use trestle::{Embedded, Options, Wait as _};
use trestle_cassandra::{
    Collision, Import, ImportSettings, ImportState, Mapping, Misfit, Observer, Plan, Schema,
};
use warehouse::model::{NewVersion, Version, Warehouse};

use crate::support::{Wishes, World};

/// Fails at rows that do not fit.
struct Strict;

impl Observer for Strict {
    fn misfit(&mut self, misfit: &Misfit) {
        panic!("{misfit:?}");
    }

    fn collision(&mut self, collision: &Collision) {
        panic!("{collision:?}");
    }

    fn progress(&mut self, _work: &'static str, _done: u64, _all: u64, _rows: u64) {}
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/cassandra/tests/data/warehouse")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// A database with the rows of the export.
fn imported() -> Embedded {
    let database = Embedded::in_memory(Options::default()).unwrap();
    Warehouse::apply_to(&database).unwrap();
    let model = trestle_model::load_new(include_str!("../../warehouse.toml"))
        .model
        .unwrap();
    let (mapping, schema) = (text("application.toml"), text("schema.cql"));
    let read = Schema::read(&schema).unwrap();
    let plan = Plan::bind(
        &Mapping::read(&mapping).unwrap(),
        &read,
        Arc::new(model),
        &folder(),
    )
    .unwrap();
    let import = Import {
        plan: Arc::new(plan),
        settings: ImportSettings::default(),
        state: ImportState::of(&mapping, &schema),
    };
    import.run(&database, &mut Strict).wait().unwrap();
    let verified = import.plan.verify(&database, 0, &mut Strict).wait().unwrap();
    assert!(
        verified.iter().all(trestle_cassandra::Verified::holds),
        "{verified:#?}"
    );
    database
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_cassandra_are_served_and_new_versions_join_them() {
    let database = tokio::task::spawn_blocking(imported).await.unwrap();
    let world = World::on(
        TestPlace::new("warehouse"),
        database.into(),
        tempfile::tempdir().unwrap(),
        Wishes::default(),
    )
    .await;
    let heads = world.read("/builds/-/head?name=@good/work").await;
    let locales: Vec<&Value> = heads
        .as_array()
        .unwrap()
        .iter()
        .map(|head| &head["locale"])
        .collect();
    assert_eq!(locales, ["de-DE", "en-US", "zh-Hant-TW"]);
    let files = world.read("/assets/files/@good%2fwork/test?locale=de-AT").await;
    let odd = "https://cdn.example/a,b/a1/it's,%20%22odd%22.js";
    assert_eq!(
        files,
        json!({ "files": [odd, "https://cdn.example/a,b/a1/main.js"] })
    );
    let head = world.read("/builds/my-package/prod").await;
    assert_eq!(
        head["rollbackBuildIds"]["2017-03-01T12:00:00.000Z"],
        "my-package!prod!0.0.2!en-US"
    );
    let whole = world.read("/my-package").await;
    let versions: Vec<&String> = whole["versions"].as_object().unwrap().keys().collect();
    assert_eq!(versions, ["0.0.1", "0.0.10", "0.0.2"], "JSON's order of keys");
    assert_eq!(whole["dist-tags"], json!({ "latest": "0.0.2", "prod": "0.0.1" }));
    // Tarballs stay where they were: there are none of imported versions here.
    assert_eq!(whole["versions"]["0.0.1"]["dist"], Value::Null);
    let tarball = "https://registry.example/my-package/-/my-package-0.0.3.tgz";
    let value = json!({ "name": "my-package", "version": "0.0.3", "dist": { "tarball": tarball } });
    let elsewhere = NewVersion {
        name: "my-package".to_owned(),
        version: "0.0.3".parse().unwrap(),
        value: value.to_string(),
    };
    world.service().db.put(&Version::from(elsewhere)).await.unwrap();
    let whole = world.read("/my-package").await;
    assert_eq!(whole["versions"]["0.0.3"]["dist"]["tarball"], tarball);
    let line = world.read("/release-line/parent").await;
    assert_eq!(
        (&line["version"], &line["previousVersion"]),
        (&json!("2.0.0-rc.1+build.5"), &json!("1.9.9"))
    );
    let line = world.read("/release-line/parent/1.9.9").await;
    assert_eq!(
        line["dependents"],
        json!({ "@good/work": "1.0.0", "my-package": "0.0.1" })
    );
    assert_eq!(
        world.read("/graph/my-package").await["my-package"],
        json!(["parent"])
    );
    assert_eq!(
        world.read("/progress/@good%2fwork/test").await,
        json!({ "progress": 100, "count": 3, "total": 3 })
    );
    assert_eq!(
        world
            .read("/status-events/@good%2fwork/test")
            .await
            .as_array()
            .unwrap()
            .len(),
        2
    );
    // The application continues from there.
    let next = crate::support::Pkg::new("@good/work", "1.1.0").locales(&["de-DE", "en-US", "zh-Hant-TW"]);
    world.publish(&next).await;
    world.in_use("@good%2fwork", "dev", "1.1.0").await;
    let own = world.read("/@good%2fwork").await["versions"]["1.1.0"]["dist"]["tarball"].clone();
    assert_eq!(own, format!("{}/@good%2fwork/-/work-1.1.0.tgz", world.url));
    assert_eq!(world.tag("@good/work", "test", "1.1.0").await, 201);
    world.in_use("@good%2fwork", "test", "1.1.0").await;
    let back = world
        .call(reqwest::Method::POST, "/rollback/@good%2fwork/test", None)
        .await;
    assert_eq!(back.1["version"], "1.0.0", "{}", back.1);
}
