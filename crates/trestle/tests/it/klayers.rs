//! Klayers: heads, sparse indexes that show a part, and keys that hold a number.

use crate::models::klayers::*;
use crate::support::{Counted, embedded};
use trestle::{AttributeValue, Database, Wait};

const REGION: &str = "eu-west-1";
const PYTHON: &str = "p3.12";

fn layer(package: &str, version: i64) -> Layer {
    let new = NewLayer {
        rgn: REGION.into(),
        pckg: package.into(),
        py_vrsn: PYTHON.into(),
        lyr_vrsn: version,
        arn: format!("arn:{package}:{version}"),
        pckg_vrsn: format!("{version}.0"),
    };
    Layer {
        rqrmnts_hsh: Some(format!("hash of {package} {version}")),
        rqrmnts_txt: Some(format!("{package}=={version}.0")),
        ..new.into()
    }
}

fn key(package: &str, version: i64) -> LayerKey {
    layer(package, version).key()
}

/// Two versions: the second is the latest, and the first will expire.
fn deploys<D: Database>(db: &Klayers<D>) {
    for version in 1..=2 {
        let layer = layer("numpy", version);
        db.put(&layer).if_not_exists().wait().unwrap();
    }
    let head = db
        .latest_layer(LatestLayerWhere {
            region: REGION,
            package: "numpy",
            python_version: PYTHON,
        })
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!((head.lyr_vrsn, head.arn.as_str()), (2, "arn:numpy:2"));
    let versions = db
        .versions_of_layer(VersionsOfLayerWhere {
            region: REGION,
            package: "numpy",
            python_version: PYTHON,
        })
        .collect()
        .wait()
        .unwrap();
    let shown: Vec<_> = versions
        .iter()
        .map(|layer| (layer.lyr_vrsn, layer.dply_sts, layer.ex_dt.is_some()))
        .collect();
    assert_eq!(
        shown,
        [
            (1, Some(LayerDplySts::Deprecated), true),
            (2, Some(LayerDplySts::Latest), false)
        ]
    );
}

/// What indexes show, and how to get from there to the complete row.
fn lists<D: Database>(db: &Klayers<D>) {
    db.put(&layer("pandas", 1)).wait().unwrap();
    let latest = db.latest_in_region(REGION).collect().wait().unwrap();
    let packages: Vec<&str> = latest.iter().map(|layer| layer.pckg.as_str()).collect();
    assert_eq!(packages.len(), 2, "{packages:?}");
    assert!(packages.contains(&"numpy") && packages.contains(&"pandas"));
    let whole = db.get(latest.first().unwrap()).wait().unwrap().unwrap();
    assert_eq!(whole.arn, latest.first().unwrap().arn);

    assert_eq!(db.deployed_in_region(REGION).collect().wait().unwrap().len(), 3);
    let by_python = db.latest_in_region_by_python_version(LatestInRegionByPythonVersionWhere {
        region: REGION,
        python_version: PYTHON,
    });
    assert_eq!(by_python.collect().wait().unwrap().len(), 2);
    let of_package = db.latest_of_package("numpy").collect().wait().unwrap();
    let only = of_package.first().unwrap();
    assert_eq!(
        (of_package.len(), only.rgn.as_str(), only.lyr_vrsn),
        (1, REGION, 2)
    );
    let of_package = db.latest_of_package_by_python_version(LatestOfPackageByPythonVersionWhere {
        package: "numpy",
        python_version: PYTHON,
    });
    assert_eq!(of_package.collect().wait().unwrap().len(), 1);
    let layer = LayerWhere {
        region: REGION,
        package: "numpy",
        python_version: PYTHON,
        version: 1,
    };
    assert_eq!(
        db.layer(layer).wait().unwrap().unwrap().dply_sts,
        Some(LayerDplySts::Deprecated)
    );
}

/// Builds, and those made from the same requirements.
fn builds<D: Database>(db: &Klayers<D>) {
    for version in 1..=2 {
        let new = NewBuild {
            blt_vrsn: version,
            py_vrsn: PYTHON.into(),
            pckg: "numpy".into(),
        };
        let build = Build {
            rqrmnts_hsh: Some("hash of numpy 1".into()),
            ..new.into()
        };
        db.put(&build).wait().unwrap();
    }
    let latest = LatestBuildWhere {
        python_version: PYTHON,
        package: "numpy",
    };
    assert_eq!(db.latest_build(latest).wait().unwrap().unwrap().blt_vrsn, 2);
    let all = db.latest_builds(PYTHON).collect().wait().unwrap();
    assert_eq!(all.len(), 1);
    let same = db.with_requirements("hash of numpy 1").gather().wait().unwrap();
    assert_eq!(
        (
            same.layer.len(),
            same.build.len(),
            same.build_head.len(),
            same.layer_head.len()
        ),
        (1, 2, 1, 0)
    );
}

fn configuration<D: Database>(db: &Klayers<D>) {
    let config = Config {
        cnfg: Some(vec![
            AttributeValue::from("numpy"),
            AttributeValue::from("pandas"),
        ]),
        ..NewConfig {
            kind: ConfigKind::Pckgs,
            scope: PYTHON.into(),
        }
        .into()
    };
    db.put(&config).wait().unwrap();
    assert_eq!(db.config(ConfigKind::Pckgs, PYTHON).wait().unwrap(), Some(config));
    assert_eq!(db.config(ConfigKind::Rgns, PYTHON).wait().unwrap(), None);
}

/// Back to the first version, and on to the second again.
fn rollback<D: Database>(db: &Klayers<D>) {
    let head = layer("numpy", 1).head_key();
    let back = db.point_layer_head(head.clone(), 1).wait().unwrap();
    assert_eq!(back.arn, "arn:numpy:1");
    let status = |version| db.get(key("numpy", version)).wait().unwrap().unwrap().dply_sts;
    assert_eq!(status(1), Some(LayerDplySts::Latest));
    assert_eq!(status(2), Some(LayerDplySts::Deprecated));
    db.point_layer_head(head.clone(), 2).wait().unwrap();
    assert_eq!(status(2), Some(LayerDplySts::Latest));
    let nowhere = db.point_layer_head(head, 9).wait().unwrap_err();
    assert!(
        matches!(&nowhere, trestle::typed::Error::Invalid(error) if error.message().contains("layer.head")),
        "{nowhere}"
    );
}

/// A row is changed and removed, and its head with it.
fn changes<D: Database>(db: &Klayers<D>) {
    let moved = db
        .update_layer(key("pandas", 1))
        .set_arn("arn:elsewhere")
        .remove_rqrmnts_hsh()
        .wait()
        .unwrap();
    assert_eq!((moved.arn.as_str(), moved.rqrmnts_hsh), ("arn:elsewhere", None));
    let head = LayerHeadKey {
        rgn: REGION.into(),
        pckg: "pandas".into(),
        py_vrsn: PYTHON.into(),
    };
    assert_eq!(db.get(&head).wait().unwrap().unwrap().arn, "arn:elsewhere");
    assert!(db.delete(key("pandas", 1)).if_exists().wait().unwrap());
    assert_eq!(db.get(&head).wait().unwrap(), None);
    let config = ConfigKey {
        kind: ConfigKind::Pckgs,
        scope: PYTHON.into(),
    };
    assert!(db.delete(config).wait().unwrap());
    let build = BuildKey {
        blt_vrsn: 2,
        py_vrsn: PYTHON.into(),
        pckg: "numpy".into(),
    };
    let error = db.delete(&build).wait().unwrap_err();
    assert!(error.to_string().contains("point entity build.head"), "{error}");
    let head = BuildHeadKey {
        py_vrsn: PYTHON.into(),
        pckg: "numpy".into(),
    };
    db.point_build_head(head, 1).wait().unwrap();
    assert!(db.delete(&build).wait().unwrap());
}

pub(crate) fn story<D: Database>(db: &Klayers<D>) {
    deploys(db);
    lists(db);
    builds(db);
    configuration(db);
    rollback(db);
    changes(db);
}

#[test]
fn versions_have_one_latest_and_indexes_show_their_part_on_the_engine() {
    story(&Klayers::apply_to(&embedded()).unwrap());
}

#[test]
fn the_same_on_any_database_that_has_the_model() {
    let embedded = embedded();
    Klayers::apply_to(&embedded).unwrap();
    story(&Klayers::on(Counted::new(embedded)).model_applied());
}
