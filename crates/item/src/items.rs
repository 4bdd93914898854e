//! The items of a page, as they are stored.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

use crate::codec::{self, CodecError, walk};
use crate::json_text::{JsonWriter, close};
use crate::size::SizeCounter;
use crate::{Item, Map};

/// Stored bytes that are known to be an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredItem<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl<'a> StoredItem<'a> {
    /// Checks that `bytes` are an item.
    pub fn check(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let mut counter = SizeCounter::default();
        walk(bytes, &mut counter)?;
        Ok(Self {
            bytes,
            size: counter.total(),
        })
    }

    /// The item's size as DynamoDB counts it.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The item's values.
    #[must_use]
    pub fn decode(&self) -> Item {
        decode_checked(self.bytes)
    }
}

/// Checked bytes decode, because the rules are the same.
fn decode_checked(bytes: &[u8]) -> Item {
    codec::decode(bytes).unwrap_or_default()
}

/// Items in order.
///
/// They are kept in their stored form and decoded when they are taken out. An answer to a client is written
/// from the stored form, so that unused values are never decoded.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Items {
    /// All items, one after the other. Only checked bytes are added.
    bytes: Vec<u8>,
    /// The end of each item.
    ends: Vec<usize>,
}

impl Items {
    /// No items.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an item from storage.
    pub fn push_stored(&mut self, item: StoredItem<'_>) {
        self.bytes.extend_from_slice(item.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Adds an item.
    pub fn push(&mut self, item: &Item) {
        codec::encode_into(item, &mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The decoded items, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Item> + '_ {
        (0..self.len()).map(|at| decode_checked(self.stored(at)))
    }

    /// The items' values.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Item> {
        self.iter().collect()
    }

    /// Appends the items as a JSON array, the same as `serde` would write.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        // Types, quotes and colons make it a little longer than the stored form.
        out.reserve(self.bytes.len() + self.bytes.len() / 2 + 2);
        out.push(b'[');
        for at in 0..self.len() {
            // Cannot fail, because only checked bytes were added.
            let written = walk(self.stored(at), &mut JsonWriter::new(out));
            debug_assert_eq!(written, Ok(()));
        }
        close(out, b"]");
    }

    fn stored(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[at]]
    }
}

impl std::fmt::Debug for Items {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<Map> for Items {
    fn from_iter<I: IntoIterator<Item = Map>>(items: I) -> Self {
        let mut all = Self::new();
        items.into_iter().for_each(|item| all.push(&item));
        all
    }
}

impl From<Vec<Item>> for Items {
    fn from(items: Vec<Item>) -> Self {
        items.into_iter().collect()
    }
}

impl IntoIterator for Items {
    type Item = Item;
    type IntoIter = IntoItems;

    fn into_iter(self) -> IntoItems {
        IntoItems { items: self, next: 0 }
    }
}

/// Decodes [`Items`] one by one.
#[derive(Clone, Debug)]
pub struct IntoItems {
    items: Items,
    next: usize,
}

impl Iterator for IntoItems {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let at = self.next;
        (at < self.items.len()).then(|| {
            self.next += 1;
            decode_checked(self.items.stored(at))
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.items.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for IntoItems {}

impl Default for IntoItems {
    fn default() -> Self {
        Items::new().into_iter()
    }
}

impl Serialize for Items {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<Item>::deserialize(deserializer).map(Self::from)
    }
}
