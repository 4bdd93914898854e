//! Every derived fact is checked against its rows, and repaired if it is wrong: one error of every kind, and
//! repairs and fills while clients write.

use crate::models::support::{FILL, Found, TestDb, create, empty, in_directory, plain};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use trestle_api::{DeleteItem, PutItem};
use trestle_binding::{Outcome, Rate, RepairReport};
use trestle_embedded::{RepairOptions, StartOptions, Unwatched, Verified, VerifyOptions, verify};
use trestle_item::{AttributeValue, Number};
use trestle_model::{COUNTS_TABLE, OrphanCount};

const EVERYTHING: &str = include_str!("everything.toml");

fn verified(models: &TestDb) -> (Verified, Vec<String>) {
    let mut found = Found::default();
    let now = models.now();
    let verified = verify(&mut models.view(), now, VerifyOptions::default(), &mut found).unwrap();
    (verified, found.0)
}

fn clean(models: &TestDb, when: &str) {
    let (verified, found) = verified(models);
    assert_eq!(verified.disagreements(), 0, "{when}: {}", found.join("\n"));
    assert_eq!(verified.models[0].to_do.facts_to_fill, 0, "{when}");
}

fn repair(models: &TestDb) -> RepairReport {
    models
        .db()
        .models()
        .repair(&RepairOptions::default(), &mut Unwatched)
        .unwrap()
}

/// Writes rows without the models.
fn raw(models: &TestDb, write: impl FnOnce()) {
    models.behind_the_models(|_| write());
}

fn delete(models: &TestDb, pk: &str, sk: &str) {
    let delete = DeleteItem {
        table_name: "rows".to_owned(),
        key: plain(json!({"pk": pk, "sk": sk})),
        ..DeleteItem::default()
    };
    models.run(delete).unwrap();
}

/// Sets attributes of a row, or removes those that are null.
fn set(models: &TestDb, pk: &str, sk: &str, attributes: Value) {
    let Some(mut row) = models.get("rows", json!({"pk": pk, "sk": sk})) else {
        return;
    };
    for (name, value) in plain(attributes) {
        match value {
            AttributeValue::Null => drop(row.remove(&name)),
            value => drop(row.insert(name, value)),
        }
    }
    let put = PutItem {
        table_name: "rows".to_owned(),
        item: row,
        ..PutItem::default()
    };
    models.run(put).unwrap();
}

/// Stores an orphan count for a shop, as if its row did not exist.
fn put_orphan(models: &TestDb, shop: &str, count: i64) {
    let orphan = OrphanCount {
        model: "everything".to_owned(),
        entity: "shop".to_owned(),
        attribute: "count".to_owned(),
        identity: plain(json!({ "shop": shop })),
        count: Number::from(count),
    };
    let put = PutItem {
        table_name: COUNTS_TABLE.to_owned(),
        item: orphan.to_item(),
        ..PutItem::default()
    };
    models.run(put).unwrap();
}

/// A few rows of every entity.
fn filled() -> TestDb {
    let models = empty();
    models.apply(EVERYTHING);
    for (name, version) in [("a", 1), ("a", 2), ("a", 3), ("b", 1)] {
        let body = format!("{name}{version}");
        put(
            &models,
            json!({"kind": "doc", "name": name, "version": version, "body": body}),
        );
        put(&models, json!({"kind": "part", "name": name, "version": version}));
    }
    for (id, shop, event) in [("1", "s", "e"), ("2", "s", "f"), ("3", "s", "e"), ("4", "t", "e")] {
        put(
            &models,
            json!({"kind": "order", "id": id, "shop": shop, "event": event, "price": 7}),
        );
    }
    put(
        &models,
        json!({"kind": "person", "person": "x", "name": "Xaver", "clubs": ["SS", "c", "d"]}),
    );
    put(
        &models,
        json!({"kind": "person", "person": "y", "clubs": ["SS", "c"]}),
    );
    put(
        &models,
        json!({"kind": "follows", "from": "x", "to": "y", "since": "2026"}),
    );
    put(&models, json!({"kind": "seat", "seat": "1", "person": "x"}));
    clean(&models, "before");
    models
}

fn put(models: &TestDb, row: Value) {
    models.put("rows", row).unwrap();
}

#[test]
fn one_error_of_every_kind_is_found_alone_and_mended() {
    type Injection = (&'static str, fn(&TestDb));
    let injections: &[Injection] = &[
        ("missing-head", |m| delete(m, "doc#a", "head")),
        // The source row is marked as the newest, and a head elsewhere contradicts it.
        ("stray-head head-mark", |m| {
            set(m, "doc#b", "head", json!({"version": 9}))
        }),
        ("stray-head", |m| set(m, "parts#a", "head", json!({"version": 9}))),
        ("wrong-head", |m| {
            set(m, "doc#a", "head", json!({"body": "other"}))
        }),
        ("wrong-head", |m| {
            set(m, "doc#a", "head", json!({"more": "other"}))
        }),
        ("head-mark", |m| {
            set(m, "doc#a", "v#0001", json!({"state": "live"}))
        }),
        ("head-mark", |m| {
            set(m, "doc#a", "v#0003", json!({"state": "old"}))
        }),
        ("missing-inverse", |m| {
            set(m, "club", "c", json!({"members": ["SS", "x"]}))
        }),
        ("stray-inverse", |m| {
            set(m, "club", "d", json!({"members": ["SS", "x", "z"]}))
        }),
        ("missing-inverse", |m| delete(m, "whom#y", "who#x")),
        ("stray-inverse", |m| {
            put(
                m,
                json!({"pk": "whom#q", "sk": "who#r", "kind": "follower", "whom": "q", "who": "r"}),
            );
        }),
        ("wrong-inverse", |m| {
            set(m, "whom#y", "who#x", json!({"since": "1999"}))
        }),
        ("counter", |m| set(m, "shop", "s", json!({"count": 2}))),
        ("counter", |m| set(m, "shop", "t", json!({"turnover": 70}))),
        ("counter", |m| delete(m, "order", "3")),
        // The counting row is lost with its count; or it exists, and there is an orphan count.
        ("counter", |m| delete(m, "shop", "t")),
        ("counter", |m| put_orphan(m, "s", 4)),
        ("counter", |m| put_orphan(m, "nowhere", 4)),
        ("counter-events", |m| set(m, "shop", "s", json!({"events": 5}))),
        ("missing-unique", |m| delete(m, "body#a2", "body")),
        ("stray-unique", |m| {
            put(
                m,
                json!({"pk": "body#q", "sk": "body", "kind": "doc.unique.body", "name": "a", "version": 1, "body": "q"}),
            );
        }),
        ("wrong-unique", |m| {
            set(m, "body#a2", "body", json!({"version": 1}))
        }),
        ("missing-entry", |m| delete(m, "clubs#c", "x")),
        ("stray-entry", |m| {
            put(
                m,
                json!({"pk": "clubs#q", "sk": "x", "kind": "person.entries.clubs", "clubName": "q", "person": "x"}),
            );
        }),
        ("wrong-entry", |m| {
            set(m, "clubs#c", "x", json!({"name": "other"}))
        }),
        ("copy", |m| set(m, "seat", "1", json!({"personName": "other"}))),
        ("derived", |m| set(m, "seat", "1", json!({"personKey": "other"}))),
        ("derived", |m| set(m, "part#b#1", "part", json!({"kind": null}))),
    ];
    for (kind, inject) in injections {
        let models = filled();
        raw(&models, || inject(&models));
        let (before, found) = verified(&models);
        let kinds: Vec<&str> = before.models[0].wrong.keys().map(|kind| kind.name()).collect();
        let expected: Vec<&str> = kind.split(' ').collect();
        assert_eq!(kinds, expected, "{}", found.join("\n"));
        let options = RepairOptions {
            dry_run: true,
            ..RepairOptions::default()
        };
        let dry = models.db().models().repair(&options, &mut Unwatched).unwrap();
        assert_eq!(dry.models[0].left_total, before.wrong_facts, "{dry}");
        assert_eq!(verified(&models).0, before, "a dry run changes nothing");
        let report = repair(&models);
        assert!(report.is_clean(), "{kind}: {report}");
        assert!(
            report.models[0]
                .mended
                .keys()
                .any(|mended| mended.name() == expected[0]),
            "{report}"
        );
        clean(&models, kind);
        assert!(repair(&models).models[0].mended.is_empty(), "once is enough");
    }
}

#[test]
fn what_no_repair_can_tell_is_named_and_left() {
    let models = filled();
    raw(&models, || {
        set(&models, "doc#a", "v#0001", json!({"body": "a2"}));
        set(&models, "order", "1", json!({"price": "much"}));
    });
    let report = repair(&models);
    assert!(!report.is_clean());
    let left: Vec<&str> = report.models[0]
        .left
        .iter()
        .map(|fact| fact.kind.name())
        .collect();
    assert!(
        left.contains(&"shared-value") && left.contains(&"unfit"),
        "{report}"
    );
    let (_, found) = verified(&models);
    assert!(
        found
            .iter()
            .any(|fact| fact.contains("v#0001") && fact.contains("shared-value")),
        "{found:?}"
    );
}

#[test]
fn effects_take_effect_only_with_what_follows_from_rows_that_are_there() {
    let models = empty();
    create(&models, "rows", &["pk", "sk"]);
    put(
        &models,
        json!({"pk": "doc#a", "sk": "v#0001", "kind": "doc", "name": "a", "version": 1, "body": "x"}),
    );
    let report = models.try_apply(EVERYTHING, crate::models::support::PLAIN);
    assert_eq!(report.outcome, Outcome::Refused, "{report}");
    assert!(report.to_string().contains("--fill"), "{report}");
    assert!(models.db().models().list().is_empty(), "nothing is stored");
    assert_eq!(models.try_apply(EVERYTHING, FILL).outcome, Outcome::Applied);
    clean(&models, "filled in");
}

#[test]
fn a_fill_that_was_cut_off_goes_on_when_the_database_opens() {
    let models = empty();
    models.apply(EVERYTHING);
    for version in 0..20 {
        put(
            &models,
            json!({"name": "a", "version": version, "kind": "doc", "rank": version, "body": format!("b{version}")}),
        );
    }
    clean(&models, "before");
    // The state after a fill that was killed: the version is in force, and some derived rows are missing.
    models.behind_the_models(|engine| {
        let documents = engine.documents().unwrap();
        let (name, bytes) = documents
            .iter()
            .find(|(name, _)| name.starts_with("model/"))
            .unwrap();
        let mut stored: Value = serde_json::from_slice(bytes).unwrap();
        stored["filled_in"] = json!(false);
        let stored = serde_json::to_vec(&stored).unwrap();
        engine
            .store_documents(vec![(name.clone(), Some(stored))])
            .unwrap();
        for key in [
            json!({"pk": "doc#a", "sk": "head"}),
            json!({"pk": "body#b3", "sk": "body"}),
        ] {
            let delete = DeleteItem {
                table_name: "rows".to_owned(),
                key: crate::models::support::plain(key),
                ..DeleteItem::default()
            };
            engine.run(delete).unwrap();
        }
    });
    models.db().begin_work().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !models.db().models().list()[0].filled_in {
        assert!(std::time::Instant::now() < deadline, "the fill does not go on");
        thread::sleep(std::time::Duration::from_millis(10));
    }
    clean(&models, "after the restart");
}

fn number(models: &TestDb, pk: &str, sk: &str, name: &str) -> i64 {
    let row = models.get("rows", json!({"pk": pk, "sk": sk})).unwrap();
    row.get(name)
        .and_then(AttributeValue::as_n)
        .and_then(Number::to_i64)
        .unwrap()
}

/// One client's writes: versions of a few documents, orders of a few shops, memberships, followers and seats.
/// The model may refuse some.
fn write(models: &TestDb, client: u64, round: u64) {
    let pick = |of: u64| {
        (client
            .wrapping_mul(31)
            .wrapping_add(round)
            .wrapping_mul(2_654_435_761)
            >> 7)
            % of
    };
    let (name, version) = (pick(5), pick(40));
    let _ = match round % 7 {
        0 => models.put("rows", json!({
            "pk": format!("doc#n{name}"), "sk": format!("v#{version:04}"), "kind": "doc", "name": format!("n{name}"),
            "version": version, "body": format!("{client}-{round}"),
        })),
        1 => models.put("rows", json!({
            "pk": format!("part#n{name}#{version}"), "sk": "part", "kind": "part", "name": format!("n{name}"), "version": version,
        })),
        2 => models.put("rows", json!({
            "pk": "order", "sk": format!("o{}", pick(60)), "kind": "order", "id": format!("o{}", pick(60)),
            "shop": format!("s{name}"), "event": format!("e{}", pick(9)), "price": pick(50),
        })),
        3 => models.put("rows", json!({
            "pk": "person", "sk": format!("p{}", pick(12)), "kind": "person", "person": format!("p{}", pick(12)),
            "name": format!("{round}"), "clubs": ["SS", format!("c{name}"), "c9"],
        })),
        4 => models.put("rows", json!({
            "pk": "seat", "sk": format!("t{}", pick(15)), "kind": "seat", "seat": format!("t{}", pick(15)), "person": format!("p{}", pick(12)),
        })),
        5 => models.put("rows", json!({
            "pk": format!("from#f{name}"), "sk": format!("to#f{}", pick(6)), "kind": "follows", "from": format!("f{name}"),
            "to": format!("f{}", pick(6)), "since": format!("{round}"),
        })),
        _ => {
            let (pk, sk) = match pick(3) {
                0 => (format!("doc#n{name}"), format!("v#{version:04}")),
                1 => ("order".to_owned(), format!("o{}", pick(60))),
                _ => ("person".to_owned(), format!("p{}", pick(12))),
            };
            let key = plain(json!({"pk": pk, "sk": sk}));
            let delete = DeleteItem { table_name: "rows".to_owned(), key, ..DeleteItem::default() };
            models.run(delete).map(drop)
        }
    };
}

/// Runs `work` while eight clients write.
fn under_writers<T>(models: &TestDb, seed: u64, work: impl FnOnce() -> T) -> T {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for client in 0..8 {
            let stop = &stop;
            scope.spawn(move || {
                let mut round = seed;
                while !stop.load(Ordering::Relaxed) {
                    write(models, client, round);
                    round += 1;
                }
            });
        }
        let worked = work();
        stop.store(true, Ordering::Relaxed);
        worked
    })
}

#[test]
fn every_effect_is_filled_in_while_clients_write() {
    for seed in 0..12 {
        let models = empty();
        create(&models, "rows", &["pk", "sk"]);
        for round in 0..700 {
            write(&models, seed, round);
        }
        let report = under_writers(&models, seed * 1000, || models.try_apply(EVERYTHING, FILL));
        assert_eq!(report.outcome, Outcome::Applied, "{report}");
        clean(&models, "filled in under writers");
        heads_are_newest(&models);
    }
}

/// No head was set back: each is the newest row of its group.
fn heads_are_newest(models: &TestDb) {
    let rows = models.rows("rows");
    let text = |row: &trestle_item::Item, name: &str| crate::models::support::text(row, name).to_owned();
    let version = |row: &trestle_item::Item| {
        row.get("version")
            .and_then(AttributeValue::as_n)
            .and_then(Number::to_i64)
    };
    for kind in ["doc", "part"] {
        for head in rows
            .iter()
            .filter(|row| text(row, "kind") == format!("{kind}.head"))
        {
            let of_group = rows
                .iter()
                .filter(|row| text(row, "kind") == kind && text(row, "name") == text(head, "name"));
            assert_eq!(
                of_group.filter_map(version).max(),
                version(head),
                "{kind} {}",
                text(head, "name")
            );
        }
    }
}

#[test]
fn errors_are_mended_while_clients_write() {
    for seed in 0..6 {
        let models = empty();
        models.apply(EVERYTHING);
        for round in 0..700 {
            write(&models, seed, round);
        }
        raw(&models, || {
            for name in 0..5 {
                delete(&models, &format!("doc#n{name}"), "head");
                let wrong = json!({"count": 1000, "turnover": 1000});
                set(&models, "shop", &format!("s{name}"), wrong);
                delete(&models, "order", &format!("o{name}"));
                delete(&models, "club", &format!("c{name}"));
                delete(&models, &format!("whom#f{name}"), "who#f1");
            }
        });
        assert!(verified(&models).0.wrong_facts > 5);
        let report = under_writers(&models, seed * 1000, || repair(&models));
        assert!(report.is_clean(), "{report}");
        clean(&models, "repaired under writers");
    }
}

#[test]
fn a_counter_that_is_added_counts_the_rows_that_are_there() {
    let models = filled();
    assert_eq!(number(&models, "shop", "s", "count"), 3);
    let less = EVERYTHING.replace(
        "attribute = \"count\"",
        "attribute = \"count\"\nwhere = { event = \"e\" }",
    );
    assert_eq!(models.try_apply(&less, FILL).outcome, Outcome::Applied);
    assert_eq!(number(&models, "shop", "s", "count"), 2);
    clean(&models, "with another condition");
}

/// A million rows with effects on disk: measures verification, and checks that a thousand errors of every
/// kind are repaired. Run by hand, in a release build: `cargo test --release -p trestle-embedded --test it --
/// --ignored --nocapture million`.
#[test]
#[ignore = "takes minutes, and says something only in a release build"]
fn a_million_rows_are_verified_and_a_thousand_errors_of_every_kind_mended() {
    const GROUPS: u64 = 164_000;
    let directory = tempfile::tempdir().unwrap();
    let models = in_directory(directory.path());
    models.apply(EVERYTHING);
    for person in 0..2000 {
        put(
            &models,
            json!({"pk": "person", "sk": format!("p{person}"), "kind": "person", "person": format!("p{person}"), "name": "n"}),
        );
    }
    thread::scope(|scope| {
        for client in 0..4 {
            let models = &models;
            scope.spawn(move || load(models, client, GROUPS));
        }
    });
    let timed = |what: &str| {
        let start = std::time::Instant::now();
        let mut found = Found::default();
        let now = models.now();
        let mut view = models.view();
        view.verify(&mut found).unwrap();
        let storage = start.elapsed();
        let (start, busy) = (std::time::Instant::now(), cpu_seconds());
        let verified = verify(&mut view, now, VerifyOptions::default(), &mut found).unwrap();
        let all = start.elapsed();
        let rows = verified.models[0].rows;
        let rate = |time: std::time::Duration| (rows as f64 / time.as_secs_f64()) as u64;
        println!(
            "{what}: {rows} rows, verified in {all:?} ({} rows/s), storage alone {storage:?}, models alone {} rows/s, \
             {} wrong facts, {:.1} s of CPU",
            rate(all),
            rate(all.saturating_sub(storage)),
            verified.wrong_facts,
            cpu_seconds() - busy,
        );
        verified
    };
    assert_eq!(timed("clean").disagreements(), 0);
    raw(&models, || (0..1000).for_each(|n| spoil(&models, n)));
    let wrong = timed("with errors");
    println!("{:?}", wrong.models[0].wrong);
    assert!(
        wrong.models[0].wrong.values().all(|count| *count >= 300),
        "{wrong:?}"
    );
    let start = std::time::Instant::now();
    let report = repair(&models);
    println!("repaired in {:?}: {report}", start.elapsed());
    assert!(report.is_clean());
    assert_eq!(timed("repaired").disagreements(), 0);
}

/// The processor time of this process, because other processes may use the same machine.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.split(' ').collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<f64>().ok())
            .unwrap_or(0.0)
    };
    (ticks(13) + ticks(14)) / 100.0
}

/// Loads a quarter of the rows.
fn load(models: &TestDb, client: u64, groups: u64) {
    let mut under_way = Vec::new();
    for n in (client..groups).step_by(4) {
        let rows = [
            json!({"pk": format!("doc#n{}", n / 12), "sk": format!("v#{:04}", n % 12), "kind": "doc", "name": format!("n{}", n / 12),
                   "version": n % 12, "body": format!("body-{n}")}),
            json!({"pk": "order", "sk": format!("o{n}"), "kind": "order", "id": format!("o{n}"), "shop": format!("s{}", n % 3000),
                   "event": format!("e{}", n % 11), "price": n % 100}),
            json!({"pk": format!("from#f{n}"), "sk": format!("to#t{}", n % 999), "kind": "follows", "from": format!("f{n}"),
                   "to": format!("t{}", n % 999), "since": "2026"}),
            json!({"pk": "seat", "sk": format!("t{n}"), "kind": "seat", "seat": format!("t{n}"), "person": format!("p{}", n % 2000)}),
        ];
        for row in rows {
            let put = PutItem {
                table_name: "rows".to_owned(),
                item: plain(row),
                ..PutItem::default()
            };
            under_way.push(models.db().start(put.into()));
        }
        if under_way.len() >= 256 {
            under_way.drain(..).for_each(|put| drop(put.wait().unwrap()));
        }
    }
    under_way.drain(..).for_each(|put| drop(put.wait().unwrap()));
}

/// One error of every kind.
fn spoil(models: &TestDb, n: u64) {
    let name = format!("doc#n{n}");
    match n % 3 {
        0 => delete(models, &name, "head"),
        1 => set(models, &name, "head", json!({"version": 99})),
        _ => set(models, &name, "head", json!({"more": "x"})),
    }
    let other = format!("doc#n{}", n + 2000);
    set(models, &other, "v#0003", json!({"state": "live"}));
    set(
        models,
        "shop",
        &format!("s{n}"),
        json!({"count": 5, "events": 99}),
    );
    delete(models, &format!("body#body-{}", 60_000 + n), "body");
    put(
        models,
        json!({"pk": format!("body#q{n}"), "sk": "body", "kind": "doc.unique.body", "name": "a", "version": 1, "body": format!("q{n}")}),
    );
    set(
        models,
        &format!("body#body-{}", 90_000 + n),
        "body",
        json!({"version": 77}),
    );
    let at = 1000 + n;
    delete(models, &format!("whom#t{}", at % 999), &format!("who#f{at}"));
    let at = 3000 + n;
    set(
        models,
        &format!("whom#t{}", at % 999),
        &format!("who#f{at}"),
        json!({"since": "1999"}),
    );
    put(
        models,
        json!({"pk": format!("whom#w{n}"), "sk": "who#r", "kind": "follower", "whom": format!("w{n}"), "who": "r"}),
    );
    set(models, "seat", &format!("t{n}"), json!({"personName": "other"}));
    set(
        models,
        "seat",
        &format!("t{}", n + 5000),
        json!({"personKey": "other"}),
    );
}

#[test]
fn what_is_counted_apart_is_proved_too() {
    let models = filled();
    delete(&models, "shop", "s");
    clean(&models, "a client removes the row that counts");
    delete(&models, "order", "1");
    clean(&models, "and an order");
    put(
        &models,
        json!({"pk": "shop", "sk": "s", "kind": "shop", "shop": "s"}),
    );
    clean(&models, "and the row that counts is there again");
    assert_eq!(number(&models, "shop", "s", "count"), 2);
    raw(&models, || delete(&models, "shop", "t"));
    assert!(repair(&models).is_clean());
    put(
        &models,
        json!({"pk": "shop", "sk": "t", "kind": "shop", "shop": "t"}),
    );
    assert_eq!(number(&models, "shop", "t", "count"), 1);
    clean(&models, "repaired without the row, and written again");
}

#[test]
fn several_counters_may_count_in_one_attribute() {
    let models = empty();
    let both = EVERYTHING.replace(
        "[entity.seat.copy.name]",
        "[entity.seat.counter.count]\nentity = \"shop\"\nwith = { shop = \"person\" }\nattribute = \"count\"\n\n[entity.seat.copy.name]",
    );
    models.apply(&both);
    put(&models, json!({"kind": "order", "id": "1", "shop": "s"}));
    put(&models, json!({"kind": "seat", "seat": "1", "person": "s"}));
    assert_eq!(number(&models, "shop", "s", "count"), 2);
    clean(&models, "both count");
    raw(&models, || set(&models, "shop", "s", json!({"count": 1})));
    assert!(repair(&models).is_clean());
    assert_eq!(number(&models, "shop", "s", "count"), 2);
}

#[test]
fn what_a_migration_has_yet_to_move_is_to_do_and_its_rows_are_proved_meanwhile() {
    let models = filled();
    let moved = EVERYTHING
        .replace("doc#{name}", "document/{name}")
        .replace("pk = \"order\"", "pk = \"orders\"");
    let paused = StartOptions {
        rate: Rate::UNLIMITED,
        finish: false,
        paused: true,
        delete_indexes: false,
    };
    let started = models
        .db()
        .models()
        .start_migration(&moved, paused, &mut Unwatched);
    started.unwrap();
    let (before, found) = verified(&models);
    assert_eq!((before.disagreements(), found), (0, Vec::new()));
    assert_eq!(
        before.models[0].to_do.rows_to_move,
        4 + 2 + 4,
        "documents, their heads and orders"
    );
    put(&models, json!({"kind": "doc", "name": "a", "version": 4}));
    raw(&models, || set(&models, "shop", "s", json!({"count": 9})));
    assert_eq!(verified(&models).0.wrong_facts, 1);
    assert!(repair(&models).is_clean());
    clean(&models, "repaired on the way");
    assert_eq!(number(&models, "shop", "s", "count"), 3);
}
