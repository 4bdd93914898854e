//! Arbitrary numbers, values and items.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use trestle_item::{AttributeValue, Item, Map, Number};

/// Numbers of every length, sign and magnitude, with many that are close to each other.
pub(crate) fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        2 => Just(Number::ZERO),
        10 => any::<i64>().prop_map(Number::from),
        10 => (-50i64..50).prop_map(Number::from),
        10 => (-50i64..50, -3i32..3).prop_map(|(digits, exponent)| parse(&format!("{digits}E{exponent}"))),
        20 => (any::<bool>(), "[1-9][0-9]{0,37}", -130i32..=125).prop_map(|(negative, digits, magnitude)| {
            let sign = if negative { "-" } else { "" };
            parse(&format!("{sign}{}.{}E{magnitude}", &digits[..1], &digits[1..]))
        }),
    ]
}

fn parse(text: &str) -> Number {
    text.parse().unwrap()
}

/// Texts rich in the bytes that encodings treat specially.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let special = prop_oneof![
        Just('\0'),
        Just('\u{1}'),
        Just('#'),
        Just('\u{ff}'),
        Just('\u{10ffff}'),
        Just('a')
    ];
    prop_oneof![vec(special, 0..6).prop_map(String::from_iter), any::<String>()]
}

/// Bytes rich in those that encodings treat specially.
pub(crate) fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let special = prop_oneof![Just(0u8), Just(1), Just(0xFE), Just(0xFF), Just(b'#')];
    prop_oneof![vec(special, 0..6), vec(any::<u8>(), 0..40)]
}

pub(crate) fn scalar_key() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        text().prop_map(AttributeValue::S),
        number().prop_map(AttributeValue::N),
        bytes().prop_map(AttributeValue::B),
    ]
}

pub(crate) fn value() -> impl Strategy<Value = AttributeValue> {
    let leaf = prop_oneof![
        4 => scalar_key(),
        1 => any::<bool>().prop_map(AttributeValue::Bool),
        1 => Just(AttributeValue::Null),
        1 => btree_set(text(), 1..5).prop_map(|set| AttributeValue::Ss(set.into_iter().collect())),
        1 => btree_set(number(), 1..5).prop_map(|set| AttributeValue::Ns(set.into_iter().collect())),
        1 => btree_set(bytes(), 1..5).prop_map(|set| AttributeValue::Bs(set.into_iter().collect())),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(AttributeValue::L),
            vec((name(), inner), 0..6).prop_map(|pairs| AttributeValue::M(pairs.into_iter().collect())),
        ]
    })
}

/// Never empty: DynamoDB refuses that inside a map.
fn name() -> impl Strategy<Value = String> {
    text().prop_map(|text| if text.is_empty() { "n".to_owned() } else { text })
}

pub(crate) fn item() -> impl Strategy<Value = Item> {
    vec((name(), value()), 0..8).prop_map(Map::from_iter)
}

/// `levels` lists inside each other around a text.
pub(crate) fn nested(levels: usize) -> AttributeValue {
    (0..levels).fold(AttributeValue::from("x"), |inner, _| {
        AttributeValue::L(vec![inner])
    })
}
