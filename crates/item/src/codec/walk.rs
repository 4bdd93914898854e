//! Reading items without decoding values.

use super::read::{Reader, deeper};
use super::{CodecError, DEPTH_MAX, tag};
use crate::Number;

/// Receives the contents of stored bytes in order. For a map, each name comes before its value.
pub(crate) trait Visitor {
    fn null(&mut self);
    fn truth(&mut self, truth: bool);
    fn text(&mut self, text: &str);
    fn number(&mut self, number: &Number);
    fn binary(&mut self, bytes: &[u8]);
    fn begin(&mut self, container: Container, count: usize);
    fn name(&mut self, name: &str);
    fn end(&mut self, container: Container);
}

/// A value that contains others. The item itself is [`Container::Item`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    Item,
    Map,
    List,
    Texts,
    Numbers,
    Binaries,
}

/// Visits an item; all bytes must belong to it. Applies the same rules as decoding.
pub(crate) fn walk(bytes: &[u8], visitor: &mut impl Visitor) -> Result<(), CodecError> {
    let mut reader = Reader::new(bytes);
    map(&mut reader, Container::Item, DEPTH_MAX, visitor)?;
    reader.finish()
}

fn map(
    reader: &mut Reader<'_>,
    container: Container,
    depth: usize,
    visitor: &mut impl Visitor,
) -> Result<(), CodecError> {
    let count = reader.count()?;
    visitor.begin(container, count);
    let mut last: Option<&str> = None;
    for _ in 0..count {
        let name = reader.text()?;
        if last.is_some_and(|last| last >= name) {
            return Err(CodecError::OutOfOrder);
        }
        last = Some(name);
        visitor.name(name);
        value(reader, depth, visitor)?;
    }
    visitor.end(container);
    Ok(())
}

fn value(reader: &mut Reader<'_>, depth: usize, visitor: &mut impl Visitor) -> Result<(), CodecError> {
    match reader.byte()? {
        tag::NULL => visitor.null(),
        tag::FALSE => visitor.truth(false),
        tag::TRUE => visitor.truth(true),
        tag::S => visitor.text(reader.text()?),
        tag::N => visitor.number(&reader.number()?),
        tag::B => visitor.binary(reader.bytes()?),
        tag::M => map(reader, Container::Map, deeper(depth)?, visitor)?,
        tag::L => list(reader, deeper(depth)?, visitor)?,
        tag::SS => set(
            reader,
            Container::Texts,
            visitor,
            Reader::text,
            |visitor, text| {
                visitor.text(text);
            },
        )?,
        tag::NS => set(
            reader,
            Container::Numbers,
            visitor,
            Reader::number,
            |visitor, number| {
                visitor.number(number);
            },
        )?,
        tag::BS => set(
            reader,
            Container::Binaries,
            visitor,
            Reader::bytes,
            |visitor, bytes| {
                visitor.binary(bytes);
            },
        )?,
        unknown => return Err(CodecError::UnknownTag(unknown)),
    }
    Ok(())
}

fn list(reader: &mut Reader<'_>, depth: usize, visitor: &mut impl Visitor) -> Result<(), CodecError> {
    let count = reader.count()?;
    visitor.begin(Container::List, count);
    for _ in 0..count {
        value(reader, depth, visitor)?;
    }
    visitor.end(Container::List);
    Ok(())
}

fn set<'a, T: Ord, V: Visitor>(
    reader: &mut Reader<'a>,
    container: Container,
    visitor: &mut V,
    read: impl Fn(&mut Reader<'a>) -> Result<T, CodecError>,
    tell: impl Fn(&mut V, &T),
) -> Result<(), CodecError> {
    let count = reader.count()?;
    visitor.begin(container, count);
    let mut last: Option<T> = None;
    for _ in 0..count {
        let member = read(reader)?;
        if last.is_some_and(|last| last >= member) {
            return Err(CodecError::OutOfOrder);
        }
        tell(visitor, &member);
        last = Some(member);
    }
    visitor.end(container);
    Ok(())
}
