//! Heads that follow a row, in an open database, while many clients promote concurrently.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use trestle_api::{Query, UpdateItem};
use trestle_embedded::{VerifyOptions, verify};

use crate::models::support::{FILL, Found, TestDb, empty, plain, text};

const MODEL: &str = r##"
model = "releases"
[table.releases]
key = ["pk", "sk"]
entity_attribute = "kind"
[entity.build]
table = "releases"
key = { pk = "build#{name}#{env}", sk = "{version}#{locale}" }
attributes = { name = "string", env = "string", version = "semver", locale = "string" }
[entity.build.head]
key = { pk = "head#{name}#{env}", sk = "locale#{locale}" }
follows = "release"
previous = { before = "version" }
[entity.release]
table = "releases"
key = { pk = "head#{name}#{env}", sk = "release" }
attributes = { name = "string", env = "string", version = "semver" }
"##;

const LOCALES: [&str; 3] = ["de", "en", "fr"];

fn build(version: usize, locale: &str) -> serde_json::Value {
    json!({"kind": "build", "name": "p", "env": "prod", "version": format!("1.{version}.0"), "locale": locale})
}

fn filled(versions: usize) -> TestDb {
    let db = empty();
    db.apply(MODEL);
    for version in 0..versions {
        // Each second version lacks a locale.
        for locale in &LOCALES[version % 2..] {
            db.put("releases", build(version, locale)).unwrap();
        }
    }
    let first = json!({"kind": "release", "name": "p", "env": "prod", "version": "1.0.0"});
    db.put("releases", first).unwrap();
    db
}

/// The versions of all heads and of the release, as one query reads them.
fn heads(db: &TestDb) -> Vec<String> {
    let query = Query {
        table_name: "releases".to_owned(),
        key_condition_expression: Some("pk = :pk".to_owned()),
        expression_attribute_values: Some(plain(json!({":pk": "head#p#prod"}))),
        consistent_read: Some(true),
        ..Query::default()
    };
    let rows = db.run(query).unwrap().items.unwrap();
    rows.iter().map(|row| text(&row, "version").to_owned()).collect()
}

fn assert_sound(db: &TestDb) {
    let mut found = Found::default();
    verify(&mut db.view(), db.now(), VerifyOptions::default(), &mut found).unwrap();
    assert!(found.0.is_empty(), "{:?}", found.0);
}

/// Moves the release from one version to another, if it has not changed.
fn promote(db: &TestDb, from: &str, to: &str) -> Result<(), String> {
    let update = UpdateItem {
        table_name: "releases".to_owned(),
        key: plain(json!({"pk": "head#p#prod", "sk": "release"})),
        update_expression: Some("SET version = :to".to_owned()),
        condition_expression: Some("version = :from".to_owned()),
        expression_attribute_values: Some(plain(json!({":from": from, ":to": to}))),
        ..UpdateItem::default()
    };
    db.run(update).map(drop).map_err(|error| error.to_string())
}

#[test]
fn of_concurrent_promotions_one_wins_and_no_locale_is_left_behind() {
    const ROUNDS: usize = 60;
    let db = filled(ROUNDS + 1);
    let (done, won, lost) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut looks = 0;
            while !done.load(Ordering::Relaxed) {
                let versions = heads(&db);
                let same = versions.windows(2).all(|pair| pair[0] == pair[1]);
                assert!(same && versions.len() >= 3, "{versions:?}");
                looks += 1;
            }
            looks
        });
        for round in 0..ROUNDS {
            let from = format!("1.{round}.0");
            let movers: Vec<_> = (0..4)
                .map(|_| {
                    let from = from.clone();
                    let (db, won, lost) = (&db, &won, &lost);
                    scope.spawn(move || match promote(db, &from, &format!("1.{}.0", round + 1)) {
                        Ok(()) => won.fetch_add(1, Ordering::Relaxed),
                        Err(error) => {
                            assert!(error.contains("conditional request failed"), "{error}");
                            lost.fetch_add(1, Ordering::Relaxed)
                        }
                    })
                })
                .collect();
            for mover in movers {
                mover.join().unwrap();
            }
        }
        done.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 0);
    });
    assert_eq!(won.into_inner(), ROUNDS, "one of four each time");
    assert_eq!(lost.into_inner(), 3 * ROUNDS);
    assert_eq!(
        heads(&db).len(),
        1 + LOCALES.len(),
        "the last version has all locales"
    );
    assert_sound(&db);
}

#[test]
fn a_restart_and_a_fill_leave_the_same_heads() {
    let db = filled(3).restarted();
    promote(&db, "1.0.0", "1.1.0").unwrap();
    assert_eq!(heads(&db), ["1.1.0"; 3], "two locales and the release");
    // Under a model without heads, no head changes.
    let without = MODEL.replace(
        "[entity.build.head]\nkey = { pk = \"head#{name}#{env}\", sk = \"locale#{locale}\" }\nfollows = \"release\"\nprevious = { before = \"version\" }\n",
        "",
    );
    assert_ne!(without, MODEL);
    db.apply(&without);
    promote(&db, "1.1.0", "1.2.0").unwrap();
    db.try_apply(MODEL, FILL);
    assert_eq!(heads(&db), ["1.2.0"; 4]);
    assert_sound(&db);
}

#[test]
fn a_history_begins_with_the_first_change_after_it_is_declared() {
    let db = filled(3);
    let declared = format!(
        "{MODEL}[entity.release.history]\nof = \"version\"\nkey = {{ pk = \"moves#{{name}}#{{env}}\", sk = \"{{moved}}\" }}\nprevious = {{ from = \"version\" }}\nkeep = 2\n"
    );
    let report = db.try_apply(&declared, FILL);
    assert_eq!(report.outcome, trestle_binding::Outcome::Applied, "{report}");
    for (from, to) in [("1.0.0", "1.1.0"), ("1.1.0", "1.2.0"), ("1.2.0", "1.1.0")] {
        promote(&db, from, to).unwrap();
    }
    promote(&db, "1.0.0", "1.2.0").unwrap_err();
    let db = db.restarted();
    let rows = db.rows("releases");
    let moves = rows.iter().filter(|row| text(row, "kind") == "release.history");
    let mut moves: Vec<(&str, &str, &str)> = moves
        .map(|row| (text(row, "moved"), text(row, "from"), text(row, "version")))
        .collect();
    moves.sort_unstable();
    let moves: Vec<(&str, &str)> = moves.into_iter().map(|(_, from, to)| (from, to)).collect();
    assert_eq!(moves, [("1.1.0", "1.2.0"), ("1.2.0", "1.1.0")]);
    assert_sound(&db);
}
