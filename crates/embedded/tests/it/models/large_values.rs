//! Large values on a real engine: upload of parts, rows that are added and removed with them, loose values,
//! verification and repair.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::models::support::{Found, TestDb, empty, expiring, on, plain};
use serde_json::json;
use trestle_api::{
    BatchWriteItem, Delete, DeleteItem, DeleteTable, Error, GetItem, Put, PutItem, PutRequest, Scan,
    TransactWriteItem, TransactWriteItems, UpdateItem, WriteRequest,
};
use trestle_binding::{Rate, RepairReport};
use trestle_embedded::{RepairOptions, StartOptions, Unwatched, VerifyOptions, verify};
use trestle_engine::Engine;
use trestle_env::{Clock, Timestamp, VirtualClock};
use trestle_item::{AttributeValue, Item, Number};
use trestle_model::{
    LOOSE_VALUES_TABLE, LargeValue, LooseValue, NAMED_VALUES_TABLE, PARTS_TABLE, ValueDigest,
};
use trestle_store::MemoryStore;

const REGISTRY: &str = r#"
model = "registry"
[table.registry]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "expires"
[entity.version]
table = "registry"
key = { pk = "package#{name}", sk = "{n:04}" }
attributes = { name = "string", n = "integer", payload = { type = "large", optional = true } }
"#;

/// Puts the parts of a value.
fn upload(db: &TestDb, id: &str, parts: &[&[u8]]) -> LargeValue {
    let mut digest = ValueDigest::default();
    for (at, part) in parts.iter().enumerate() {
        digest.update(part);
        put_part(db, id, at as i64 + 1, part).unwrap();
    }
    LargeValue {
        id: id.to_owned(),
        size: parts.iter().map(|part| part.len() as u64).sum(),
        parts: parts.len() as u64,
        sha256: digest.finish(),
    }
}

fn part(id: &str, number: i64, bytes: &[u8]) -> Item {
    let mut item = part_key(id, number);
    item.insert("bytes", AttributeValue::B(bytes.to_vec()));
    item
}

fn part_key(id: &str, number: i64) -> Item {
    let mut key = Item::from([("id", id)]);
    key.insert("part", Number::from(number));
    key
}

fn put_part(db: &TestDb, id: &str, number: i64, bytes: &[u8]) -> Result<(), Error> {
    db.run(put(PARTS_TABLE, part(id, number, bytes))).map(drop)
}

fn put(table: &str, item: Item) -> PutItem {
    PutItem {
        table_name: table.to_owned(),
        item,
        ..PutItem::default()
    }
}

fn row(n: i64, payload: Option<&LargeValue>) -> Item {
    let mut row = plain(json!({ "name": "p", "n": n }));
    if let Some(payload) = payload {
        row.insert("payload", payload.to_value());
    }
    row
}

fn key(n: i64) -> Item {
    plain(json!({ "pk": "package#p", "sk": format!("{n:04}") }))
}

fn put_row(db: &TestDb, n: i64, payload: Option<&LargeValue>) -> Result<(), Error> {
    db.run(put("registry", row(n, payload))).map(drop)
}

fn delete_row(db: &TestDb, n: i64) {
    db.run(DeleteItem {
        table_name: "registry".to_owned(),
        key: key(n),
        ..DeleteItem::default()
    })
    .unwrap();
}

/// The bytes of a row's value, read like any client.
fn read(db: &TestDb, n: i64) -> Option<Vec<u8>> {
    let row = get(db, "registry", key(n))?;
    let value = LargeValue::from_value(row.get("payload")?).unwrap();
    let mut digest = ValueDigest::default();
    let mut bytes = Vec::new();
    for number in 1..=value.parts {
        let part = get(db, PARTS_TABLE, part_key(&value.id, number as i64)).unwrap();
        bytes.extend_from_slice(part.get("bytes").unwrap().as_b().unwrap());
    }
    digest.update(&bytes);
    assert_eq!((bytes.len() as u64, digest.finish()), (value.size, value.sha256));
    Some(bytes)
}

fn get(db: &TestDb, table: &str, key: Item) -> Option<Item> {
    let get = GetItem {
        table_name: table.to_owned(),
        key,
        consistent_read: Some(true),
        ..GetItem::default()
    };
    db.run(get).unwrap().item
}

fn count(db: &TestDb, table: &str) -> i64 {
    let (mut rows, mut after) = (0, None);
    loop {
        let scan = Scan {
            table_name: table.to_owned(),
            exclusive_start_key: after,
            ..Scan::default()
        };
        let page = db.run(scan).unwrap();
        rows += i64::from(page.count);
        after = page.last_evaluated_key;
        if after.is_none() {
            return rows;
        }
    }
}

/// The number of parts, named values, and loose values.
fn counts(db: &TestDb) -> (i64, i64, i64) {
    (
        count(db, PARTS_TABLE),
        count(db, NAMED_VALUES_TABLE),
        count(db, LOOSE_VALUES_TABLE),
    )
}

fn findings(db: &TestDb) -> Vec<String> {
    let mut found = Found::default();
    let verified = verify(&mut db.view(), db.now(), VerifyOptions::default(), &mut found).unwrap();
    assert_eq!(verified.disagreements(), found.0.len() as u64);
    found.0
}

fn repair(db: &TestDb) -> RepairReport {
    let models = db.db();
    models
        .models()
        .repair(&RepairOptions::default(), &mut Unwatched)
        .unwrap()
}

/// A database that removes, expires and moves rows in the background, with a clock that a test advances.
fn busy() -> (TestDb, Arc<VirtualClock>) {
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000)));
    let db = on(Arc::new(MemoryStore::new()), clock.clone(), expiring());
    db.apply(REGISTRY);
    (db, clock)
}

fn until(clock: &VirtualClock, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        clock.signal().ring();
        std::thread::sleep(Duration::from_millis(1));
    }
}

const ID: &str = "value-0000000000";
const OTHER: &str = "value-1111111111";

#[test]
fn a_part_is_checked_when_it_is_put_and_never_changes() {
    let db = empty();
    db.apply(REGISTRY);
    let refused = |put: Result<(), Error>| put.unwrap_err().message().to_owned();
    assert!(refused(put_part(&db, ID, 2, b"b")).contains("begin with part 1"));
    assert!(refused(put_part(&db, "short", 1, b"a")).contains("`id` must be 16 to 64"));
    assert!(refused(put_part(&db, ID, 0, b"a")).contains("no number from 1 to 4096"));
    let mut more = part(ID, 1, b"a");
    more.insert("more", "x");
    let more = db.run(put(PARTS_TABLE, more)).map(drop);
    assert!(refused(more).contains("it has the attribute more"));
    put_part(&db, ID, 1, b"a").unwrap();
    put_part(&db, ID, 1, b"a").unwrap();
    assert!(refused(put_part(&db, ID, 1, b"b")).contains("a value never changes"));
    put_part(&db, ID, 3, b"c").unwrap();
    // A part is missing.
    let value = LargeValue {
        id: ID.to_owned(),
        size: 2,
        parts: 2,
        sha256: "0".repeat(64),
    };
    assert!(refused(put_row(&db, 1, Some(&value))).contains("the last part has the number 3"));
    put_part(&db, ID, 2, b"b").unwrap();
    let value = LargeValue {
        size: 3,
        parts: 3,
        ..value
    };
    put_row(&db, 1, Some(&value)).unwrap();
    assert!(refused(put_part(&db, ID, 4, b"d")).contains("begin with part 1"));
    assert!(refused(put_part(&db, ID, 1, b"d")).contains("a value never changes"));
}

#[test]
fn parts_are_put_one_by_one_and_removed_by_the_database_only() {
    let db = empty();
    db.apply(REGISTRY);
    upload(&db, ID, &[b"a"]);
    let item = part(OTHER, 1, b"a");
    let batch = BatchWriteItem {
        request_items: [(
            PARTS_TABLE.to_owned(),
            vec![WriteRequest {
                put_request: Some(PutRequest { item: item.clone() }),
                delete_request: None,
            }],
        )]
        .into(),
        ..BatchWriteItem::default()
    };
    let transaction = TransactWriteItems {
        transact_items: vec![TransactWriteItem {
            put: Some(Box::new(Put {
                table_name: PARTS_TABLE.to_owned(),
                item,
                ..Put::default()
            })),
            ..TransactWriteItem::default()
        }],
        ..TransactWriteItems::default()
    };
    let delete = DeleteItem {
        table_name: PARTS_TABLE.to_owned(),
        key: part_key(ID, 1),
        ..DeleteItem::default()
    };
    let update = UpdateItem {
        table_name: PARTS_TABLE.to_owned(),
        key: part_key(ID, 1),
        ..UpdateItem::default()
    };
    for refused in [
        db.run(batch).map(drop),
        db.run(transaction).map(drop),
        db.run(delete).map(drop),
        db.run(update).map(drop),
        db.run(put(NAMED_VALUES_TABLE, Item::from([("id", ID)])))
            .map(drop),
        db.run(put(LOOSE_VALUES_TABLE, Item::from([("id", ID)])))
            .map(drop),
    ] {
        let refused = refused.unwrap_err();
        assert!(refused.message().contains("belongs to Trestle"), "{refused}");
    }
    // Without a model that has large values, nothing would check them.
    db.db().models().remove("registry").unwrap();
    assert!(put_part(&db, OTHER, 1, b"a").is_err());
}

#[test]
fn a_table_that_is_deleted_releases_the_values_of_its_rows_and_a_removed_model_does_not() {
    let (db, clock) = busy();
    let value = upload(&db, ID, &[b"a", b"b"]);
    put_row(&db, 1, Some(&value)).unwrap();
    db.db().models().remove("registry").unwrap();
    clock.advance(Duration::from_secs(7200));
    assert_eq!(counts(&db), (2, 1, 0));
    db.apply(REGISTRY);
    assert_eq!(read(&db, 1).as_deref(), Some(&b"ab"[..]));
    assert_eq!(findings(&db), [""; 0]);

    db.run(DeleteTable {
        table_name: "registry".to_owned(),
    })
    .unwrap();
    assert_eq!(counts(&db), (2, 0, 1));
    clock.advance(Duration::from_secs(601));
    until(&clock, "parts stay", || counts(&db) == (0, 0, 0));
}

#[test]
fn a_migration_moves_the_row_and_leaves_its_value() {
    let (db, clock) = busy();
    for n in 1..=20 {
        let value = upload(
            &db,
            &format!("value-{n:010}"),
            &[b"x", &n.to_string().into_bytes()],
        );
        put_row(&db, n, Some(&value)).unwrap();
    }
    let moved = REGISTRY.replace("package#", "pkg/");
    let options = StartOptions {
        rate: Rate::UNLIMITED,
        finish: true,
        ..StartOptions::default()
    };
    let models = db.db();
    let plan = models.models().start_migration(&moved, options, &mut Unwatched);
    assert!(!plan.unwrap().is_refused());
    // One row is replaced while it may not have moved yet, another is removed.
    let value = upload(&db, ID, &[b"new"]);
    put_row(&db, 1, Some(&value)).unwrap();
    db.run(DeleteItem {
        table_name: "registry".to_owned(),
        key: plain(json!({ "name": "p", "n": 2 })),
        ..DeleteItem::default()
    })
    .unwrap();
    until(&clock, "rows do not move", || {
        models.models().migrations().is_empty() || {
            let migrations = models.models().migrations();
            migrations
                .iter()
                .all(trestle_binding::MigrationStatus::is_at_rest)
        }
    });
    assert_eq!(findings(&db), [""; 0]);
    let rows = db.rows("registry");
    assert_eq!(rows.len(), 19);
    for row in rows {
        assert!(row.get("pk").unwrap().as_s().unwrap().starts_with("pkg/"));
        let value = LargeValue::from_value(row.get("payload").unwrap()).unwrap();
        assert!(get(&db, PARTS_TABLE, part_key(&value.id, 1)).is_some());
    }
    assert_eq!(counts(&db), (2 * 20 + 1, 19, 2));
}

/// Writes a row that no client can write.
fn raw(engine: &Engine, table: &str, item: Item) {
    engine.run(put(table, item)).unwrap();
}

fn raw_delete(engine: &Engine, table: &str, key: Item) {
    let delete = DeleteItem {
        table_name: table.to_owned(),
        key,
        ..DeleteItem::default()
    };
    engine.run(delete).unwrap();
}

#[test]
fn one_error_of_every_kind_is_found_alone_and_mended_if_it_can_be() {
    type Injection = (&'static str, bool, fn(&Engine));
    let injections: &[Injection] = &[
        ("damaged-value", false, |e| {
            raw_delete(e, PARTS_TABLE, part_key(ID, 1))
        }),
        ("damaged-value", false, |e| {
            raw_delete(e, PARTS_TABLE, part_key(ID, 2))
        }),
        ("damaged-value", false, |e| {
            raw_delete(e, PARTS_TABLE, part_key(ID, 1));
            raw_delete(e, PARTS_TABLE, part_key(ID, 2));
        }),
        ("damaged-value", false, |e| raw(e, PARTS_TABLE, part(ID, 2, b"B"))),
        ("damaged-value", false, |e| {
            raw(e, PARTS_TABLE, part(ID, 2, b"longer"))
        }),
        ("damaged-value", false, |e| raw(e, PARTS_TABLE, part(ID, 3, b"c"))),
        ("missing-value", true, |e| {
            raw_delete(e, NAMED_VALUES_TABLE, Item::from([("id", ID)]));
        }),
        ("damaged-value", false, |e| {
            raw_delete(e, NAMED_VALUES_TABLE, Item::from([("id", ID)]));
            raw_delete(e, PARTS_TABLE, part_key(ID, 2));
        }),
        ("stray-value", true, |e| raw_delete(e, "registry", key(1))),
        ("stray-value", true, |e| {
            raw(e, PARTS_TABLE, part(OTHER, 1, b"orphan"))
        }),
        ("stray-value", true, |e| {
            let reference = LargeValue {
                id: ID.to_owned(),
                size: 2,
                parts: 2,
                sha256: "0".repeat(64),
            };
            let loose = LooseValue::released(&reference, Timestamp::from_secs(1_800_000_000));
            raw(e, LOOSE_VALUES_TABLE, loose.to_item().unwrap());
        }),
    ];
    for (at, (kind, can_be_mended, inject)) in injections.iter().enumerate() {
        let db = empty();
        db.apply(REGISTRY);
        let value = upload(&db, ID, &[b"a", b"b"]);
        put_row(&db, 1, Some(&value)).unwrap();
        // An upload in progress is no fault.
        upload(&db, "value-uploading-0", &[b"x"]);
        assert_eq!(findings(&db), [""; 0]);
        db.behind_the_models(inject);
        let found = findings(&db);
        assert_eq!(found.len(), 1, "{at}: {found:?}");
        assert!(found[0].contains(kind), "{at}: {found:?}");
        let report = repair(&db);
        assert_eq!(report.is_clean(), *can_be_mended, "{at}: {report}");
        let left = findings(&db);
        assert_eq!(left.is_empty(), *can_be_mended, "{at}: {left:?}");
        if *kind == "damaged-value" {
            assert!(found[0].contains(r#""sk":{"S":"0001"}"#), "{at}: {found:?}");
            assert!(report.to_string().contains("write the value again"), "{report}");
            // The way to correct it.
            delete_row(&db, 1);
            assert_eq!(findings(&db), [""; 0], "{at}");
        }
    }
}

/// What the test knows of the database.
#[derive(Default)]
struct Oracle {
    rows: BTreeMap<i64, (LargeValue, Vec<u8>)>,
    expire: BTreeMap<i64, u64>,
    next: u64,
}

impl Oracle {
    fn upload(&mut self, db: &TestDb, random: &mut fastrand::Rng) -> (LargeValue, Vec<u8>) {
        self.next += 1;
        let parts: Vec<Vec<u8>> = (0..random.usize(1..6))
            .map(|_| (0..random.usize(0..40)).map(|_| random.u8(..)).collect())
            .collect();
        let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let value = upload(db, &format!("value-{:010}", self.next), &slices);
        (value, parts.concat())
    }

    /// Compares every row with the database.
    fn check(&self, db: &TestDb) {
        for n in 0..6 {
            let expected = self.rows.get(&n).map(|(_, bytes)| bytes.clone());
            assert_eq!(read(db, n), expected, "row {n}");
        }
        assert_eq!(count(db, NAMED_VALUES_TABLE), self.rows.len() as i64);
        assert_eq!(findings(db), [""; 0]);
    }

    fn drop_expired(&mut self, now: u64) {
        let (rows, expire) = (&mut self.rows, &mut self.expire);
        expire.retain(|n, at| {
            let is_over = *at <= now;
            if is_over {
                rows.remove(n);
            }
            !is_over
        });
    }
}

#[test]
fn whatever_happens_a_row_has_its_whole_value_and_nothing_is_left_behind() {
    for seed in 0..8 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut db, clock) = busy();
        let mut oracle = Oracle::default();
        for _ in 0..80 {
            let n = random.i64(0..6);
            match random.u32(0..10) {
                // A row is written or replaced; sometimes it expires.
                0..=3 => {
                    let (value, bytes) = oracle.upload(&db, &mut random);
                    let mut row = row(n, Some(&value));
                    oracle.expire.remove(&n);
                    if random.u32(0..4) == 0 {
                        let at = clock.now().as_secs() + 5;
                        row.insert("expires", Number::from(at));
                        oracle.expire.insert(n, at);
                    }
                    db.run(put("registry", row)).unwrap();
                    oracle.rows.insert(n, (value, bytes));
                }
                4 => {
                    delete_row(&db, n);
                    oracle.rows.remove(&n);
                    oracle.expire.remove(&n);
                }
                // A value moves from one row to another.
                5 => {
                    let to = (n + 1) % 6;
                    if let Some((value, bytes)) = oracle.rows.remove(&n) {
                        let taken = TransactWriteItem {
                            delete: Some(Box::new(Delete {
                                table_name: "registry".to_owned(),
                                key: key(n),
                                ..Delete::default()
                            })),
                            ..TransactWriteItem::default()
                        };
                        let given = TransactWriteItem {
                            put: Some(Box::new(Put {
                                table_name: "registry".to_owned(),
                                item: row(to, Some(&value)),
                                ..Put::default()
                            })),
                            ..TransactWriteItem::default()
                        };
                        let transaction = TransactWriteItems {
                            transact_items: vec![taken, given],
                            ..TransactWriteItems::default()
                        };
                        db.run(transaction).unwrap();
                        oracle.rows.insert(to, (value, bytes));
                        oracle.expire.remove(&n);
                        oracle.expire.remove(&to);
                    }
                }
                // An upload that no row refers to, and a row that refers to another row's value.
                6 => {
                    oracle.upload(&db, &mut random);
                    if let Some((value, _)) = oracle.rows.get(&n).cloned() {
                        assert!(put_row(&db, 6, Some(&value)).is_err());
                    }
                }
                7 => db = db.restarted(),
                _ => {
                    let by = [1, 10, 400, 700, 4000][random.usize(0..5)];
                    clock.advance(Duration::from_secs(by));
                    let now = clock.now().as_secs();
                    oracle.drop_expired(now);
                    until(&clock, "rows do not expire", || {
                        db.rows("registry").len() == oracle.rows.len()
                    });
                }
            }
            oracle.check(&db);
        }
        clock.advance(Duration::from_secs(7200));
        oracle.drop_expired(clock.now().as_secs());
        until(&clock, "rows do not expire", || {
            count(&db, NAMED_VALUES_TABLE) == oracle.rows.len() as i64
        });
        clock.advance(Duration::from_secs(601));
        let parts = |oracle: &Oracle| oracle.rows.values().map(|(value, _)| value.parts as i64).sum();
        until(&clock, "parts are left", || {
            counts(&db) == (parts(&oracle), oracle.rows.len() as i64, 0)
        });
        oracle.check(&db);
    }
}
