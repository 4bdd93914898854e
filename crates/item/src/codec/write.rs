//! Writing items.

use super::{number_head, tag};
use crate::{AttributeValue, Map, Number, size};

/// The approximate number of bytes of a map, to reserve them at once.
pub(super) fn map_length(map: &Map) -> usize {
    // DynamoDB's size counts names and contents; a few bytes are added for each attribute.
    size::of_item(map) + map.len() * 4 + 8
}

pub(super) fn map(map: &Map, out: &mut Vec<u8>) {
    attributes(map.iter(), out);
}

pub(super) fn attributes<'a>(
    attributes: impl ExactSizeIterator<Item = (&'a String, &'a AttributeValue)>,
    out: &mut Vec<u8>,
) {
    length(attributes.len(), out);
    for (name, inner) in attributes {
        bytes(name.as_bytes(), out);
        value(inner, out);
    }
}

pub(super) fn value(value: &AttributeValue, out: &mut Vec<u8>) {
    match value {
        AttributeValue::Null => out.push(tag::NULL),
        AttributeValue::Bool(false) => out.push(tag::FALSE),
        AttributeValue::Bool(true) => out.push(tag::TRUE),
        AttributeValue::S(text) => {
            out.push(tag::S);
            bytes(text.as_bytes(), out);
        }
        AttributeValue::N(inner) => {
            out.push(tag::N);
            number(inner, out);
        }
        AttributeValue::B(inner) => {
            out.push(tag::B);
            bytes(inner, out);
        }
        AttributeValue::M(inner) => {
            out.push(tag::M);
            map(inner, out);
        }
        AttributeValue::L(list) => many(tag::L, list, out, self::value),
        AttributeValue::Ss(set) => many(tag::SS, set, out, |text, out| bytes(text.as_bytes(), out)),
        AttributeValue::Ns(set) => many(tag::NS, set, out, number),
        AttributeValue::Bs(set) => many(tag::BS, set, out, |inner, out| bytes(inner, out)),
    }
}

fn many<T>(tag: u8, elements: &[T], out: &mut Vec<u8>, write: impl Fn(&T, &mut Vec<u8>)) {
    out.push(tag);
    length(elements.len(), out);
    for element in elements {
        write(element, out);
    }
}

pub(super) fn bytes(bytes: &[u8], out: &mut Vec<u8>) {
    length(bytes.len(), out);
    out.extend_from_slice(bytes);
}

pub(super) fn length(length: usize, out: &mut Vec<u8>) {
    let mut rest = length;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn number(number: &Number, out: &mut Vec<u8>) {
    let coefficient = number.coefficient().to_le_bytes();
    let coefficient_length = (128 - number.coefficient().leading_zeros()).div_ceil(8) as usize;
    let exponent = number.exponent().to_le_bytes();
    let exponent_length = match number.exponent() {
        0 => 0,
        -128..=127 => 1,
        _ => 2,
    };
    let sign = if number.is_negative() {
        number_head::NEGATIVE
    } else {
        0
    };
    out.push(sign | (exponent_length as u8) << number_head::EXPONENT_SHIFT | coefficient_length as u8);
    out.extend_from_slice(&exponent[..exponent_length]);
    out.extend_from_slice(&coefficient[..coefficient_length]);
}
