//! Keys made of all bytes that are critical for a key encoding stay distinct, in tables and in indexes.

use trestle_api::{GetItem, Query};
use trestle_item::{AttributeValue, Item};

use crate::support::{Fixture, n, put, query_all, s, table};

/// All texts of one to three of these.
const TEXTS: &[&str] = &["\0", "\u{1}", "#", "/", "a", "\u{FF}", "\u{10FFFF}"];
/// All byte strings of one to three of these.
const BYTES: &[u8] = &[0x00, 0x01, 0x02, b'#', b'/', 0xFE, 0xFF];

fn texts() -> Vec<AttributeValue> {
    let mut all: Vec<String> = Vec::new();
    let mut last = vec![String::new()];
    for _ in 0..2 {
        let longer = |text: &String| {
            TEXTS
                .iter()
                .map(|more| format!("{text}{more}"))
                .collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all.into_iter().map(AttributeValue::S).collect()
}

fn bytes() -> Vec<AttributeValue> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut last = vec![Vec::new()];
    for _ in 0..2 {
        let longer = |text: &Vec<u8>| {
            BYTES
                .iter()
                .map(|more| [text.as_slice(), &[*more]].concat())
                .collect::<Vec<_>>()
        };
        last = last.iter().flat_map(longer).collect();
        all.extend(last.iter().cloned());
    }
    all.into_iter().map(AttributeValue::B).collect()
}

/// A table whose keys are all pairs of `values`, indexed by both, both ways.
fn all_pairs(kind: &str, values: &[AttributeValue]) -> Fixture {
    let fixture = Fixture::new();
    let create = table(
        "T",
        &format!("pk:{kind} | sk:{kind}"),
        &[],
        &[
            ("turned", &format!("sk:{kind} | pk:{kind}"), "KEYS_ONLY"),
            ("joined", &format!("pk:{kind}, sk:{kind}"), "ALL"),
            ("spread", &format!("one:N | pk:{kind}, sk:{kind}"), "ALL"),
        ],
    );
    fixture.engine.run(create).unwrap();
    let mut number = 0;
    for pk in values {
        for sk in values {
            let item = Item::from([
                ("pk", pk.clone()),
                ("sk", sk.clone()),
                ("number", n(number)),
                ("one", n(1)),
            ]);
            fixture.engine.run(put("T", item)).unwrap();
            number += 1;
        }
    }
    fixture
}

fn query(index: Option<&str>, condition: &str, values: Item) -> Query {
    Query {
        table_name: "T".into(),
        index_name: index.map(str::to_owned),
        key_condition_expression: Some(condition.to_owned()),
        expression_attribute_values: Some(values),
        ..Query::default()
    }
}

/// The second key attributes of the rows, in the order of the response.
fn seconds(fixture: &Fixture, query: Query, attribute: &str) -> Vec<AttributeValue> {
    let (items, ..) = query_all(&fixture.engine, query);
    items
        .iter()
        .map(|item| item.get(attribute).unwrap().clone())
        .collect()
}

fn in_order(values: &[AttributeValue], keep: impl Fn(&AttributeValue) -> bool) -> Vec<AttributeValue> {
    let mut kept: Vec<AttributeValue> = values.iter().filter(|value| keep(value)).cloned().collect();
    kept.sort_by(|one, two| one.compare(two).unwrap());
    kept
}

fn starts_with(value: &AttributeValue, prefix: &AttributeValue) -> bool {
    match (value, prefix) {
        (AttributeValue::S(value), AttributeValue::S(prefix)) => value.starts_with(prefix),
        (AttributeValue::B(value), AttributeValue::B(prefix)) => value.starts_with(prefix),
        _ => false,
    }
}

fn keys_stay_apart(kind: &str, values: &[AttributeValue]) {
    let fixture = all_pairs(kind, values);
    let mut number = 0;
    for pk in values {
        for sk in values {
            let request = GetItem {
                table_name: "T".into(),
                key: Item::from([("pk", pk.clone()), ("sk", sk.clone())]),
                ..GetItem::default()
            };
            let item = fixture.engine.run(request).unwrap().item.unwrap();
            assert_eq!(item.get("number"), Some(&n(number)));
            number += 1;
        }
    }
    let all = in_order(values, |_| true);
    for value in values {
        let one = || Item::from([(":a", value.clone())]);
        assert_eq!(seconds(&fixture, query(None, "pk = :a", one()), "sk"), all);
        assert_eq!(
            seconds(&fixture, query(Some("turned"), "sk = :a", one()), "pk"),
            all
        );
        // A partition key of two attributes: ("a", "ab") and ("aa", "b") are different partitions.
        for other in values {
            let two = Item::from([(":a", value.clone()), (":b", other.clone())]);
            let found = query_all(&fixture.engine, query(Some("joined"), "pk = :a AND sk = :b", two));
            assert_eq!(found.0.len(), 1);
        }
    }
}

fn ranges_stay_apart(kind: &str, values: &[AttributeValue]) {
    let fixture = all_pairs(kind, values);
    let pk = &values[0];
    for value in values {
        let given = || Item::from([(":a", pk.clone()), (":b", value.clone())]);
        let is =
            |order: fn(std::cmp::Ordering) -> bool| in_order(values, |v| order(v.compare(value).unwrap()));
        let cases = [
            ("= :b", is(std::cmp::Ordering::is_eq)),
            ("< :b", is(std::cmp::Ordering::is_lt)),
            ("<= :b", is(std::cmp::Ordering::is_le)),
            ("> :b", is(std::cmp::Ordering::is_gt)),
            (">= :b", is(std::cmp::Ordering::is_ge)),
            ("begins", in_order(values, |v| starts_with(v, value))),
        ];
        for (operator, expected) in cases {
            let condition = |name: &str| match operator {
                "begins" => format!("begins_with({name}, :b)"),
                _ => format!("{name} {operator}"),
            };
            let in_table = query(None, &format!("pk = :a AND {}", condition("sk")), given());
            assert_eq!(
                seconds(&fixture, in_table, "sk"),
                expected,
                "{operator} {value:?}"
            );
            let turned = query(
                Some("turned"),
                &format!("sk = :a AND {}", condition("pk")),
                given(),
            );
            assert_eq!(seconds(&fixture, turned, "pk"), expected, "{operator} {value:?}");
            let mut spread = given();
            spread.insert(":one", n(1));
            let condition = format!("one = :one AND pk = :a AND {}", condition("sk"));
            let spread = query(Some("spread"), &condition, spread);
            assert_eq!(seconds(&fixture, spread, "sk"), expected, "{operator} {value:?}");
        }
    }
}

#[test]
fn texts_with_every_separator_stay_apart() {
    keys_stay_apart("S", &texts());
}

#[test]
fn bytes_with_every_separator_stay_apart() {
    keys_stay_apart("B", &bytes());
}

#[test]
fn comparisons_of_texts_with_every_separator_are_exact() {
    ranges_stay_apart("S", &texts());
}

#[test]
fn comparisons_of_bytes_with_every_separator_are_exact() {
    ranges_stay_apart("B", &bytes());
}

#[test]
fn numbers_sort_as_numbers_in_tables_and_indexes() {
    let fixture = Fixture::new();
    let create = table("T", "pk:S | sk:N", &[], &[("g", "one:N | sk:N", "ALL")]);
    fixture.engine.run(create).unwrap();
    let sorted = [
        "-9.9E+125",
        "-100",
        "-10.5",
        "-10",
        "-1",
        "-0.001",
        "-1E-130",
        "0",
        "1E-130",
        "0.001",
        "0.01",
        "1",
        "2",
        "9.5",
        "10",
        "100",
        "10000000000000000000000000000000000001",
        "9.9E+125",
    ];
    let number = |text: &str| AttributeValue::N(text.parse().unwrap());
    for text in sorted.iter().rev() {
        let item = Item::from([("pk", s("p")), ("sk", number(text)), ("one", n(1))]);
        fixture.engine.run(put("T", item)).unwrap();
    }
    let expected: Vec<AttributeValue> = sorted.iter().map(|text| number(text)).collect();
    let in_table = query(None, "pk = :a", Item::from([(":a", s("p"))]));
    assert_eq!(seconds(&fixture, in_table, "sk"), expected);
    let in_index = query(Some("g"), "one = :a", Item::from([(":a", n(1))]));
    assert_eq!(seconds(&fixture, in_index, "sk"), expected);
}
