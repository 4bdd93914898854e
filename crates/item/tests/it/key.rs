use proptest::collection::vec;
use proptest::prelude::*;
use trestle_item::{AttributeValue, Number, ScalarType, key};

use crate::generate::{bytes, number, scalar_key, text};

fn alone(value: &AttributeValue) -> Vec<u8> {
    let mut out = Vec::new();
    key::encode(value, &mut out).unwrap();
    out
}

fn component(value: &AttributeValue) -> Vec<u8> {
    let mut out = Vec::new();
    key::encode_component(value, &mut out).unwrap();
    out
}

fn number_bytes(text: &str) -> Vec<u8> {
    alone(&AttributeValue::N(text.parse().unwrap()))
}

#[test]
fn hashes_never_change() {
    assert_eq!(key::hash(b""), 0x2d06_8005_38d3_94c2);
    assert_eq!(key::hash(b"USER#1"), 0xe8cf_c00f_17d9_8d40);
    assert_eq!(key::hash(&[0xFF; 300]), 0xa6eb_8a92_d637_e066);
}

#[test]
fn key_bytes_never_change() {
    assert_eq!(number_bytes("0"), [0x01]);
    assert_eq!(number_bytes("1"), [0x02, 130, 20]);
    assert_eq!(number_bytes("-1"), [0x00, !130, !20]);
    assert_eq!(number_bytes("10"), [0x02, 131, 20]);
    assert_eq!(number_bytes("123.4"), [0x02, 132, 12 * 2 + 1, 34 * 2]);
    assert_eq!(number_bytes("-123.4"), [0x00, !132, !(12 * 2 + 1), !(34 * 2)]);
    assert_eq!(number_bytes("1E-130"), [0x02, 0, 20]);
    assert_eq!(number_bytes("1E125"), [0x02, 255, 20]);
    assert_eq!(alone(&"a\0b".into()), b"a\0b");
    assert_eq!(component(&"a\0b".into()), b"a\0\xFFb\0\0");
    assert_eq!(component(&AttributeValue::B(vec![0xFF])), [0xFF, 0, 0]);
}

#[test]
fn numbers_from_the_lowest_to_the_highest_sort_as_bytes() {
    let ascending = [
        "-9.9E125", "-1E125", "-100", "-99.9", "-10", "-9", "-1.1", "-1", "-0.9", "-1E-130", "0", "1E-130",
        "0.01", "0.011", "0.1", "0.9", "1", "1.01", "1.1", "9", "10", "11", "99.9", "100", "1E125",
        "9.9E125",
    ];
    let encoded: Vec<_> = ascending.iter().map(|text| number_bytes(text)).collect();
    assert!(encoded.is_sorted_by(|one, two| one < two));
}

#[test]
fn only_scalars_can_be_keys() {
    let mut out = Vec::new();
    for value in [
        AttributeValue::Null,
        true.into(),
        AttributeValue::L(vec![]),
        AttributeValue::Ss(vec!["a".into()]),
    ] {
        assert_eq!(key::encode(&value, &mut out), None);
        assert_eq!(key::encode_component(&value, &mut out), None);
    }
    assert!(out.is_empty());
}

#[test]
fn nothing_follows_a_prefix_of_only_the_highest_byte() {
    assert_eq!(key::after_prefix(b""), None);
    assert_eq!(key::after_prefix(&[0xFF, 0xFF]), None);
    assert_eq!(key::after_prefix(&[1, 0xFF]), Some(vec![2]));
}

fn same_type_tuples() -> impl Strategy<Value = (Vec<AttributeValue>, Vec<AttributeValue>)> {
    let pair = prop_oneof![
        (text(), text()).prop_map(|(one, two)| (AttributeValue::S(one), AttributeValue::S(two))),
        (number(), number()).prop_map(|(one, two)| (AttributeValue::N(one), AttributeValue::N(two))),
        (bytes(), bytes()).prop_map(|(one, two)| (AttributeValue::B(one), AttributeValue::B(two))),
    ];
    // Half of the pairs are equal, so that later components decide often.
    let pair = (pair, any::<bool>())
        .prop_map(|((one, two), same)| if same { (one.clone(), one) } else { (one, two) });
    vec(pair, 1..5).prop_map(|pairs| pairs.into_iter().unzip())
}

fn concatenated(tuple: &[AttributeValue]) -> Vec<u8> {
    tuple.iter().flat_map(component).collect()
}

fn tuple_order(one: &[AttributeValue], two: &[AttributeValue]) -> std::cmp::Ordering {
    one.iter()
        .zip(two)
        .map(|(one, two)| one.compare(two).unwrap())
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

proptest! {
    #[test]
    fn number_bytes_sort_as_numbers(one in number(), two in number()) {
        let (one_bytes, two_bytes) = (alone(&one.into()), alone(&two.into()));
        prop_assert_eq!(one.cmp(&two), one_bytes.cmp(&two_bytes));
    }

    #[test]
    fn neighbouring_numbers_sort_as_bytes(number in number(), step in "[1-9]E-?[0-9]") {
        let step: Number = step.parse().unwrap();
        if let Ok(next) = number.checked_add(&step) {
            prop_assert!(alone(&number.into()) < alone(&next.into()));
        }
    }

    #[test]
    fn concatenated_components_sort_as_tuples((one, two) in same_type_tuples()) {
        prop_assert_eq!(concatenated(&one).cmp(&concatenated(&two)), tuple_order(&one, &two));
    }

    #[test]
    fn components_decode_to_what_they_were(tuple in vec(scalar_key(), 1..5), tail in bytes()) {
        let mut encoded = concatenated(&tuple);
        encoded.extend_from_slice(&tail);
        let mut rest = encoded.as_slice();
        for value in &tuple {
            let (decoded, after) = key::decode_component(value.scalar_type().unwrap(), rest).unwrap();
            prop_assert_eq!(&decoded, value);
            rest = after;
        }
        prop_assert_eq!(rest, tail.as_slice());
    }

    #[test]
    fn exactly_the_texts_with_a_prefix_have_its_component_prefix(prefix in text(), other in text()) {
        let mut start = Vec::new();
        key::encode_component_prefix(&AttributeValue::S(prefix.clone()), &mut start).unwrap();
        let end = key::after_prefix(&start);
        for candidate in [&other, &format!("{prefix}{other}")] {
            let encoded = component(&AttributeValue::S(candidate.clone()));
            let inside = encoded >= start && end.as_ref().is_none_or(|end| encoded < *end);
            prop_assert_eq!(inside, candidate.starts_with(prefix.as_str()));
        }
    }

    #[test]
    fn arbitrary_bytes_decode_to_their_only_encoding_or_not_at_all(bytes in bytes()) {
        for kind in [ScalarType::S, ScalarType::N, ScalarType::B] {
            if let Some((value, rest)) = key::decode_component(kind, &bytes) {
                let encoded = component(&value);
                prop_assert_eq!(&bytes[..bytes.len() - rest.len()], encoded.as_slice());
            }
        }
    }

    #[test]
    fn arbitrary_number_bytes_decode_to_their_only_encoding(sign in 0u8..4, tail in vec(any::<u8>(), 0..24)) {
        let bytes: Vec<u8> = std::iter::once(sign).chain(tail).collect();
        if let Some((number, rest)) = key::decode_number(&bytes) {
            let mut encoded = Vec::new();
            key::encode_number(&number, &mut encoded);
            prop_assert_eq!(&bytes[..bytes.len() - rest.len()], encoded.as_slice());
        }
    }
}

proptest! {
    #[test]
    fn a_component_is_passed_over_as_it_is_read(value in scalar_key(), tail in proptest::collection::vec(any::<u8>(), 0..6), any in proptest::collection::vec(0_u8..4, 0..12)) {
        let mut bytes = Vec::new();
        key::encode_component(&value, &mut bytes).unwrap();
        bytes.extend_from_slice(&tail);
        prop_assert_eq!(key::behind_component(value.scalar_type().unwrap(), &bytes), Some(tail.as_slice()));
        for kind in [ScalarType::S, ScalarType::N, ScalarType::B] {
            let read = key::decode_component(kind, &any).map(|(_, rest)| rest);
            prop_assert!(read.is_none() || key::behind_component(kind, &any) == read);
        }
    }
}
