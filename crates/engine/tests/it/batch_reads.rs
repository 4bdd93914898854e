//! Several items read at once.

use trestle_api::{BatchGetItem, ErrorKind, KeysAndAttributes};
use trestle_item::{AttributeValue, Item};

use crate::support::{Fixture, s, table};

fn read(table: &str, keys: Vec<Item>) -> BatchGetItem {
    let keys = KeysAndAttributes {
        keys,
        ..KeysAndAttributes::default()
    };
    BatchGetItem {
        request_items: [(table.to_owned(), keys)].into(),
        ..BatchGetItem::default()
    }
}

fn key(number: &str) -> Item {
    Item::from([("pk", AttributeValue::N(number.parse().unwrap()))])
}

#[test]
fn a_key_asked_for_twice_is_refused_however_its_number_is_written() {
    let fixture = Fixture::new();
    fixture.engine.run(table("T", "pk:N", &[], &[])).unwrap();
    for (one, two) in [("100", "1e2"), ("0", "-0.0"), ("1.50", "1.5")] {
        let refusal = fixture
            .engine
            .run(read("T", vec![key(one), key(two)]))
            .unwrap_err();
        assert_eq!(
            refusal.message(),
            "Provided list of item keys contains duplicates",
            "{one} {two}"
        );
    }
    fixture.engine.run(read("T", vec![key("1"), key("10")])).unwrap();
}

#[test]
fn a_key_asked_for_twice_is_refused_before_the_table_is_looked_for() {
    let fixture = Fixture::new();
    let twice = vec![Item::from([("pk", s("a"))]), Item::from([("pk", s("a"))])];
    let refusal = fixture.engine.run(read("missing", twice)).unwrap_err();
    assert_eq!(refusal.kind(), ErrorKind::Validation);
}
