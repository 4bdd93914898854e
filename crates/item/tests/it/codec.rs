use proptest::collection::vec;
use proptest::prelude::*;
use trestle_item::codec::{self, CodecError};
use trestle_item::{AttributeValue, Item, Map, Number, size};

use crate::generate::{item, nested, value};

fn n(text: &str) -> AttributeValue {
    AttributeValue::N(text.parse().unwrap())
}

#[test]
fn stored_bytes_never_change() {
    let item = Item::from([
        ("a", "hi".into()),
        ("b", n("-1.5")),
        ("c", AttributeValue::B(vec![7])),
        ("d", true.into()),
        ("e", AttributeValue::Null),
        ("f", AttributeValue::L(vec![n("0")])),
        ("g", Map::from([("x", false)]).into()),
        ("h", AttributeValue::Ss(vec!["s".into()])),
        (
            "i",
            AttributeValue::Ns(vec![Number::ZERO, "1E-128".parse().unwrap()]),
        ),
        ("j", AttributeValue::Bs(vec![vec![1, 2]])),
    ]);
    let expected: &[u8] = &[
        10, //
        1,
        b'a',
        3,
        2,
        b'h',
        b'i', //
        1,
        b'b',
        4,
        0b1010_0001,
        0xFF,
        15, //
        1,
        b'c',
        5,
        1,
        7, //
        1,
        b'd',
        2, //
        1,
        b'e',
        0, //
        1,
        b'f',
        7,
        1,
        4,
        0, //
        1,
        b'g',
        6,
        1,
        1,
        b'x',
        1, //
        1,
        b'h',
        8,
        1,
        1,
        b's', //
        1,
        b'i',
        9,
        2,
        0,
        0b0010_0001,
        0x80,
        1, //
        1,
        b'j',
        10,
        1,
        2,
        1,
        2,
    ];
    assert_eq!(codec::encode(&item), expected);
    assert_eq!(codec::decode(expected), Ok(item));
}

#[test]
fn damaged_items_are_refused() {
    let cases: [(&[u8], CodecError); 14] = [
        (&[], CodecError::Truncated),
        (&[0, 0], CodecError::Trailing),
        (&[1, 1, b'a'], CodecError::Truncated),
        (&[1, 1, b'a', 99], CodecError::UnknownTag(99)),
        (&[1, 1, 0xFF, 0], CodecError::NotUtf8),
        (&[2, 1, b'b', 0, 1, b'a', 0], CodecError::OutOfOrder),
        (&[2, 1, b'a', 0, 1, b'a', 0], CodecError::OutOfOrder),
        (&[1, 1, b'a', 8, 2, 1, b'x', 1, b'x'], CodecError::OutOfOrder),
        (&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F], CodecError::BadLength),
        (&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00], CodecError::BadLength),
        (&[0x80, 0x00], CodecError::BadLength),
        (&[1, 1, b'a', 4, 1, 10], CodecError::BadNumber),
        (&[1, 1, b'a', 4, 0b1000_0000], CodecError::BadNumber),
        (&[1, 1, b'a', 4, 0b0100_0001, 0, 0x7F, 1], CodecError::BadNumber),
    ];
    for (bytes, error) in cases {
        assert_eq!(codec::decode(bytes), Err(error), "{bytes:?}");
    }
}

#[test]
fn a_coefficient_written_the_long_way_is_refused() {
    assert!(codec::decode(&[1, 0, 4, 2, 0, 49]).is_ok());
    assert_eq!(codec::decode(&[1, 0, 4, 3, 0, 49, 0]), Err(CodecError::BadNumber));
}

#[test]
fn nesting_is_bounded() {
    let fits = Item::from([("a", nested(codec::DEPTH_MAX))]);
    assert_eq!(codec::decode(&codec::encode(&fits)), Ok(fits));
    let too_deep = Item::from([("a", nested(codec::DEPTH_MAX + 1))]);
    assert_eq!(codec::decode(&codec::encode(&too_deep)), Err(CodecError::TooDeep));

    let bomb: Vec<u8> = [1, 1, b'a'].into_iter().chain([7, 1].repeat(1_000_000)).collect();
    assert_eq!(codec::decode(&bomb), Err(CodecError::TooDeep));
}

proptest! {
    #[test]
    fn items_decode_to_what_they_were(item in item()) {
        prop_assert_eq!(codec::decode(&codec::encode(&item)), Ok(item));
    }

    #[test]
    fn values_decode_to_what_they_were(value in value()) {
        let mut bytes = Vec::new();
        codec::encode_value(&value, &mut bytes);
        prop_assert_eq!(codec::decode_value(&bytes), Ok(value));
    }

    #[test]
    fn no_prefix_of_an_item_is_an_item(item in item()) {
        let bytes = codec::encode(&item);
        for length in 0..bytes.len() {
            prop_assert!(codec::decode(&bytes[..length]).is_err());
        }
    }

    #[test]
    fn arbitrary_bytes_decode_to_their_only_encoding_or_not_at_all(bytes in vec(0u8..12, 0..60)) {
        if let Ok(item) = codec::decode(&bytes) {
            prop_assert_eq!(codec::encode(&item), bytes);
        }
    }

    #[test]
    fn a_damaged_item_never_panics_and_never_has_two_encodings(
        item in item(), at in any::<prop::sample::Index>(), byte in any::<u8>()
    ) {
        let mut bytes = codec::encode(&item);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(other) = codec::decode(&bytes) {
            prop_assert_eq!(codec::encode(&other), bytes);
        }
    }
}

proptest! {
    #[test]
    fn an_item_taken_apart_has_its_attributes(item in item()) {
        let bytes = codec::encode(&item);
        let view = codec::StoredView::read(&bytes).unwrap();
        prop_assert!(view.names().eq(item.keys().map(String::as_bytes)));
        let every_second: Vec<String> = item.keys().step_by(2).cloned().chain(["\u{10FFFF} and more".to_owned()]).collect();
        for (name, found) in every_second.iter().zip(view.find(&every_second)) {
            prop_assert_eq!(found.map(|value| value.decode().unwrap()), item.get(name).cloned());
        }
        for (name, value) in item.iter() {
            let stored = view.get(name).unwrap();
            prop_assert_eq!(stored.decode(), Ok(value.clone()));
            prop_assert_eq!(stored.text(), value.as_s().map(str::as_bytes));
            prop_assert!(stored.is(value));
            prop_assert!(!stored.is(&"another".into()) || *value == "another".into());
            prop_assert!(!stored.is(&7_i64.into()) || *value == 7_i64.into());
        }
        prop_assert!(view.get("no name is as long as this one").is_none());
        prop_assert_eq!(view.with(&[]), bytes.clone());
        prop_assert!(size::of_item(&item) <= size::PER_STORED_BYTE_MAX * bytes.len());
    }

    #[test]
    fn an_item_put_together_with_changes_is_stored_as_the_changed_item(
        item in item(),
        changes in prop::collection::btree_map("[a-c]{1,2}", prop::option::of(value()), 0..4),
        taken in any::<prop::sample::Index>(),
        becomes in prop::option::of(value()),
    ) {
        let mut changes = changes;
        if let Some(name) = (!item.is_empty()).then(|| taken.index(item.len())).and_then(|at| item.keys().nth(at)) {
            changes.insert(name.clone(), becomes);
        }
        let mut changed = item.clone();
        for (name, value) in &changes {
            match value {
                Some(value) => drop(changed.insert(name.as_str(), value.clone())),
                None => drop(changed.remove(name)),
            }
        }
        let changes: Vec<(&str, Option<AttributeValue>)> =
            changes.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let bytes = codec::encode(&item);
        let view = codec::StoredView::read(&bytes).unwrap();
        prop_assert_eq!(view.with(&changes), codec::encode(&changed));
    }

    #[test]
    fn what_decodes_can_be_taken_apart_and_nothing_panics(bytes in vec(any::<u8>(), 0..64)) {
        let view = codec::StoredView::read(&bytes);
        prop_assert!(view.is_ok() || codec::decode(&bytes).is_err());
    }
}
