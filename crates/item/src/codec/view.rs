//! Stored items, taken apart without decoding values.

use super::read::{RESERVE_MAX, Reader, deeper};
use super::{CodecError, DEPTH_MAX, tag, write};
use crate::AttributeValue;

/// The attributes of a stored item: each name with its value, in order of name.
///
/// Only lengths are checked. Decoding a value, or writing the bytes, checks the rest.
#[derive(Clone, Debug)]
pub struct StoredView<'a> {
    bytes: &'a [u8],
    attributes: Vec<StoredAttribute<'a>>,
}

#[derive(Clone, Copy, Debug)]
struct StoredAttribute<'a> {
    /// Its offset in the item.
    start: usize,
    name: &'a [u8],
    value: StoredValue<'a>,
}

/// A value in its stored form.
#[derive(Clone, Copy, Debug)]
pub struct StoredValue<'a>(&'a [u8]);

impl<'a> StoredView<'a> {
    /// Takes an item apart; all bytes must belong to it.
    pub fn read(bytes: &'a [u8]) -> Result<Self, CodecError> {
        let mut reader = Reader::new(bytes);
        let count = reader.count()?;
        let mut attributes = Vec::with_capacity(count.min(RESERVE_MAX));
        for _ in 0..count {
            attributes.push(StoredAttribute {
                start: bytes.len() - reader.rest().len(),
                name: reader.bytes()?,
                value: StoredValue(reader.skipped()?),
            });
        }
        reader.finish()?;
        Ok(Self { bytes, attributes })
    }

    /// The attributes' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        self.attributes.iter().map(|attribute| attribute.name)
    }

    /// The value of an attribute.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<StoredValue<'a>> {
        let mut attributes = self.attributes.iter();
        let found = attributes.find(|attribute| attribute.name == name.as_bytes());
        found.map(|attribute| attribute.value)
    }

    /// The values of several attributes, whose names are in order.
    #[must_use]
    pub fn find(&self, names: &[String]) -> Vec<Option<StoredValue<'a>>> {
        let mut rest = self.attributes.iter().peekable();
        let mut find = |name: &String| {
            while rest
                .next_if(|attribute| attribute.name < name.as_bytes())
                .is_some()
            {}
            let found = rest.next_if(|attribute| attribute.name == name.as_bytes());
            found.map(|attribute| attribute.value)
        };
        names.iter().map(&mut find).collect()
    }

    /// The stored form of the item with these changes: the new value of each attribute, `None` if it is
    /// removed. The names are sorted, without duplicates.
    #[must_use]
    pub fn with(&self, changes: &[(&str, Option<AttributeValue>)]) -> Vec<u8> {
        debug_assert!(changes.is_sorted_by(|one, two| one.0 < two.0));
        let mut out = Vec::with_capacity(self.bytes.len() + 64);
        write::length(self.count_with(changes), &mut out);
        // The bytes between two changes are copied at once.
        let mut copied = self.start(0);
        let mut at = 0;
        for (name, value) in changes {
            let rest = self.attributes.get(at..).unwrap_or_default();
            at += rest.partition_point(|attribute| attribute.name < name.as_bytes());
            let start = self.start(at);
            out.extend_from_slice(self.bytes.get(copied..start).unwrap_or_default());
            let there = self.attributes.get(at);
            at += usize::from(there.is_some_and(|attribute| attribute.name == name.as_bytes()));
            copied = self.start(at);
            write_changed(name, value.as_ref(), &mut out);
        }
        out.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
        out
    }

    /// The offset of the attribute at a position, or of the item's end.
    fn start(&self, at: usize) -> usize {
        let attribute = self.attributes.get(at);
        attribute.map_or(self.bytes.len(), |attribute| attribute.start)
    }

    /// How many attributes the item has with these changes.
    fn count_with(&self, changes: &[(&str, Option<AttributeValue>)]) -> usize {
        let mut count = self.attributes.len();
        for (name, value) in changes {
            match (self.get(name), value) {
                (Some(_), None) => count -= 1,
                (None, Some(_)) => count += 1,
                _ => {}
            }
        }
        count
    }
}

fn write_changed(name: &str, value: Option<&AttributeValue>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        write::bytes(name.as_bytes(), out);
        write::value(value, out);
    }
}

impl<'a> StoredValue<'a> {
    /// The value.
    pub fn decode(self) -> Result<AttributeValue, CodecError> {
        super::decode_value(self.0)
    }

    /// The bytes of a text; `None` for any other value.
    #[must_use]
    pub fn text(self) -> Option<&'a [u8]> {
        let mut reader = Reader::new(self.0);
        (reader.byte().ok()? == tag::S).then(|| reader.bytes().ok())?
    }

    /// Whether it is this value, which has only one stored form.
    #[must_use]
    pub fn is(self, value: &AttributeValue) -> bool {
        if let AttributeValue::S(text) = value {
            return self.text() == Some(text.as_bytes());
        }
        let mut bytes = Vec::new();
        write::value(value, &mut bytes);
        bytes == self.0
    }
}

impl<'a> Reader<'a> {
    /// The bytes of the next value.
    #[inline]
    fn skipped(&mut self) -> Result<&'a [u8], CodecError> {
        let before = self.rest();
        self.skip(DEPTH_MAX)?;
        let length = before.len() - self.rest().len();
        before.get(..length).ok_or(CodecError::Truncated)
    }

    fn skip(&mut self, depth: usize) -> Result<(), CodecError> {
        match self.byte()? {
            tag::NULL | tag::FALSE | tag::TRUE => Ok(()),
            tag::S | tag::B => self.bytes().map(drop),
            tag::N => self.number().map(drop),
            tag::M => {
                let depth = deeper(depth)?;
                self.skip_each(|reader| {
                    reader.bytes()?;
                    reader.skip(depth)
                })
            }
            tag::L => {
                let depth = deeper(depth)?;
                self.skip_each(|reader| reader.skip(depth))
            }
            tag::SS | tag::BS => self.skip_each(|reader| reader.bytes().map(drop)),
            tag::NS => self.skip_each(|reader| reader.number().map(drop)),
            unknown => Err(CodecError::UnknownTag(unknown)),
        }
    }

    fn skip_each(
        &mut self,
        mut skip: impl FnMut(&mut Self) -> Result<(), CodecError>,
    ) -> Result<(), CodecError> {
        for _ in 0..self.count()? {
            skip(self)?;
        }
        Ok(())
    }
}
