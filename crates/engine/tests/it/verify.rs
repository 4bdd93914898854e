//! Verification reports nothing for sound data, and every kind of disagreement that a test creates.

use std::time::Duration;

use trestle_api::{
    DeleteGlobalSecondaryIndexAction, DeleteTable, GlobalSecondaryIndexUpdate, StreamViewType,
    TimeToLiveSpecification, TransactWriteItems, UpdateTable, UpdateTimeToLive,
};
use trestle_engine::{Disagreement, DisagreementKind as Kind, Options, Summary};
use trestle_item::{Item, codec};
use trestle_store::{Batch, Space};

use crate::support::{Fixture, add_index, n, put, s, table, transact_put, with_stream};

type Row = (Vec<u8>, Vec<u8>);

fn time_to_live(table: &str, enabled: bool) -> UpdateTimeToLive {
    UpdateTimeToLive {
        table_name: table.into(),
        time_to_live_specification: TimeToLiveSpecification {
            enabled,
            attribute_name: "until".into(),
        },
    }
}

fn item(pk: &str, sk: i64) -> Item {
    Item::from([
        ("pk", s(pk)),
        ("sk", n(sk)),
        ("color", s(if sk % 2 == 0 { "red" } else { "green" })),
        ("size", n(sk * 10)),
        ("until", n(4_000_000_000 + sk)),
        ("note", s("x".repeat(30))),
    ])
}

/// Two tables, one with indexes of every projection, a stream and time to live.
fn filled() -> Fixture {
    // Several shards, so that a change can lie in the wrong one.
    let fixture = Fixture::with(Options {
        stream_shards: 4,
        ..Options::default()
    });
    let shop = table(
        "shop",
        "pk:S | sk:N",
        &[("by-size", "pk:S | size:N", "KEYS_ONLY")],
        &[
            ("by-color", "color:S | size:N", "ALL"),
            ("by-note", "note:S", "color"),
        ],
    );
    let shop = with_stream(shop, StreamViewType::NewAndOldImages);
    fixture.engine.run(shop).unwrap();
    fixture.engine.run(table("plain", "pk:S", &[], &[])).unwrap();
    fixture.engine.run(time_to_live("shop", true)).unwrap();
    fixture.until("the backfill of expiry", || {
        fixture
            .rows(Space::Meta)
            .iter()
            .all(|(_, row)| !String::from_utf8_lossy(row).contains(r#""until","backfill_from":["#))
    });
    for sk in 0..20 {
        fixture.engine.run(put("shop", item("a", sk))).unwrap();
        fixture.engine.run(put("shop", item("b", sk))).unwrap();
    }
    let mut sparse = item("c", 1);
    sparse.remove("color");
    sparse.remove("until");
    fixture.engine.run(put("shop", sparse)).unwrap();
    fixture
        .engine
        .run(put("plain", Item::from([("pk", s("p"))])))
        .unwrap();
    let transaction = TransactWriteItems {
        transact_items: vec![
            transact_put("shop", item("a", 3)),
            transact_put("shop", item("z", 3)),
        ],
        client_request_token: Some("token-1".into()),
        ..TransactWriteItems::default()
    };
    fixture.engine.run(transaction).unwrap();
    fixture
}

fn verified(fixture: &Fixture) -> (Vec<Disagreement>, Summary) {
    let mut found = Vec::new();
    let summary = fixture.engine.verify(&mut found).unwrap();
    assert_eq!(summary.disagreements as usize, found.len());
    (found, summary)
}

/// Changes raw rows without the engine and returns what verification finds.
fn planted(plant: impl FnOnce(&Fixture, &mut Batch)) -> Vec<Disagreement> {
    let fixture = filled();
    fixture.assert_sound();
    let mut batch = Batch::new();
    plant(&fixture, &mut batch);
    fixture.store.commit(batch).unwrap();
    verified(&fixture).0
}

fn kinds(found: &[Disagreement]) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = found.iter().map(|one| one.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Exactly one disagreement, of this kind, with these words.
fn only(found: &[Disagreement], kind: Kind, says: &[&str]) {
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, kind, "{found:#?}");
    let text = serde_json::to_string(&found[0]).unwrap();
    for word in says {
        assert!(text.contains(word), "{word:?} in {text}");
    }
}

/// The row of an item, found by its content.
fn item_row(fixture: &Fixture, pk: &str, sk: i64) -> Row {
    let wanted = |row: &Row| {
        let item = codec::decode(&row.1).unwrap();
        item.get("pk") == Some(&s(pk)) && item.get("sk") == Some(&n(sk))
    };
    fixture.rows(Space::Items).into_iter().find(wanted).unwrap()
}

/// The ids of a table's indexes in the meta space, in the order of their creation.
fn index_ids(fixture: &Fixture, table: &str) -> Vec<u32> {
    let key = format!("table/{table}");
    let rows = fixture.rows(Space::Meta);
    let (_, row) = rows.iter().find(|(name, _)| name == key.as_bytes()).unwrap();
    let definition: serde_json::Value = serde_json::from_slice(row).unwrap();
    let indexes = definition["indexes"].as_array().unwrap();
    indexes
        .iter()
        .map(|index| index["id"].as_u64().unwrap() as u32)
        .collect()
}

/// A row of the index with this id, of an item with this partition key.
fn index_row(fixture: &Fixture, id: u32, pk: &str) -> Row {
    let rows = fixture.rows(Space::Index).into_iter();
    rows.filter(|(key, _)| key.starts_with(&id.to_be_bytes()))
        .find(|(_, row)| codec::decode(row).unwrap().get("pk") == Some(&s(pk)))
        .unwrap()
}

fn first(fixture: &Fixture, space: Space) -> Row {
    fixture.rows(space).into_iter().next().unwrap()
}

fn meta_row(fixture: &Fixture, prefix: &str) -> Row {
    let rows = fixture.rows(Space::Meta).into_iter();
    rows.filter(|(key, _)| key.starts_with(prefix.as_bytes()))
        .max_by_key(|(_, row)| row.len())
        .unwrap()
}

#[test]
fn sound_data_is_counted_and_nothing_is_found() {
    let fixture = filled();
    let (found, summary) = verified(&fixture);
    assert_eq!(found, []);
    assert_eq!((summary.tables, summary.indexes, summary.streams), (2, 3, 1));
    assert_eq!(summary.items, 43);
    assert_eq!(summary.index_rows, 42 + 41 + 42);
    assert_eq!(summary.expiry_entries, 41);
    assert_eq!(summary.tokens, 1);
    assert!(summary.change_records >= 42, "{summary:?}");
    assert!(summary.is_clean());
}

#[test]
fn an_empty_store_is_sound() {
    let fixture = Fixture::new();
    let (found, summary) = verified(&fixture);
    assert_eq!((found, summary), (vec![], Summary::default()));
}

#[test]
fn unfinished_background_work_is_no_disagreement() {
    let fixture = Fixture::with(Options {
        delete_table_delay: Duration::from_secs(1000),
        ..Options::default()
    });
    let create = table("T", "pk:S", &[], &[("g", "color:S", "ALL")]);
    fixture.engine.run(create).unwrap();
    fixture.engine.run(time_to_live("T", true)).unwrap();
    for at in 0..900 {
        fixture.engine.run(put("T", item(&format!("{at}"), at))).unwrap();
    }
    // While these run, every snapshot must be sound.
    fixture.engine.run(add_index("T", "h", "size:N", "note")).unwrap();
    fixture.assert_sound();
    fixture.engine.run(time_to_live("T", false)).unwrap();
    fixture.assert_sound();
    fixture.engine.run(time_to_live("T", true)).unwrap();
    for at in 0..100 {
        fixture
            .engine
            .run(put("T", item(&format!("{at}"), at + 7)))
            .unwrap();
        fixture.assert_sound();
    }
    fixture.until_active("T");
    fixture.assert_sound();
    let drop_index = UpdateTable {
        table_name: "T".into(),
        global_secondary_index_updates: Some(vec![GlobalSecondaryIndexUpdate {
            delete: Some(DeleteGlobalSecondaryIndexAction {
                index_name: "g".into(),
            }),
            ..GlobalSecondaryIndexUpdate::default()
        }]),
        ..UpdateTable::default()
    };
    fixture.engine.run(drop_index).unwrap();
    fixture.assert_sound();
    fixture
        .engine
        .run(DeleteTable {
            table_name: "T".into(),
        })
        .unwrap();
    fixture.assert_sound();
    fixture.clock.advance(Duration::from_secs(1001));
    fixture.until("the table's rows to go", || {
        fixture.assert_sound();
        fixture.rows(Space::Items).is_empty() && fixture.rows(Space::Expiry).is_empty()
    });
    fixture.until("the index rows to go", || {
        fixture.assert_sound();
        fixture.rows(Space::Index).is_empty()
    });
}

#[test]
fn an_item_that_cannot_be_read_is_found() {
    let found = planted(|fixture, batch| {
        let (key, mut value) = item_row(fixture, "b", 7);
        value.truncate(value.len() - 3);
        batch.put(Space::Items, key, value);
    });
    // Its bytes are missing from the counts, too.
    assert_eq!(
        kinds(&found),
        [Kind::Unreadable, Kind::WrongChange, Kind::WrongCount]
    );
    assert!(
        found
            .iter()
            .any(|one| one.space == "items" && one.table.as_deref() == Some("shop"))
    );
}

#[test]
fn an_item_in_the_wrong_place_is_found() {
    let found = planted(|fixture, batch| {
        let (mut key, value) = item_row(fixture, "b", 7);
        batch.delete(Space::Items, key.clone());
        *key.last_mut().unwrap() ^= 1;
        batch.put(Space::Items, key, value);
    });
    assert!(kinds(&found).contains(&Kind::Misplaced), "{found:#?}");
    let misplaced = found.iter().find(|one| one.kind == Kind::Misplaced).unwrap();
    assert_eq!(
        misplaced.item.as_deref(),
        Some(r#"{"pk":{"S":"b"},"sk":{"N":"7"}}"#)
    );
}

#[test]
fn an_item_without_its_key_attribute_is_found() {
    let found = planted(|fixture, batch| {
        let (key, _) = item_row(fixture, "b", 7);
        batch.put(Space::Items, key, codec::encode(&Item::from([("pk", s("b"))])));
    });
    let what: Vec<&str> = found.iter().map(|one| one.what.as_str()).collect();
    assert!(
        what.contains(&"the item has no key attribute sk of type N"),
        "{what:?}"
    );
}

#[test]
fn a_changed_item_disagrees_with_indexes_counts_and_history() {
    let found = planted(|fixture, batch| {
        let (key, value) = item_row(fixture, "b", 7);
        let mut item = codec::decode(&value).unwrap();
        item.insert("color", s("blue-green"));
        batch.put(Space::Items, key, codec::encode(&item));
    });
    let expected = [
        Kind::MissingIndexRow,
        Kind::StrayIndexRow,
        Kind::WrongIndexRow,
        Kind::WrongChange,
        Kind::WrongCount,
    ];
    assert_eq!(kinds(&found), expected, "{found:#?}");
}

#[test]
fn rows_of_nobody_are_found_in_every_space() {
    for (space, key) in [
        (Space::Items, vec![0, 0, 9, 9, 1, 2, 3]),
        (Space::Index, vec![0, 0, 9, 9, 1, 2, 3]),
        (Space::Changes, vec![0, 0, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        (Space::Expiry, vec![0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 9, 9, 1, 2]),
        (Space::Items, vec![0, 0]),
        (Space::Index, vec![0, 0]),
        (Space::Changes, vec![0, 0]),
    ] {
        let found = planted(|_, batch| batch.put(space, key, b""));
        only(&found, Kind::NoOwner, &[space.name()]);
    }
}

#[test]
fn a_missing_index_row_is_found_with_its_item() {
    let found = planted(|fixture, batch| {
        let id = index_ids(fixture, "shop")[1];
        batch.delete(Space::Index, index_row(fixture, id, "b").0);
    });
    only(
        &found,
        Kind::MissingIndexRow,
        &["shop", "by-color", r#"\"pk\":{\"S\":\"b\"}"#],
    );
}

#[test]
fn a_stray_index_row_is_found() {
    let found = planted(|fixture, batch| {
        let id = index_ids(fixture, "shop")[0];
        let (mut key, value) = index_row(fixture, id, "b");
        let last = key.len() - 1;
        key[last] ^= 1;
        batch.put(Space::Index, key, value);
    });
    only(&found, Kind::StrayIndexRow, &["by-size", "there is no such item"]);
}

#[test]
fn an_index_row_of_an_item_that_lacks_the_key_is_found() {
    let found = planted(|fixture, batch| {
        // Removes an item from the index with everything derived from it except the index row.
        let id = index_ids(fixture, "shop")[2];
        let (key, value) = index_row(fixture, id, "c");
        let mut held = codec::decode(&value).unwrap();
        held.insert("color", s("red"));
        batch.put(Space::Index, key, codec::encode(&held));
    });
    only(
        &found,
        Kind::WrongIndexRow,
        &["by-note", "differs from the item in: color"],
    );
}

#[test]
fn an_index_row_that_cannot_be_read_is_found() {
    let found = planted(|fixture, batch| {
        let id = index_ids(fixture, "shop")[1];
        let (key, _) = index_row(fixture, id, "b");
        batch.put(Space::Index, key, b"\xff\xff\xff");
    });
    only(&found, Kind::Unreadable, &["by-color"]);
    let found = planted(|fixture, batch| {
        let id = index_ids(fixture, "shop")[1];
        batch.put(Space::Index, id.to_be_bytes().to_vec(), b"");
    });
    only(
        &found,
        Kind::Unreadable,
        &["by-color", "not made of the index's key attributes"],
    );
}

#[test]
fn an_index_row_that_does_not_belong_to_a_sparse_index_is_found() {
    let found = planted(|fixture, batch| {
        let id = index_ids(fixture, "shop")[1];
        let (key, value) = index_row(fixture, id, "b");
        let (item, _) = item_row(fixture, "c", 1);
        // The same index key, but of the item that has no color.
        let (b, _) = item_row(fixture, "b", number(&codec::decode(&value).unwrap()));
        let at = key.len() - (b.len() - 4);
        let key = [&key[..at], &item[4..]].concat();
        batch.put(Space::Index, key, value);
    });
    only(
        &found,
        Kind::StrayIndexRow,
        &["by-color", "lacks a key attribute"],
    );
}

fn number(item: &Item) -> i64 {
    crate::support::number(item, "sk")
}

#[test]
fn expiry_entries_are_held_against_items() {
    let found = planted(|fixture, batch| batch.delete(Space::Expiry, first(fixture, Space::Expiry).0));
    only(&found, Kind::MissingExpiry, &["expiry", "shop", "sk"]);

    let found = planted(|fixture, batch| {
        let mut key = first(fixture, Space::Expiry).0;
        key[0] = 1;
        batch.put(Space::Expiry, key, b"");
    });
    only(&found, Kind::StrayExpiry, &["expires at another time"]);

    let found = planted(|fixture, batch| {
        let mut key = first(fixture, Space::Expiry).0;
        *key.last_mut().unwrap() ^= 0x40;
        batch.put(Space::Expiry, key, b"");
    });
    only(&found, Kind::StrayExpiry, &["there is no such item"]);

    let found = planted(|fixture, batch| {
        batch.put(Space::Expiry, first(fixture, Space::Expiry).0, b"x");
    });
    only(&found, Kind::Unreadable, &["the entry has a value"]);

    let found = planted(|_, batch| batch.put(Space::Expiry, b"short", b""));
    only(&found, Kind::Unreadable, &["no expiry entry"]);

    let found = planted(|fixture, batch| {
        let plain = fixture
            .rows(Space::Items)
            .into_iter()
            .map(|(key, _)| key)
            .max()
            .unwrap();
        let key = [&4_000_000_000u64.to_be_bytes()[..], &plain].concat();
        batch.put(Space::Expiry, key, b"");
    });
    only(&found, Kind::StrayExpiry, &["plain", "no time to live"]);
}

#[test]
fn change_records_are_held_against_their_stream() {
    // Damaged.
    let found = planted(|fixture, batch| {
        batch.put(Space::Changes, first(fixture, Space::Changes).0, b"\x07");
    });
    assert!(kinds(&found).contains(&Kind::Unreadable), "{found:#?}");
    // Followed by something.
    let found = planted(|fixture, batch| {
        let (key, mut value) = first(fixture, Space::Changes);
        value.push(0);
        batch.put(Space::Changes, key, value);
    });
    assert!(kinds(&found).contains(&Kind::Unreadable), "{found:#?}");
    // In the future.
    let found = planted(|fixture, batch| {
        let (mut key, value) = fixture.rows(Space::Changes).pop().unwrap();
        key[6] = 1;
        batch.put(Space::Changes, key, value);
    });
    assert!(kinds(&found).contains(&Kind::WrongCounter), "{found:#?}");
    // Before its stream began.
    let found = planted(|fixture, batch| {
        let (mut key, value) = first(fixture, Space::Changes);
        key[6..].fill(0);
        batch.put(Space::Changes, key, value);
    });
    assert!(
        found
            .iter()
            .any(|one| one.what.contains("older or newer than its stream")),
        "{found:#?}"
    );
    // In a shard that is not its item's, and in one that does not exist.
    for shard in [0xff, 0] {
        let found = planted(|fixture, batch| {
            let (mut key, value) = fixture.rows(Space::Changes).pop().unwrap();
            batch.delete(Space::Changes, key.clone());
            assert_ne!(key[5], 0, "the last shard is not the first");
            key[5] = shard;
            batch.put(Space::Changes, key, value);
        });
        assert!(kinds(&found).contains(&Kind::Misplaced), "{found:#?}");
    }
}

#[test]
fn a_missing_change_record_breaks_the_history_of_its_item() {
    let found = planted(|fixture, batch| {
        let update = crate::support::update(
            "shop",
            Item::from([("pk", s("a")), ("sk", n(5))]),
            "SET note = :n",
            Item::from([(":n", s("first"))]),
        );
        fixture.engine.run(update.clone()).unwrap();
        let before = fixture.rows(Space::Changes);
        let mut second = update;
        second.expression_attribute_values = Some(Item::from([(":n", s("second"))]));
        fixture.engine.run(second.clone()).unwrap();
        let middle = fixture
            .rows(Space::Changes)
            .into_iter()
            .find(|row| !before.contains(row))
            .unwrap();
        second.expression_attribute_values = Some(Item::from([(":n", s("third"))]));
        fixture.engine.run(second).unwrap();
        batch.delete(Space::Changes, middle.0);
    });
    only(
        &found,
        Kind::WrongChange,
        &["next change does not begin where this one ends"],
    );

    let found = planted(|fixture, batch| {
        let newest = |row: &Row| row.0[6..].to_vec();
        let last = fixture
            .rows(Space::Changes)
            .into_iter()
            .max_by_key(newest)
            .unwrap();
        batch.delete(Space::Changes, last.0);
    });
    // The transaction's last put was the item's first record: without it, nothing is known of the item.
    assert_eq!(found, []);

    let found = planted(|fixture, batch| {
        let (key, _) = item_row(fixture, "z", 3);
        batch.delete(Space::Items, key);
    });
    assert!(kinds(&found).contains(&Kind::WrongChange), "{found:#?}");
}

#[test]
fn wrong_counts_are_found_for_tables_and_indexes() {
    let found = planted(|fixture, batch| {
        let (key, mut row) = meta_row(fixture, "stats/");
        row[7] += 1;
        batch.put(Space::Meta, key, row);
    });
    only(&found, Kind::WrongCount, &["shop", "43 items", "there are 42"]);
    let found = planted(|fixture, batch| {
        let (key, mut row) = meta_row(fixture, "stats/");
        *row.last_mut().unwrap() ^= 1;
        batch.put(Space::Meta, key, row);
    });
    only(&found, Kind::WrongCount, &["shop", "by-note"]);
    let found = planted(|fixture, batch| batch.delete(Space::Meta, meta_row(fixture, "stats/").0));
    assert_eq!(found.len(), 4, "{found:#?}");
    assert_eq!(kinds(&found), [Kind::WrongCount]);
    let found = planted(|fixture, batch| {
        let (_, row) = meta_row(fixture, "stats/");
        batch.put(Space::Meta, b"stats/\0\0\x01\0", row);
    });
    only(&found, Kind::NoOwner, &["stats/"]);
}

#[test]
fn counters_that_lag_behind_are_found() {
    let found = planted(|_, batch| batch.put(Space::Meta, b"counters", vec![0; 12]));
    assert_eq!(kinds(&found), [Kind::WrongCounter]);
    let found = planted(|_, batch| batch.put(Space::Meta, b"counters", b"bad"));
    assert!(kinds(&found).contains(&Kind::Unreadable), "{found:#?}");
    let found = planted(|_, batch| batch.delete(Space::Meta, b"counters"));
    assert_eq!(kinds(&found), [Kind::WrongCounter]);
}

#[test]
fn rows_of_the_meta_space_that_mean_nothing_are_found() {
    for (key, value) in [
        (&b"token/x"[..], &b"short"[..]),
        (b"token/x", b"seventeen bytes!!"),
        (b"stats/x", b""),
        (b"dropped/table/x", b""),
        (b"dropped/index/xxxxx", b""),
        (b"something", b""),
    ] {
        let found = planted(|_, batch| batch.put(Space::Meta, key, value));
        only(&found, Kind::Unreadable, &["meta"]);
    }
}

#[test]
fn a_definition_that_cannot_be_read_does_not_bury_itself_in_reports() {
    let found = planted(|_, batch| batch.put(Space::Meta, b"table/plain", b"{"));
    only(
        &found,
        Kind::Unreadable,
        &["table/plain", "its rows are not checked"],
    );
    let found = planted(|fixture, batch| {
        let (key, _) = meta_row(fixture, "stream/");
        batch.put(Space::Meta, key, b"{}");
    });
    only(&found, Kind::Unreadable, &["its records are not checked"]);
}

#[test]
fn definitions_under_other_names_and_numbers_given_twice_are_found() {
    let found = planted(|fixture, batch| {
        let (_, row) = meta_row(fixture, "table/plain");
        batch.put(Space::Meta, b"table/copy", row);
    });
    assert_eq!(kinds(&found), [Kind::Misplaced, Kind::WrongCounter]);
    let found = planted(|fixture, batch| {
        let (mut key, row) = meta_row(fixture, "stream/");
        batch.delete(Space::Meta, key.clone());
        *key.last_mut().unwrap() += 100;
        batch.put(Space::Meta, key, row);
    });
    only(&found, Kind::Misplaced, &["stream/", "shop"]);
}
