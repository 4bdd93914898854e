//! An item stored as its difference from another one. Most changes leave most of an item unchanged, and a
//! change record is written to the journal, to a table, and again with every merge.

use trestle_item::{AttributeValue, Item, codec};

const LACKING: AttributeValue = AttributeValue::Null;

/// Appends the attributes of `item` that `other` lacks or has with another value: `length(4) bytes`, as an
/// item. Then the attributes that only `other` has, as an item of nulls.
pub(super) fn encode(item: &Item, other: &Item, out: &mut Vec<u8>) {
    let own: Vec<_> = item
        .iter()
        .filter(|(name, value)| other.get(name) != Some(*value))
        .collect();
    let lacking: Vec<_> = other
        .keys()
        .filter(|name| !item.contains_key(name))
        .map(|name| (name, &LACKING))
        .collect();
    super::push(out, |out| codec::encode_attributes(own.into_iter(), out));
    codec::encode_attributes(lacking.into_iter(), out);
}

/// The item with this difference from `other`; `None` when the bytes are damaged.
pub(super) fn decode(mut bytes: &[u8], other: &Item) -> Option<Item> {
    let own = codec::decode(super::pull(&mut bytes)?).ok()?;
    let lacking = codec::decode(bytes).ok()?;
    let mut item = other.clone();
    item.retain(|name, _| !lacking.contains_key(name));
    for (name, value) in own {
        item.insert(name, value);
    }
    Some(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> Item {
        serde_json::from_str(json).unwrap()
    }

    fn items() -> Vec<Item> {
        [
            r#"{}"#,
            r#"{"a":{"S":"x"}}"#,
            r#"{"a":{"NULL":true}}"#,
            r#"{"a":{"NULL":true},"z":{"NULL":true}}"#,
            r#"{"a":{"S":"x"},"b":{"N":"1"},"c":{"M":{"d":{"S":"e"},"f":{"NULL":true}}}}"#,
            r#"{"a":{"S":"y"},"c":{"M":{"d":{"S":"e"}}},"z":{"SS":["p","q"]}}"#,
            r#"{"b":{"N":"2"},"c":{"L":[{"S":"e"}]},"z":{"SS":["q"]}}"#,
        ]
        .map(item)
        .to_vec()
    }

    #[test]
    fn an_item_is_found_again_from_its_difference_to_any_other() {
        for one in items() {
            for other in items() {
                let mut bytes = Vec::new();
                encode(&one, &other, &mut bytes);
                assert_eq!(decode(&bytes, &other), Some(one.clone()), "from {other:?}");
            }
        }
    }

    #[test]
    fn what_two_items_have_in_common_takes_no_room() {
        let large = AttributeValue::S("x".repeat(1000));
        let old = Item::from([("body", large.clone()), ("state", "latest".into())]);
        let new = Item::from([
            ("body", large),
            ("expires", 7_i64.into()),
            ("state", "old".into()),
        ]);
        let mut bytes = Vec::new();
        encode(&old, &new, &mut bytes);
        assert!(bytes.len() < 50, "{}", bytes.len());
    }

    #[test]
    fn half_a_difference_is_none() {
        let (one, other) = (items().remove(4), items().remove(5));
        let mut bytes = Vec::new();
        encode(&one, &other, &mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length], &other), None, "{length}");
        }
    }
}
