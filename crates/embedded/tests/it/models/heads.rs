//! The newest version of a layer during concurrent publications: exactly one is the latest, at every moment.

use crate::models::support::{TestDb, empty, plain, text};
use crate::models::systems::model;
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use trestle_api::{PutItem, Query};
use trestle_item::{AttributeValue, Item};

const TABLE: &str = "kl.db-ver2";
const WRITERS: i64 = 16;
const VERSIONS: i64 = 400;

fn klayers() -> TestDb {
    let models = empty();
    models.apply(&model("klayers"));
    models
}

fn publish(models: &TestDb, package: &str, version: i64) {
    let put = PutItem {
        table_name: TABLE.to_owned(),
        item: plain(json!({
            "rgn": "eu-west-1", "pckg": package, "pyVrsn": "p3.12", "lyrVrsn": version,
            "arn": format!("arn:{package}:{version}"), "pckgVrsn": format!("1.{version}"),
        })),
        ..PutItem::default()
    };
    models.run(put).unwrap();
}

/// The layers of the region with this status, according to the index.
fn with_status(models: &TestDb, status: &str) -> Vec<Item> {
    let query = Query {
        table_name: TABLE.to_owned(),
        index_name: Some("deployed_in_region".to_owned()),
        key_condition_expression: Some("rgn = :r AND dplySts = :s".to_owned()),
        expression_attribute_values: Some(plain(json!({":r": "eu-west-1", ":s": status}))),
        ..Query::default()
    };
    models.run(query).unwrap().items.unwrap().to_vec()
}

fn head(models: &TestDb, package: &str) -> Item {
    let pk = format!("lyr#eu-west-1:{package}:p3.12");
    models.get(TABLE, json!({"pk": pk, "sk": "lyrVrsn0#"})).unwrap()
}

fn version(row: &Item) -> i64 {
    match row.get("lyrVrsn") {
        Some(AttributeValue::N(number)) => number.to_string().parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_version_becomes_the_head_and_demotes_the_last() {
    let models = klayers();
    publish(&models, "requests", 1);
    publish(&models, "requests", 2);
    assert_eq!(version(&head(&models, "requests")), 2);
    assert!(!head(&models, "requests").contains_key("dplySts"));
    let old = &with_status(&models, "deprecated")[0];
    assert_eq!(text(old, "arn"), "arn:requests:1");
    assert!(old.contains_key("exDt"), "the demoted version expires");
    assert_eq!(text(&with_status(&models, "latest")[0], "arn"), "arn:requests:2");
    publish(&models, "requests", 0);
    assert_eq!(
        version(&head(&models, "requests")),
        2,
        "an older version takes nothing over"
    );
}

#[test]
fn among_many_writers_exactly_one_version_is_the_latest_at_every_moment() {
    let models = klayers();
    publish(&models, "numpy", 0);
    let (next, done) = (AtomicI64::new(1), AtomicBool::new(false));
    let looked = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut looks, mut newest) = (0, 0);
                    while !done.load(Ordering::Relaxed) {
                        let latest = with_status(&models, "latest");
                        assert_eq!(latest.len(), 1, "{latest:?}");
                        let head = version(&head(&models, "numpy"));
                        assert!(head >= newest, "the head went back from {newest} to {head}");
                        (looks, newest) = (looks + 1, head);
                    }
                    looks
                })
            })
            .collect();
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at > VERSIONS {
                            break;
                        }
                        // Neighbours are exchanged, so that versions also arrive late.
                        publish(&models, "numpy", at ^ 1);
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .sum::<u64>()
    });
    assert!(looked > 0, "somebody looked meanwhile");
    let latest = with_status(&models, "latest");
    assert_eq!(latest.len(), 1);
    let newest = (1..=VERSIONS).map(|at| at ^ 1).max().unwrap();
    assert_eq!(text(&latest[0], "arn"), format!("arn:numpy:{newest}"));
    assert_eq!(version(&head(&models, "numpy")), newest);
    let rows = i64::try_from(models.rows(TABLE).len()).unwrap();
    assert_eq!(rows, VERSIONS + 1, "every version, and the head");
}
