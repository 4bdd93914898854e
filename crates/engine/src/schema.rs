//! Key schemas, and the checks of keys that requests carry.

use trestle_api::Error;
use trestle_expr::KeyAttribute;
use trestle_item::key::{HASH_BYTES_MAX, RANGE_BYTES_MAX};
use trestle_item::{AttributeValue, Item, size};

use crate::layout::ItemKey;

/// The message for a key with missing or additional attributes, or with wrong types.
pub(crate) const KEY_MISMATCH: &str = "The provided key element does not match the schema";

/// The key attributes of a table or an index, in order. A table has at most one of each kind, a global index
/// up to four.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct KeySchema {
    /// Partition key attributes.
    pub(crate) hash: Vec<KeyAttribute>,
    /// Sort key attributes.
    pub(crate) range: Vec<KeyAttribute>,
}

impl KeySchema {
    /// All key attributes, partition key first.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = &KeyAttribute> {
        self.hash.iter().chain(&self.range)
    }

    /// Whether `name` is one of the key attributes.
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.attributes().any(|part| part.name == name)
    }

    /// Only the key attributes of `item`.
    pub(crate) fn key_of(&self, item: &Item) -> Item {
        let mut key = Item::with_capacity(2);
        self.copy_key(item, &mut key);
        key
    }

    /// Adds the key attributes of `item` to `key`.
    pub(crate) fn copy_key(&self, item: &Item, key: &mut Item) {
        for part in self.attributes() {
            if let Some(value) = item.get(&part.name) {
                key.insert(part.name.clone(), value.clone());
            }
        }
    }

    /// Checks a `Key` parameter: exactly the key attributes, of the right types.
    pub(crate) fn item_key(&self, key: &Item) -> Result<ItemKey, Error> {
        let mismatch = || Error::validation(KEY_MISMATCH);
        if key.len() != self.hash.len() + self.range.len() {
            return Err(mismatch());
        }
        for part in self.attributes() {
            let value = key.get(&part.name).ok_or_else(mismatch)?;
            if value.scalar_type() != Some(part.kind) {
                return Err(mismatch());
            }
        }
        self.checked_key(key, mismatch)
    }

    /// Checks the key attributes of an item before it is written.
    pub(crate) fn item_key_in(&self, item: &Item) -> Result<ItemKey, Error> {
        for part in self.attributes() {
            let Some(value) = item.get(&part.name) else {
                return Err(Error::validation(format!(
                    "One or more parameter values were invalid: Missing the key {} in the item",
                    part.name
                )));
            };
            if value.scalar_type() != Some(part.kind) {
                return Err(Error::validation(format!(
                    "One or more parameter values were invalid: Type mismatch for key {} expected: {} actual: {}",
                    part.name,
                    part.kind.name(),
                    value.type_name()
                )));
            }
        }
        self.checked_key(item, || Error::validation(KEY_MISMATCH))
    }

    fn checked_key(&self, item: &Item, mismatch: impl Fn() -> Error) -> Result<ItemKey, Error> {
        for part in self.attributes() {
            if let Some(kind) = item.get(&part.name).and_then(empty_kind) {
                return Err(Error::validation(format!(
                    "One or more parameter values are not valid. The AttributeValue for a key attribute cannot \
                     contain an empty {kind} value. Key: {}",
                    part.name
                )));
            }
        }
        if let Some(problem) = self.too_large(item) {
            return Err(Error::validation(format!(
                "One or more parameter values were invalid: {problem}"
            )));
        }
        ItemKey::of(self, item).ok_or_else(mismatch)
    }

    /// The message if the key attributes of `item` are too large, in DynamoDB's words.
    fn too_large(&self, item: &Item) -> Option<&'static str> {
        let bytes = |parts: &[KeyAttribute]| -> usize {
            parts
                .iter()
                .filter_map(|part| item.get(&part.name))
                .map(size::of_value)
                .sum()
        };
        excess(bytes(&self.hash), bytes(&self.range))
    }

    /// Checks the key attributes of a secondary index: they may be missing, but must have the right type.
    pub(crate) fn check_index_key(&self, index: &str, item: &Item) -> Result<(), Error> {
        let bytes = |parts: &[KeyAttribute]| -> Result<usize, Error> {
            parts
                .iter()
                .try_fold(0, |bytes, part| match item.get(&part.name) {
                    Some(value) => {
                        check_index_value(index, part, value).map(|()| bytes + size::of_value(value))
                    }
                    None => Ok(bytes),
                })
        };
        match excess(bytes(&self.hash)?, bytes(&self.range)?) {
            Some(problem) => Err(Error::validation(format!(
                "One or more parameter values were invalid: {problem}"
            ))),
            None => Ok(()),
        }
    }

    /// Whether an index with this key holds `item`. New writes have been checked before; an item that is
    /// older than the index may have any value in a key attribute.
    pub(crate) fn places(&self, item: &Item) -> bool {
        let usable = |part: &KeyAttribute| {
            item.get(&part.name)
                .is_some_and(|value| value.scalar_type() == Some(part.kind) && empty_kind(value).is_none())
        };
        self.attributes().all(usable) && self.too_large(item).is_none()
    }
}

/// The message if a key whose parts have this many bytes is too large.
fn excess(hash_bytes: usize, range_bytes: usize) -> Option<&'static str> {
    if hash_bytes > HASH_BYTES_MAX {
        return Some("Size of hashkey has exceeded the maximum size limit of2048 bytes");
    }
    if range_bytes > RANGE_BYTES_MAX {
        return Some("Aggregated size of all range keys has exceeded the size limit of 1024 bytes");
    }
    None
}

/// Checks the value of one key attribute of a secondary index.
fn check_index_value(index: &str, part: &KeyAttribute, value: &AttributeValue) -> Result<(), Error> {
    if value.scalar_type() != Some(part.kind) {
        return Err(Error::validation(format!(
            "One or more parameter values were invalid: Type mismatch for Index Key {} Expected: {} Actual: {} \
             IndexName: {index}",
            part.name,
            part.kind.name(),
            value.type_name()
        )));
    }
    if let Some(kind) = empty_kind(value) {
        return Err(Error::validation(format!(
            "One or more parameter values are not valid. A value specified for a secondary index key is not \
             supported. The AttributeValue for a key attribute cannot contain an empty {kind} value. \
             IndexName: {index}, IndexKey: {}",
            part.name
        )));
    }
    Ok(())
}

/// `string` or `binary`, if the value is empty.
pub(crate) fn empty_kind(value: &AttributeValue) -> Option<&'static str> {
    match value {
        AttributeValue::S(text) if text.is_empty() => Some("string"),
        AttributeValue::B(bytes) if bytes.is_empty() => Some("binary"),
        _ => None,
    }
}
