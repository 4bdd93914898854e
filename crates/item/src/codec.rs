//! Items as compact bytes, for storage.
//!
//! A value is a tag byte and a payload. Lengths and counts are LEB128. A map's names are in order, and so are
//! the members of a set: so that decoding needs no sorting. The bytes carry no version; the store has one.
//!
//! Each item has exactly one encoding, and other bytes do not decode: equal bytes are equal items and vice
//! versa.
//!
//! Decoding trusts nothing: it never panics, never recurses beyond [`DEPTH_MAX`] and allocates space for at
//! most a few hundred elements before it has seen them.

use crate::{AttributeValue, Map};

mod read;
mod view;
mod walk;
mod write;

pub use view::{StoredValue, StoredView};
pub(crate) use walk::{Container, Visitor, walk};

/// How deep a value may be nested in stored bytes. Requests are limited to the smaller
/// [`crate::NESTING_MAX`].
pub const DEPTH_MAX: usize = 64;

/// The first byte of every value.
mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const S: u8 = 3;
    pub(super) const N: u8 = 4;
    pub(super) const B: u8 = 5;
    pub(super) const M: u8 = 6;
    pub(super) const L: u8 = 7;
    pub(super) const SS: u8 = 8;
    pub(super) const NS: u8 = 9;
    pub(super) const BS: u8 = 10;
}

/// The byte before a number: the sign, how many bytes the exponent takes (0, 1 or 2) and how many the coefficient.
mod number_head {
    pub(super) const NEGATIVE: u8 = 0b1000_0000;
    pub(super) const EXPONENT_SHIFT: u32 = 5;
    pub(super) const EXPONENT_MASK: u8 = 0b11;
    pub(super) const COEFFICIENT_MASK: u8 = 0b1_1111;
}

/// Why bytes are not an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes stop in the middle of a value.
    #[error("The stored item ends too early.")]
    Truncated,
    /// Bytes are left over.
    #[error("The stored item is followed by bytes that do not belong to it.")]
    Trailing,
    /// A value starts with a byte that names no type.
    #[error("The stored item contains a value of unknown type {0}.")]
    UnknownTag(u8),
    /// Text is not UTF-8.
    #[error("The stored item contains text that is not UTF-8.")]
    NotUtf8,
    /// A number is out of bounds or not in its normal form.
    #[error("The stored item contains a number that is not in normal form.")]
    BadNumber,
    /// Names or set members are repeated or out of order.
    #[error("The stored item has names or set members out of order.")]
    OutOfOrder,
    /// Nested deeper than any item may be.
    #[error("The stored item is nested deeper than {DEPTH_MAX} levels.")]
    TooDeep,
    /// A length that is impossible, or is not written in the shortest form.
    #[error("The stored item contains a length that cannot be true.")]
    BadLength,
}

/// An item's bytes.
#[must_use]
pub fn encode(item: &Map) -> Vec<u8> {
    let mut out = Vec::with_capacity(write::map_length(item));
    encode_into(item, &mut out);
    out
}

/// Appends an item's bytes.
pub fn encode_into(item: &Map, out: &mut Vec<u8>) {
    write::map(item, out);
}

/// Appends the bytes of the item with these attributes, which are sorted by name without duplicates.
pub fn encode_attributes<'a>(
    attributes: impl ExactSizeIterator<Item = (&'a String, &'a AttributeValue)>,
    out: &mut Vec<u8>,
) {
    write::attributes(attributes, out);
}

/// Appends one value's bytes.
pub fn encode_value(value: &AttributeValue, out: &mut Vec<u8>) {
    write::value(value, out);
}

/// Reads an item; all bytes must belong to it.
pub fn decode(bytes: &[u8]) -> Result<Map, CodecError> {
    let mut reader = read::Reader::new(bytes);
    let item = reader.map(DEPTH_MAX)?;
    reader.finish()?;
    Ok(item)
}

/// Reads one value; all bytes must belong to it.
pub fn decode_value(bytes: &[u8]) -> Result<AttributeValue, CodecError> {
    let mut reader = read::Reader::new(bytes);
    let value = reader.value(DEPTH_MAX)?;
    reader.finish()?;
    Ok(value)
}
