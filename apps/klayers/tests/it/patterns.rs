//! The access patterns, on rows of both layouts; and what is in an index.

use std::collections::BTreeSet;
use std::sync::Arc;

use klayers::model::*;
use serde_json::Value;
use testing::TestPlace;
use trestle::api::{PutItem, Scan};
use trestle::models::ApplyOptions;
use trestle::{
    AnyDatabase, AttributeValue, DatabaseExt as _, Item, SystemClock, Wait as _, WithModels as _, typed,
};

use crate::support::{PYTHON, REGION, World, v1};

const PY39: &str = "p3.9";
pub(crate) const TABLE: &str = "kl.db-ver2";

/// The rows of the file, as they would be imported: all of one layout, before the database knows the model.
pub(crate) fn import<M: typed::Model>(stored: &AnyDatabase, is_ours: impl Fn(&str) -> bool + Send) {
    // On a thread that may wait for an endpoint.
    std::thread::scope(|scope| scope.spawn(|| import_here::<M>(stored, is_ours)).join().unwrap());
}

fn import_here<M: typed::Model>(stored: &AnyDatabase, is_ours: impl Fn(&str) -> bool) {
    trestle::apply::<M>(stored).unwrap();
    stored.remove_model(M::definition().name()).unwrap();
    let rows: Vec<Value> = serde_json::from_str(include_str!("../rows.json")).unwrap();
    assert_eq!(rows.len(), 26);
    for row in rows.iter().filter(|row| is_ours(row["pk"].as_str().unwrap())) {
        let AttributeValue::M(item) = value(row) else {
            panic!("{row} is no row")
        };
        let put = stored.put_item(PutItem {
            table_name: TABLE.into(),
            item,
            ..PutItem::default()
        });
        put.wait().unwrap();
    }
    let options = ApplyOptions {
        fill: true,
        ..ApplyOptions::default()
    };
    stored.apply_model_with(M::definition().text(), options).unwrap();
}

/// A place with the rows of the file, and the database there.
fn imported<M: typed::Model>(is_ours: impl Fn(&str) -> bool + Send) -> (TestPlace, AnyDatabase) {
    let place = TestPlace::new("klayers");
    let stored = place.open(Arc::new(SystemClock::new()));
    import::<M>(&stored, is_ours);
    (place, stored)
}

fn value(json: &Value) -> AttributeValue {
    match json {
        Value::String(text) => text.as_str().into(),
        Value::Number(number) => number.as_i64().unwrap().into(),
        Value::Array(list) => AttributeValue::L(list.iter().map(value).collect()),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, member)| (name.as_str(), value(member)));
            AttributeValue::M(members.collect::<Item>())
        }
        other => panic!("{other} is not in the file"),
    }
}

pub(crate) fn is_new_layout(pk: &str) -> bool {
    pk.contains(':') || pk.starts_with("bldVrsn0#p") || pk.starts_with("cnfg#")
}

fn sorted<T: Ord>(mut texts: Vec<T>) -> Vec<T> {
    texts.sort();
    texts
}

#[tokio::test]
async fn point_01_the_six_access_patterns_on_rows_of_the_present_layout() {
    let (_place, stored) = imported::<KlayersModel>(is_new_layout);
    let db = Klayers::on(stored).model_applied();

    let (region, package, python_version) = ("eu-west-1", "tinylib", PY39);
    let latest = db.latest_layer(LatestLayerWhere {
        region,
        package,
        python_version,
    });
    assert_eq!(latest.await.unwrap().unwrap().arn, "arn:new:tinylib:2");

    let everywhere = db.latest_of_package(package).collect().await.unwrap();
    let everywhere = everywhere
        .into_iter()
        .map(|layer| (layer.rgn, layer.lyr_vrsn))
        .collect();
    assert_eq!(
        sorted(everywhere),
        [("eu-west-1".to_owned(), 2), ("us-east-1".to_owned(), 1)]
    );

    let deployed = db.deployed_in_region(region).collect().await.unwrap();
    let deployed = deployed.into_iter().map(|layer| layer.arn).collect();
    assert_eq!(
        sorted::<String>(deployed),
        ["arn:new:bigmath:2", "arn:new:tinylib:1", "arn:new:tinylib:2"]
    );

    let build = db
        .latest_build(LatestBuildWhere {
            python_version,
            package,
        })
        .await
        .unwrap()
        .unwrap();
    assert_eq!((build.blt_vrsn, build.rqrmnts_hsh.as_deref()), (2, Some("t3")));

    let builds = db.latest_builds(PY39).collect().await.unwrap();
    let builds = builds
        .into_iter()
        .map(|build| (build.pckg, build.blt_vrsn))
        .collect();
    assert_eq!(
        sorted(builds),
        [("bigmath".to_owned(), 1), ("tinylib".to_owned(), 2)]
    );

    let same = db.with_requirements("b2").gather().await.unwrap();
    assert_eq!((same.build.len(), same.layer.len()), (1, 1));
    let regions = db.config(ConfigKind::Rgns, "all").await.unwrap().unwrap();
    assert_eq!(regions.cnfg.unwrap().len(), 2);
    let packages = db.config(ConfigKind::Pckgs, "p3.8").await.unwrap().unwrap();
    assert_eq!(packages.cnfg.unwrap(), [AttributeValue::from("tinylib")]);
}

#[tokio::test]
async fn point_01_the_six_access_patterns_on_rows_of_the_first_layout() {
    let (_place, stored) = imported::<v1::KlayersModel>(|pk| !is_new_layout(pk));
    let db = v1::Klayers::on(stored).model_applied();

    let (region, package) = ("eu-west-1", "tinylib");
    let latest = db.latest_layer(v1::LatestLayerWhere { region, package });
    assert_eq!(latest.await.unwrap().unwrap().arn, "arn:old:tinylib:2");

    let everywhere = db.latest_of_package(package).collect().await.unwrap();
    let everywhere = everywhere
        .into_iter()
        .map(|layer| (layer.rgn, layer.lyr_vrsn))
        .collect();
    assert_eq!(
        sorted(everywhere),
        [("eu-west-1".to_owned(), 2), ("us-east-1".to_owned(), 1)]
    );

    let deployed = db.deployed_in_region(region).collect().await.unwrap();
    let deployed = deployed.into_iter().map(|layer| layer.arn).collect();
    assert_eq!(
        sorted::<String>(deployed),
        ["arn:old:bigmath:2", "arn:old:tinylib:1", "arn:old:tinylib:2"]
    );
    assert_eq!(db.latest_in_region(region).collect().await.unwrap().len(), 2);

    let build = db.latest_build(package).await.unwrap().unwrap();
    assert_eq!(
        (build.blt_vrsn, build.rqrmnts_txt.as_deref()),
        (2, Some("tinylib==0.2"))
    );

    let builds = db.latest_builds().collect().await.unwrap();
    let builds = builds
        .into_iter()
        .map(|build| (build.pckg, build.blt_vrsn))
        .collect();
    assert_eq!(
        sorted(builds),
        [("bigmath".to_owned(), 1), ("tinylib".to_owned(), 2)]
    );

    let same = db.with_requirements("t2").gather().await.unwrap();
    let counts = (
        same.build.len(),
        same.build_head.len(),
        same.layer.len(),
        same.layer_head.len(),
    );
    assert_eq!(counts, (1, 1, 2, 2));
}

/// Every row of an index: the attributes it shows, and the keys.
async fn scan(stored: &AnyDatabase, index: &str) -> Vec<Item> {
    let scanned = stored.scan(Scan {
        table_name: TABLE.into(),
        index_name: Some(index.into()),
        ..Scan::default()
    });
    scanned.await.unwrap().items.unwrap().to_vec()
}

#[tokio::test]
async fn point_05_indexes_hold_deployed_layers_only_and_show_what_they_project() {
    let (_place, stored) = imported::<KlayersModel>(is_new_layout);
    let in_region = ["arn", "dplySts", "pckg", "pckgVrsn", "pk", "rgn", "sk"];
    let of_package = ["dplySts", "pckg", "pk", "rgn", "rqrmntsHsh", "sk"];
    let with = |shown: &[&'static str], more: &'static str, less: &str| -> BTreeSet<&'static str> {
        shown
            .iter()
            .copied()
            .filter(|name| *name != less)
            .chain([more])
            .collect()
    };
    let indexes = [
        ("deployed_in_region", in_region.into()),
        (
            "deployed_in_region_by_python_version",
            with(&in_region, "rgn#PyVrsn", "rgn"),
        ),
        ("package_global", of_package.into()),
        (
            "package_global_by_python_version",
            with(&of_package, "pckg#PyVrsn", "pckg"),
        ),
    ];
    for (index, shown) in indexes {
        let rows = scan(&stored, index).await;
        assert_eq!(
            rows.len(),
            4,
            "{index}: neither heads, nor the tombstone, nor builds, nor lists"
        );
        for row in rows {
            let text = |name: &str| row.get(name).and_then(AttributeValue::as_s).unwrap_or_default();
            assert!(
                text("pk").starts_with("lyr#") && text("sk").starts_with("lyrVrsn#v"),
                "{row:?}"
            );
            let names = row.iter().map(|(name, _)| name.as_str());
            let names: BTreeSet<&str> = names.filter(|name| *name != "exDt").collect();
            assert_eq!(names, shown, "{index}");
            let expires = text("dplySts") == "deprecated" && index.starts_with("deployed");
            assert_eq!(row.contains_key("exDt"), expires, "{index}: {row:?}");
        }
    }
}

#[tokio::test]
async fn point_05_the_index_of_requirements_holds_whatever_has_some_and_shows_them_alone() {
    let (_place, stored) = imported::<KlayersModel>(is_new_layout);
    let table = stored.scan(Scan {
        table_name: TABLE.into(),
        ..Scan::default()
    });
    let shown = ["pk", "sk", "rqrmntsHsh", "rqrmntsTxt"];
    let cut = |row: &Item| -> BTreeSet<(String, String)> {
        let shown = row.iter().filter(|(name, _)| shown.contains(&name.as_str()));
        shown
            .map(|(name, value)| (name.clone(), format!("{value:?}")))
            .collect()
    };
    let table = table.await.unwrap().items.unwrap().to_vec();
    let has_some = |row: &&Item| row.contains_key("rqrmntsHsh");
    let expected: BTreeSet<_> = table.iter().filter(has_some).map(cut).collect();
    assert!(expected.len() < table.len(), "lists have no requirements");
    let of = |prefix: &str| {
        let begins = |row: &&Item| row.get("pk").unwrap().as_s().unwrap().starts_with(prefix);
        table.iter().filter(has_some).filter(begins).count()
    };
    // Layers with the tombstone, builds, and the heads of both.
    assert_eq!((of("lyr#"), of("bld#"), of("bldVrsn0#")), (8, 3, 2));
    let rows = scan(&stored, "requirements_hash").await;
    assert_eq!(rows.len(), expected.len());
    for row in rows {
        assert!(expected.contains(&cut(&row)), "{row:?}");
        assert_eq!(row.len(), shown.len(), "{row:?}");
    }
}

#[tokio::test]
async fn point_06_a_region_has_latest_and_deprecated_layers_and_the_latest_alone_when_asked() {
    let world = World::new();
    world
        .deploy_versions("requests", REGION, &["1.0", "2.0", "3.0"])
        .await;
    world.deploy_versions("pandas", REGION, &["1.0"]).await;
    world.deploy_versions("pandas", "us-east-1", &["1.0"]).await;
    let db = world.app.db;
    let all = db.deployed_in_region(REGION).collect().await.unwrap();
    let all = all
        .into_iter()
        .map(|layer| format!("{} {}", layer.pckg, layer.pckg_vrsn))
        .collect();
    assert_eq!(
        sorted::<String>(all),
        ["pandas 1.0", "requests 1.0", "requests 2.0", "requests 3.0"]
    );

    let latest = db.latest_in_region(REGION).collect().await.unwrap();
    let latest = latest
        .into_iter()
        .map(|layer| format!("{} {}", layer.pckg, layer.pckg_vrsn))
        .collect();
    assert_eq!(sorted::<String>(latest), ["pandas 1.0", "requests 3.0"]);

    let of_python = |python_version| {
        let latest = LatestInRegionByPythonVersionWhere {
            region: REGION,
            python_version,
        };
        db.latest_in_region_by_python_version(latest).collect()
    };
    assert_eq!(of_python(PYTHON).await.unwrap().len(), 2);
    assert_eq!(of_python("p3.8").await.unwrap().len(), 0);
}
