//! The storage keys of items, index rows, change records and expiry entries.
//!
//! `docs/internals/format.md` documents these bytes; change both in one commit. All integers are big-endian,
//! so that the order of bytes is the order of values.

use trestle_api::Error;
use trestle_item::{AttributeValue, Item, key};

use crate::schema::KeySchema;

/// Identifies a table for the lifetime of the data directory; never reused after the table is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct TableId(pub(crate) u32);

/// Identifies a secondary index; assigned from the same counter as [`TableId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct IndexId(pub(crate) u32);

/// Identifies a stream; enabling the stream of a table again gives a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub(crate) struct StreamId(pub(crate) u32);

/// An item's key inside its table: `hash(8) length(2) partition-key sort-key`.
///
/// The hash spreads partitions over the scan space; the length separates the two keys, so that different
/// pairs of keys never have the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ItemKey(pub(crate) Vec<u8>);

impl ItemKey {
    /// The key of `item`, whose key attributes have been checked to exist and to have their types.
    pub(crate) fn of(schema: &KeySchema, item: &Item) -> Option<Self> {
        let mut out = Vec::with_capacity(48);
        let hash = item.get(&schema.hash.first()?.name)?;
        partition_prefix(hash, &mut out)?;
        if let Some(range) = schema.range.first() {
            key::encode(item.get(&range.name)?, &mut out)?;
        }
        Some(Self(out))
    }

    /// The key attributes that these bytes encode.
    pub(crate) fn attributes(&self, schema: &KeySchema) -> Option<Item> {
        key_attributes(schema, &self.0)
    }

    /// The position in the scan order, which is divided into segments.
    pub(crate) fn hash(&self) -> u64 {
        let mut bytes = [0; 8];
        for (to, from) in bytes.iter_mut().zip(&self.0) {
            *to = *from;
        }
        u64::from_be_bytes(bytes)
    }

    /// The full storage key in the items space.
    pub(crate) fn in_table(&self, table: TableId) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + self.0.len());
        out.extend_from_slice(&table.0.to_be_bytes());
        out.extend_from_slice(&self.0);
        out
    }
}

/// The key attributes that the bytes of an [`ItemKey`] encode.
pub(crate) fn key_attributes(schema: &KeySchema, key: &[u8]) -> Option<Item> {
    let (hash, range) = key_parts(key)?;
    let mut key = Item::with_capacity(2);
    let part = schema.hash.first()?;
    key.insert(part.name.clone(), key::decode(part.kind, hash)?);
    if let Some(part) = schema.range.first() {
        key.insert(part.name.clone(), key::decode(part.kind, range)?);
    }
    Some(key)
}

/// The bytes of the partition key and of the sort key in those of an [`ItemKey`].
pub(crate) fn key_parts(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = key.get(8..10)?.try_into().ok()?;
    key.get(10..)?
        .split_at_checked(usize::from(u16::from_be_bytes(length)))
}

/// Appends the prefix of all rows of one partition: `hash(8) length(2) partition-key`.
fn partition_prefix(hash: &AttributeValue, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    out.extend_from_slice(&[0; 10]);
    key::encode(hash, out)?;
    let length = u16::try_from(out.len() - start - 10).ok()?;
    let digest = key::hash(out.get(start + 10..)?);
    out.get_mut(start..start + 8)?
        .copy_from_slice(&digest.to_be_bytes());
    out.get_mut(start + 8..start + 10)?
        .copy_from_slice(&length.to_be_bytes());
    Some(())
}

/// The bytes of a table's number, with which the keys of its rows begin.
pub(crate) const TABLE_BYTES: usize = 4;

/// The part of a stored key after its first bytes. It is never empty: an empty rest would be the prefix of
/// every row.
pub(crate) fn behind<'k>(key: &'k [u8], begins: usize, place: &str) -> Result<&'k [u8], Error> {
    let rest = key.get(begins..).filter(|rest| !rest.is_empty());
    debug_assert!(rest.is_some(), "{place}: a stored key ends too early: {key:?}");
    rest.ok_or_else(|| Error::internal(format!("{place}: a stored key ends too early")))
}

/// The prefix of the item keys of one partition.
pub(crate) fn partition(hash: &AttributeValue) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(48);
    partition_prefix(hash, &mut out)?;
    Some(out)
}

/// The prefix of all rows of a partition of a table.
pub(crate) fn table_partition(table: TableId, hash: &AttributeValue) -> Option<Vec<u8>> {
    let mut out = table.0.to_be_bytes().to_vec();
    partition_prefix(hash, &mut out)?;
    Some(out)
}

/// The prefix of all rows of an index partition: `index(4) hash(8) components…`.
pub(crate) fn index_partition<'a>(
    index: IndexId,
    hash: impl Iterator<Item = &'a AttributeValue>,
) -> Option<Vec<u8>> {
    let mut out = index.0.to_be_bytes().to_vec();
    out.extend_from_slice(&[0; 8]);
    for value in hash {
        key::encode_component(value, &mut out)?;
    }
    let digest = key::hash(out.get(12..)?);
    out.get_mut(4..12)?.copy_from_slice(&digest.to_be_bytes());
    Some(out)
}

/// The storage key of an item's row in an index, or `None` if the item is not in the index because it lacks a
/// key attribute or has one that cannot be a key: `index(4) hash(8) hash-components range-components
/// item-key`.
///
/// The item's own key at the end distinguishes rows with equal index keys.
pub(crate) fn index_row(
    index: IndexId,
    schema: &KeySchema,
    item: &Item,
    item_key: &ItemKey,
) -> Option<Vec<u8>> {
    if !schema.places(item) {
        return None;
    }
    let hash = schema.hash.iter().filter_map(|part| item.get(&part.name));
    let mut out = index_partition(index, hash)?;
    for part in &schema.range {
        key::encode_component(item.get(&part.name)?, &mut out)?;
    }
    out.extend_from_slice(&item_key.0);
    Some(out)
}

/// The common prefix of the rows with the same index key as this one; `None` if this is not a complete row.
pub(crate) fn index_group<'r>(schema: &KeySchema, row: &'r [u8]) -> Option<&'r [u8]> {
    let mut rest = row.get(12..)?;
    for part in schema.attributes() {
        rest = key::behind_component(part.kind, rest)?;
    }
    row.get(..row.len() - rest.len())
}

/// The key of a change record: `stream(4) shard(2) sequence(8)`.
pub(crate) fn change(stream: StreamId, shard: u16, sequence: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(14);
    out.extend_from_slice(&stream.0.to_be_bytes());
    out.extend_from_slice(&shard.to_be_bytes());
    out.extend_from_slice(&sequence.to_be_bytes());
    out
}

/// The sequence number in a change record's key.
pub(crate) fn change_sequence(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(key.get(6..14)?.try_into().ok()?))
}

/// An expiry entry: `seconds(8) table(4) item-key`.
pub(crate) fn expiry(seconds: u64, table: TableId, item_key: &ItemKey) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + item_key.0.len());
    out.extend_from_slice(&seconds.to_be_bytes());
    out.extend_from_slice(&table.0.to_be_bytes());
    out.extend_from_slice(&item_key.0);
    out
}

/// Parses an expiry entry.
pub(crate) fn parse_expiry(key: &[u8]) -> Option<(u64, TableId, ItemKey)> {
    let seconds = u64::from_be_bytes(key.get(..8)?.try_into().ok()?);
    let table = TableId(u32::from_be_bytes(key.get(8..12)?.try_into().ok()?));
    Some((seconds, table, ItemKey(key.get(12..)?.to_vec())))
}
