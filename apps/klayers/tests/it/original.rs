//! The original's data, unchanged: its sample rows in two layouts, its lists of packages and regions.

use std::path::PathBuf;

use klayers::model::*;
use klayers::{Deployed, Error, Files, Force, PackageIndex as _};
use trestle::api::{Query, Scan};
use trestle::{AnyDatabase, AttributeValue, DatabaseExt as _, Item};

use crate::import::{Imported, import};
use crate::patterns::TABLE;
use crate::support::{PYTHON, World};

const ROWS: &str = include_str!("../Klayers.json");
const P38: &str = "p3.8";
const P39: &str = "p3.9";
const REGION: &str = "ap-southeast-1";

fn sorted<T: Ord>(rows: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut rows: Vec<T> = rows.into_iter().collect();
    rows.sort();
    rows
}

#[tokio::test]
async fn point_01_the_six_access_patterns_on_the_originals_26_rows_in_both_layouts() {
    let world = World::new();
    let db = &world.app.db;
    let imported = import(db, ROWS).await.unwrap();
    let all = Imported {
        rows: 18,
        known: 0,
        heads: 8,
    };
    assert_eq!(imported, all);

    let latest = async |region: &str, package: &str, python_version: &str| {
        let latest = LatestLayerWhere {
            region,
            package,
            python_version,
        };
        let head = db.latest_layer(latest).await.unwrap().unwrap();
        (head.lyr_vrsn, head.pckg_vrsn)
    };
    assert_eq!(latest(REGION, "requests", P38).await, (3, "2.2.3".to_owned()));
    assert_eq!(latest(REGION, "example", P38).await, (2, "0.2".to_owned()));
    assert_eq!(latest(REGION, "requests", P39).await, (1, "0.1".to_owned()));
    // Its row says 3, its key 1.
    assert_eq!(
        latest("us-east-1", "requests", P38).await,
        (1, "2.2.3".to_owned())
    );

    let everywhere = db.latest_of_package("requests").collect().await.unwrap();
    let everywhere = everywhere
        .iter()
        .map(|layer| (layer.rgn.as_str(), layer.py_vrsn.as_str()));
    assert_eq!(
        sorted(everywhere),
        [(REGION, P38), (REGION, P39), ("us-east-1", P38)]
    );

    let deployed = db.deployed_in_region(REGION).collect().await.unwrap();
    let deployed = deployed
        .iter()
        .map(|layer| (layer.pckg.as_str(), layer.pckg_vrsn.as_str(), layer.dply_sts));
    use LayerDplySts::{Deprecated, Latest};
    let expected = [
        ("example", "0.2", Some(Latest)),
        ("idna", "1.0", Some(Latest)),
        ("requests", "0.1", Some(Latest)),
        ("requests", "2.2.0", Some(Deprecated)),
        ("requests", "2.2.1", Some(Deprecated)),
        ("requests", "2.2.3", Some(Latest)),
    ];
    let mut deployed: Vec<_> = deployed.collect();
    deployed.sort_by_key(|row| (row.0, row.1));
    assert_eq!(deployed, expected);

    let build = LatestBuildWhere {
        python_version: P38,
        package: "requests",
    };
    let build = db.latest_build(build).await.unwrap().unwrap();
    assert_eq!((build.blt_vrsn, build.pckg_vrsn.as_deref()), (2, Some("2.2.1")));

    let builds = async |python| {
        let builds = db.latest_builds(python).collect().await.unwrap();
        sorted(builds.into_iter().map(|build| (build.pckg, build.blt_vrsn)))
    };
    let named = |package: &str, number| (package.to_owned(), number);
    assert_eq!(
        builds(P38).await,
        [named("example", 2), named("idna", 1), named("requests", 2)]
    );
    assert_eq!(builds(P39).await, [named("requests", 1)]);

    // Heads of both layouts have the attributes of the original's, and the version of Python.
    let table = world.stored.scan(Scan {
        table_name: TABLE.into(),
        ..Scan::default()
    });
    let table = table.await.unwrap().items.unwrap().to_vec();
    let heads_of = |prefix: &str, names: &str| {
        let is_head = |row: &&Item| {
            row.get("pk").unwrap().as_s().unwrap().starts_with(prefix) && {
                let sk = row.get("sk").unwrap().as_s().unwrap();
                sk == "lyrVrsn0#" || sk.starts_with("pckg#")
            }
        };
        for head in table.iter().filter(is_head) {
            let lacking: Vec<&str> = names.split(' ').filter(|name| !head.contains_key(name)).collect();
            assert!(lacking.is_empty(), "{head:?} lacks {lacking:?}");
        }
        table.iter().filter(is_head).count()
    };
    let of_layers = "arn lyrVrsn pckg pckgVrsn rgn rqrmntsHsh rqrmntsTxt pyVrsn";
    let of_builds = "bltVrsn pckg pckgVrsn rqrmntsHsh rqrmntsTxt pyVrsn";
    let heads = heads_of("lyr#", of_layers) + heads_of("bldVrsn0#p3.8", of_builds);
    // The original's one build for this Python has nothing but its package. It has no head for idna's layer: the database adds it.
    assert_eq!(heads + heads_of("bldVrsn0#p3.9", "bltVrsn pckg pyVrsn"), 9);

    let same = db.with_requirements("....").gather().await.unwrap();
    let counts = (
        same.build.len(),
        same.build_head.len(),
        same.layer.len(),
        same.layer_head.len(),
    );
    assert_eq!(counts, (5, 3, 7, 4));
    for scope in [P38, P39] {
        let packages = db.config(ConfigKind::Pckgs, scope).await.unwrap();
        assert!(packages.is_some() && db.config(ConfigKind::Rgns, scope).await.unwrap().is_some());
    }
}

/// The layers of the file that are deployed: region, package, version of Python, number and status.
const DEPLOYED: [(&str, &str, &str, u32, &str); 7] = [
    (REGION, "example", P38, 2, "latest"),
    (REGION, "idna", P38, 1, "latest"),
    (REGION, "requests", P38, 1, "deprecated"),
    (REGION, "requests", P38, 2, "deprecated"),
    (REGION, "requests", P38, 3, "latest"),
    (REGION, "requests", P39, 1, "latest"),
    ("us-east-1", "requests", P38, 1, "latest"),
];

/// What the indexes of regions and of packages project beside keys.
const IN_REGION: [&str; 5] = ["pckg", "pckgVrsn", "arn", "exDt", "crtdDt"];
const OF_PACKAGE: [&str; 2] = ["rgn", "rqrmntsHsh"];

/// What an index answers about a partition, and within it about a status if one is asked for.
async fn asked(
    stored: &AnyDatabase,
    (index, attribute): (&str, &str),
    of: &str,
    status: Option<&str>,
) -> Vec<Item> {
    let names = [("#of".to_owned(), attribute.to_owned())];
    let mut values = Item::from([(":of", of)]);
    let mut condition = "#of = :of".to_owned();
    if let Some(status) = status {
        condition += " AND dplySts = :status";
        values.insert(":status", status);
    }
    let query = stored.query(Query {
        table_name: TABLE.to_owned(),
        index_name: Some(index.to_owned()),
        key_condition_expression: Some(condition),
        expression_attribute_names: Some(names.into()),
        expression_attribute_values: Some(values),
        ..Query::default()
    });
    query.await.unwrap().items.unwrap().to_vec()
}

fn key_of(row: &Item) -> (String, String) {
    let text = |name: &str| row.get(name).unwrap().as_s().unwrap().to_owned();
    (text("pk"), text("sk"))
}

#[tokio::test]
async fn point_01_the_indexes_answer_what_the_originals_rows_say() {
    let world = World::new();
    import(&world.app.db, ROWS).await.unwrap();
    let scanned = world.stored.scan(Scan {
        table_name: TABLE.into(),
        ..Scan::default()
    });
    let rows = scanned.await.unwrap().items.unwrap().to_vec();
    type Partition = fn(&(&str, &str, &str, u32, &str)) -> String;
    let indexes: [(&str, &str, Partition, &[&str]); 4] = [
        ("deployed_in_region", "rgn", |row| row.0.to_owned(), &IN_REGION),
        (
            "deployed_in_region_by_python_version",
            "rgn#PyVrsn",
            |row| format!("{}:{}", row.0, row.2),
            &IN_REGION,
        ),
        ("package_global", "pckg", |row| row.1.to_owned(), &OF_PACKAGE),
        (
            "package_global_by_python_version",
            "pckg#PyVrsn",
            |row| format!("{}:{}", row.1, row.2),
            &OF_PACKAGE,
        ),
    ];
    for (index, attribute, partition, projected) in indexes {
        let partitions = sorted(DEPLOYED.iter().map(partition).chain(["nowhere".to_owned()]));
        for of in partitions {
            for status in [None, Some("latest"), Some("deprecated")] {
                let is_asked = |row: &&(&str, &str, &str, u32, &str)| {
                    partition(row) == of && status.is_none_or(|status| row.4 == status)
                };
                let expected =
                    DEPLOYED
                        .iter()
                        .filter(is_asked)
                        .map(|(region, package, python, number, _)| {
                            let pk = format!("lyr#{region}:{package}:{python}");
                            (pk, format!("lyrVrsn#v{number}"))
                        });
                let found = asked(&world.stored, (index, attribute), &of, status).await;
                assert_eq!(
                    sorted(found.iter().map(key_of)),
                    sorted(expected),
                    "{index}: {of}, {status:?}"
                );
                let statuses = found
                    .iter()
                    .map(|row| row.get("dplySts").unwrap().as_s().unwrap());
                assert!(statuses.is_sorted(), "{index}: {of}");
                for row in found {
                    let whole = rows.iter().find(|whole| key_of(whole) == key_of(&row)).unwrap();
                    let shown = |name: &str| {
                        projected.contains(&name) || ["pk", "sk", "dplySts", attribute].contains(&name)
                    };
                    let expected = whole.iter().filter(|(name, _)| shown(name));
                    let expected: Item = expected
                        .map(|(name, value)| (name.as_str(), value.clone()))
                        .collect();
                    assert_eq!(row, expected, "{index}: {of}");
                }
            }
        }
    }
}

#[tokio::test]
async fn point_01_the_index_of_requirements_answers_with_layers_builds_and_their_heads() {
    let world = World::new();
    import(&world.app.db, ROWS).await.unwrap();
    let index = ("requirements_hash", "rqrmntsHsh");
    let kinds = async |hash: &str| {
        let found = asked(&world.stored, index, hash, None).await;
        let count = |prefix: &str, sk: &str| {
            let keys = found.iter().map(key_of);
            keys.filter(|key| key.0.starts_with(prefix) && key.1.starts_with(sk))
                .count()
        };
        for row in &found {
            assert_eq!(row.get("rqrmntsHsh").and_then(AttributeValue::as_s), Some(hash));
            assert_eq!(row.len(), 4, "{row:?}");
        }
        let counts = [
            count("lyr#", "lyrVrsn#v"),
            count("lyr#", "lyrVrsn0#"),
            count("bld#", "pckg#"),
            count("bldVrsn0#", "pckg#"),
        ];
        assert_eq!(counts.iter().sum::<usize>(), found.len());
        counts
    };
    assert_eq!(kinds("....").await, [7, 4, 5, 3]);
    // The one layer of the second layout, and its head.
    assert_eq!(kinds("...").await, [1, 1, 0, 0]);
    // Only a head of the file has this: the database makes heads of layers.
    assert_eq!(kinds(",,,").await, [0, 0, 0, 0]);
}

#[tokio::test]
async fn an_import_replaces_nothing_and_the_pipeline_goes_on_from_there() {
    let world = World::new();
    let db = &world.app.db;
    import(db, ROWS).await.unwrap();
    let example = LayerWhere {
        region: REGION,
        package: "example",
        python_version: P38,
        version: 1,
    };
    let deleted = db.layer(example.clone()).await.unwrap().unwrap();
    assert!(
        deleted.dltd_dt.is_some() && deleted.dply_sts.is_none(),
        "{deleted:?}"
    );
    let first = LayerWhere {
        package: "requests",
        ..example
    };
    assert!(
        db.layer(first).await.unwrap().unwrap().ex_dt.is_some(),
        "it expires"
    );

    let build = world.app.build("requests", P38, Force::default()).await.unwrap();
    assert_eq!(build.number, 3);
    let deployed = world.app.deploy(REGION, &build).await.unwrap();
    assert!(
        matches!(&deployed, Deployed::Latest(arn) if arn.version == 4),
        "{deployed:?}"
    );
    let again = import(db, ROWS).await.unwrap();
    assert_eq!((again.rows, again.known), (0, 18));
    let versions = VersionsOfLayerWhere {
        region: REGION,
        package: "requests",
        python_version: P38,
    };
    let versions = db.versions_of_layer(versions).collect().await.unwrap();
    let latest = versions
        .iter()
        .filter(|layer| layer.dply_sts == Some(LayerDplySts::Latest));
    assert_eq!(
        (versions.len(), latest.map(|layer| layer.lyr_vrsn).collect()),
        (4, vec![4])
    );
}

#[tokio::test]
async fn rows_that_are_none_of_klayers_are_named_before_anything_is_written() {
    let world = World::new();
    let row = |pk: &str, sk: &str| format!(r#"{{"pk": {{"S": "{pk}"}}, "sk": {{"S": "{sk}"}}}}"#);
    let scan = |rows: &[String]| format!(r#"{{"Items": [{}]}}"#, rows.join(","));
    let good = row("bld#v1", "pckg#idna");
    for (text, reason) in [
        ("{}".to_owned(), "there are no rows"),
        ("[".to_owned(), "EOF"),
        (r#"{"Items": [{"pk": "text"}]}"#.to_owned(), "none of DynamoDB's"),
        (
            scan(&[good.clone(), row("order#1", "line#1")]),
            "pk `order#1` and sk `line#1`",
        ),
        (
            scan(&[good.clone(), row("lyr#eu.idna", "lyrVrsn#1")]),
            "sk `lyrVrsn#1`",
        ),
    ] {
        let refused = import(&world.app.db, &text).await.unwrap_err().to_string();
        assert!(refused.contains(reason), "{refused}");
    }
    assert!(
        world
            .app
            .db
            .latest_builds(P38)
            .collect()
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(import(&world.app.db, &scan(&[good])).await.unwrap().rows, 1);
}

fn originals() -> Files {
    let file = |name: &str| Some(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name));
    Files {
        packages: file("packages_p312.csv"),
        regions: file("regions.csv"),
        pythons: vec![PYTHON.to_owned()],
    }
}

#[tokio::test]
async fn the_originals_lists_are_taken_and_packages_are_named_without_their_extras() {
    let world = World::new();
    let files = originals();
    world.app.load_config(&files).await.unwrap();
    let packages = world.app.list(ConfigKind::Pckgs, PYTHON).await.unwrap();
    let regions = world.app.list(ConfigKind::Rgns, PYTHON).await.unwrap();
    assert_eq!((packages.len(), regions.len()), (64, 22));
    assert!(
        packages.contains(&"psycopg[binary,pool]".to_owned()) && regions.contains(&"ap-east-1".to_owned())
    );
    let done = world.app.run(Force::default(), |_| {}).await.unwrap();
    assert_eq!((done.deployed, done.failed), (64 * 22, vec![]));
    assert_eq!(world.check("psycopg", "ap-east-1").await.as_deref(), Some("1.0"));
    assert_eq!(
        world.check("fuzzywuzzy", "us-east-1").await.as_deref(),
        Some("1.0")
    );
    // It has no versions: without a network there is no release, and none is invented.
    let refused = files.latest("requests", PYTHON).await.unwrap_err();
    assert!(
        matches!(&refused, Error::NoRelease(_))
            && refused
                .to_string()
                .contains("add its version, or run where pip reaches"),
        "{refused}"
    );
}

/// The newest version of the package `a` in a list, or why there is none.
fn newest(versions: &[&str]) -> Result<String, String> {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("packages.csv");
    let lines: String = versions
        .iter()
        .map(|version| format!("a,{version},b==1\n"))
        .collect();
    std::fs::write(&file, format!("package,version,requires\n{lines}")).unwrap();
    let files = Files {
        packages: Some(file),
        ..Files::default()
    };
    let release = files.index().and_then(|index| index.latest("a"));
    release
        .map(|release| release.version)
        .map_err(|error| error.to_string())
}

#[test]
fn the_newest_release_counts_wherever_it_stands_in_the_list() {
    for (versions, expected) in [
        (&["1.9", "1.10", "1.2"][..], "1.10"),
        (&["2.0", "1.0"], "2.0"),
        (&["1.0", "1.0.post1", "1.0rc1"], "1.0.post1"),
        (&["2.0.dev1", "1.0", "2.0a1", "2.0b2", "2.0rc3"], "1.0"),
        (&["2.1.0+cu118", "2.1.0", "2.0.9"], "2.1.0+cu118"),
        (&["2.1.0+cu118", "2.1.0+cu121"], "2.1.0+cu121"),
        (&["1!0.1", "9.0"], "1!0.1"),
        (&["2024.10.1", "2024.9.30"], "2024.10.1"),
    ] {
        assert_eq!(newest(versions).as_deref(), Ok(expected), "{versions:?}");
    }
    for (version, reason) in [
        ("", "packages.csv: a has the version ``"),
        ("latest", "PEP 440"),
        ("2.0rc1", "a has no release in --packages"),
    ] {
        let refused = newest(&[version]).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
}
