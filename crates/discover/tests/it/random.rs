//! Rows without any model: nothing panics, and the proposal loads.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use trestle_discover::TableFacts;
use trestle_item::{AttributeValue, Item, Number, ScalarType};
use trestle_model::{Index, KeyAttribute, KeySchema, Projection};

use crate::reading::loaded;

fn number() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        any::<i64>().prop_map(AttributeValue::from),
        Just(AttributeValue::N("0.000001".parse::<Number>().unwrap())),
        (0_i64..4).prop_map(AttributeValue::from),
    ]
}

/// Texts with all characters that are special in templates, separators or TOML.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[A-Z]{2,5}#[0-9]{1,3}",
        "[a-b]{1,2}[#:|/.][a-b]{0,2}[#:|/_-]{0,2}[0-9]{0,2}",
        "[#:{}|%\"'\\\\ é\u{10ffff}\n0-9a-zA-Z.-]{1,12}",
        Just("2019-12-30T19:32:14Z".to_owned()),
        Just("USER".to_owned()),
    ]
}

fn key_value(kind: ScalarType) -> BoxedStrategy<AttributeValue> {
    match kind {
        ScalarType::S => text().prop_map(AttributeValue::from).boxed(),
        ScalarType::N => number().boxed(),
        ScalarType::B => vec(any::<u8>(), 1..4).prop_map(AttributeValue::B).boxed(),
    }
}

fn anything() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        4 => text().prop_map(AttributeValue::from),
        2 => number(),
        1 => any::<bool>().prop_map(AttributeValue::Bool),
        1 => Just(AttributeValue::Null),
        1 => Just(AttributeValue::M(Item::new())),
        1 => Just("".into()),
    ]
}

fn kind() -> impl Strategy<Value = ScalarType> {
    prop_oneof![6 => Just(ScalarType::S), 1 => Just(ScalarType::N), 1 => Just(ScalarType::B)]
}

/// The names of attributes, including awkward ones; the first two are keys of indexes.
const NAMES: [&str; 8] = [
    "GSI1PK",
    "rgn#ver",
    "type",
    "a",
    "b.c",
    "x{y}",
    "id",
    "entityType",
];

#[derive(Debug)]
struct Case {
    facts: TableFacts,
    rows: Vec<Item>,
}

fn case() -> impl Strategy<Value = Case> {
    (kind(), proptest::option::of(kind()), any::<bool>())
        .prop_flat_map(|(hash, range, has_ttl)| {
            let range_value = key_value(range.unwrap_or(ScalarType::S));
            let others = btree_map(proptest::sample::select(NAMES.to_vec()), anything(), 0..5);
            let row = (key_value(hash), range_value, others);
            (Just((hash, range, has_ttl)), vec(row, 0..24))
        })
        .prop_map(|((hash, range, has_ttl), rows)| Case {
            facts: facts(hash, range, has_ttl),
            rows: rows
                .into_iter()
                .map(|(hash, sort, others)| {
                    let mut row: Item = others.into_iter().collect();
                    row.insert("pk", hash);
                    if range.is_some() {
                        row.insert("sk", sort);
                    }
                    row
                })
                .collect(),
        })
}

fn key(name: &str, kind: ScalarType) -> KeyAttribute {
    KeyAttribute {
        name: name.to_owned(),
        kind,
    }
}

fn facts(hash: ScalarType, range: Option<ScalarType>, has_ttl: bool) -> TableFacts {
    TableFacts {
        name: "rows-1.x".to_owned(),
        key: KeySchema {
            hash: vec![key("pk", hash)],
            range: range.map(|kind| key("sk", kind)).into_iter().collect(),
        },
        indexes: vec![Index {
            name: "by".to_owned(),
            key: KeySchema {
                hash: vec![key("GSI1PK", ScalarType::S)],
                range: vec![key("rgn#ver", ScalarType::S)],
            },
            projection: Projection::All,
            local: false,
        }],
        ttl: has_ttl.then(|| "a".to_owned()),
        stream: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_rows_are_the_proposal_loads(case in case()) {
        let proposal = trestle_discover::infer(&case.facts, case.rows);
        prop_assert!(!proposal.notes.is_empty());
        loaded(&proposal);
    }
}
