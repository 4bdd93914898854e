//! Reading items.

use super::{CodecError, number_head, tag};
use crate::{AttributeValue, Map, Number};

/// Lengths up to 2^35: far beyond any item.
const LENGTH_BYTES_MAX: u32 = 5;

/// How many elements are allocated before the first is seen. Counts are not trusted: each of many nested
/// lists could claim all the bytes that follow.
pub(super) const RESERVE_MAX: usize = 256;

/// The bytes not yet read.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes not yet read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn finish(self) -> Result<(), CodecError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(CodecError::Trailing)
        }
    }

    pub(super) fn map(&mut self, depth: usize) -> Result<Map, CodecError> {
        let count = self.count()?;
        let mut entries: Vec<(String, AttributeValue)> = Vec::with_capacity(count.min(RESERVE_MAX));
        for _ in 0..count {
            let name = self.text()?;
            if entries.last().is_some_and(|(last, _)| last.as_str() >= name) {
                return Err(CodecError::OutOfOrder);
            }
            entries.push((name.to_owned(), self.value(depth)?));
        }
        Ok(Map::from_sorted(entries))
    }

    /// One value, which may contain `depth` levels of others.
    pub(super) fn value(&mut self, depth: usize) -> Result<AttributeValue, CodecError> {
        Ok(match self.byte()? {
            tag::NULL => AttributeValue::Null,
            tag::FALSE => AttributeValue::Bool(false),
            tag::TRUE => AttributeValue::Bool(true),
            tag::S => AttributeValue::S(self.text()?.to_owned()),
            tag::N => AttributeValue::N(self.number()?),
            tag::B => AttributeValue::B(self.bytes()?.to_vec()),
            tag::M => AttributeValue::M(self.map(deeper(depth)?)?),
            tag::L => AttributeValue::L(self.list(deeper(depth)?)?),
            tag::SS => AttributeValue::Ss(self.set(|reader| Ok(reader.text()?.to_owned()))?),
            tag::NS => AttributeValue::Ns(self.set(Self::number)?),
            tag::BS => AttributeValue::Bs(self.set(|reader| Ok(reader.bytes()?.to_vec()))?),
            unknown => return Err(CodecError::UnknownTag(unknown)),
        })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<AttributeValue>, CodecError> {
        let count = self.count()?;
        let mut list = Vec::with_capacity(count.min(RESERVE_MAX));
        for _ in 0..count {
            list.push(self.value(depth)?);
        }
        Ok(list)
    }

    fn set<T: Ord>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, CodecError>,
    ) -> Result<Vec<T>, CodecError> {
        let count = self.count()?;
        let mut set = Vec::with_capacity(count.min(RESERVE_MAX));
        for _ in 0..count {
            let member = read(self)?;
            if set.last().is_some_and(|last| *last >= member) {
                return Err(CodecError::OutOfOrder);
            }
            set.push(member);
        }
        Ok(set)
    }

    pub(super) fn number(&mut self) -> Result<Number, CodecError> {
        let head = self.byte()?;
        let mut coefficient = [0; 16];
        let exponent_length = usize::from((head >> number_head::EXPONENT_SHIFT) & number_head::EXPONENT_MASK);
        let exponent = match *self.take(exponent_length)? {
            [] => 0,
            [only] if only != 0 => i16::from(only as i8),
            [low, high] => Some(i16::from_le_bytes([low, high]))
                .filter(|wide| i8::try_from(*wide).is_err())
                .ok_or(CodecError::BadNumber)?,
            _ => return Err(CodecError::BadNumber),
        };
        let stored = self.take(usize::from(head & number_head::COEFFICIENT_MASK))?;
        if stored.last() == Some(&0) {
            return Err(CodecError::BadNumber); // A longer way to write the same coefficient.
        }
        coefficient
            .get_mut(..stored.len())
            .ok_or(CodecError::BadNumber)?
            .copy_from_slice(stored);
        let negative = head & number_head::NEGATIVE != 0;
        Number::from_normal_parts(negative, u128::from_le_bytes(coefficient), exponent)
            .ok_or(CodecError::BadNumber)
    }

    #[inline]
    pub(super) fn text(&mut self) -> Result<&'a str, CodecError> {
        simdutf8::basic::from_utf8(self.bytes()?).map_err(|_| CodecError::NotUtf8)
    }

    #[inline]
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], CodecError> {
        let length = self.length()?;
        self.take(length)
    }

    /// The number of elements that follow. Each takes at least a byte, so a count beyond the remaining bytes
    /// is wrong.
    pub(super) fn count(&mut self) -> Result<usize, CodecError> {
        let count = self.length()?;
        if count > self.rest.len() {
            Err(CodecError::BadLength)
        } else {
            Ok(count)
        }
    }

    #[inline]
    fn length(&mut self) -> Result<usize, CodecError> {
        let byte = self.byte()?;
        if byte < 0x80 {
            Ok(usize::from(byte))
        } else {
            self.long_length(byte)
        }
    }

    fn long_length(&mut self, first: u8) -> Result<usize, CodecError> {
        let mut length = u64::from(first & 0x7F);
        for place in 1..LENGTH_BYTES_MAX {
            let byte = self.byte()?;
            length |= u64::from(byte & 0x7F) << (7 * place);
            if byte < 0x80 {
                // A zero at the end is a longer form of a shorter number.
                return usize::try_from(length)
                    .ok()
                    .filter(|_| byte != 0)
                    .ok_or(CodecError::BadLength);
            }
        }
        Err(CodecError::BadLength)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, CodecError> {
        let (byte, rest) = self.rest.split_first().ok_or(CodecError::Truncated)?;
        self.rest = rest;
        Ok(*byte)
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(CodecError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

pub(super) fn deeper(depth: usize) -> Result<usize, CodecError> {
    depth.checked_sub(1).ok_or(CodecError::TooDeep)
}
