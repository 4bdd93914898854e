//! Key bytes: comparing them as unsigned bytes gives DynamoDB's order of the values.
//!
//! A number takes one byte for its sign, one for its magnitude and one for each two digits; the lowest bit of a
//! digit byte says whether another follows, so that a number knows its own end. Below zero, all bytes are inverted.
//!
//! Text and bytes stand for themselves where a key is alone ([`encode`]). Where several components follow each
//! other ([`encode_component`]), `00` becomes `00 FF` and the end is `00 00`, which sorts before any continuation.
//!
//! These bytes and [`hash`] are part of the format on disk.

use crate::{AttributeValue, Number, ScalarType};

/// The most bytes of a partition key.
pub const HASH_BYTES_MAX: usize = 2048;
/// The most bytes of a sort key, all its parts together.
pub const RANGE_BYTES_MAX: usize = 1024;

const NEGATIVE: u8 = 0x00;
const ZERO: u8 = 0x01;
const POSITIVE: u8 = 0x02;
/// Added to a magnitude (−130 to 125), so that it fills one byte.
const MAGNITUDE_BIAS: i32 = 130;
/// 38 digits, two to a byte.
const PAIRS_MAX: usize = 19;

const ESCAPED_ZERO: [u8; 2] = [0x00, 0xFF];
const END: [u8; 2] = [0x00, 0x00];

/// Appends the order-preserving bytes of a key that stands alone; `None` if the type cannot be a key.
pub fn encode(value: &AttributeValue, out: &mut Vec<u8>) -> Option<()> {
    match value {
        AttributeValue::S(text) => out.extend_from_slice(text.as_bytes()),
        AttributeValue::B(bytes) => out.extend_from_slice(bytes),
        AttributeValue::N(number) => encode_number(number, out),
        _ => return None,
    }
    Some(())
}

/// Reads a key that stands alone; `None` if the bytes are not what [`encode`] writes for this type.
#[must_use]
pub fn decode(kind: ScalarType, bytes: &[u8]) -> Option<AttributeValue> {
    match kind {
        ScalarType::S => Some(AttributeValue::S(String::from_utf8(bytes.to_vec()).ok()?)),
        ScalarType::B => Some(AttributeValue::B(bytes.to_vec())),
        ScalarType::N => match decode_number(bytes)? {
            (number, []) => Some(AttributeValue::N(number)),
            _ => None,
        },
    }
}

/// Appends order-preserving bytes that know their own end, so that concatenated components sort as tuples do;
/// `None` if the type cannot be a key.
pub fn encode_component(value: &AttributeValue, out: &mut Vec<u8>) -> Option<()> {
    encode_component_prefix(value, out)?;
    if !matches!(value, AttributeValue::N(_)) {
        out.extend_from_slice(&END);
    }
    Some(())
}

/// Appends what the components of all values starting with `value` start with. A number only starts itself.
pub fn encode_component_prefix(value: &AttributeValue, out: &mut Vec<u8>) -> Option<()> {
    match value {
        AttributeValue::S(text) => escape(text.as_bytes(), out),
        AttributeValue::B(bytes) => escape(bytes, out),
        AttributeValue::N(number) => encode_number(number, out),
        _ => return None,
    }
    Some(())
}

/// Reads one component and returns what follows it; `None` if the bytes are not what [`encode_component`] writes.
#[must_use]
pub fn decode_component(kind: ScalarType, bytes: &[u8]) -> Option<(AttributeValue, &[u8])> {
    match kind {
        ScalarType::N => decode_number(bytes).map(|(number, rest)| (AttributeValue::N(number), rest)),
        ScalarType::B => unescape(bytes).map(|(bytes, rest)| (AttributeValue::B(bytes), rest)),
        ScalarType::S => {
            let (bytes, rest) = unescape(bytes)?;
            Some((AttributeValue::S(String::from_utf8(bytes).ok()?), rest))
        }
    }
}

/// What follows one component; `None` if the bytes are not what [`encode_component`] writes. Its value is not
/// decoded.
#[must_use]
pub fn behind_component(kind: ScalarType, bytes: &[u8]) -> Option<&[u8]> {
    if kind == ScalarType::N {
        return decode_number(bytes).map(|(_, rest)| rest);
    }
    let mut rest = bytes;
    loop {
        let zero = rest.iter().position(|byte| *byte == 0)?;
        let (mark, behind) = rest.get(zero..)?.split_at_checked(2)?;
        match mark {
            end if end == END => return Some(behind),
            escaped if escaped == ESCAPED_ZERO => rest = behind,
            _ => return None,
        }
    }
}

/// The first bytes after everything that starts with `prefix`; `None` if nothing comes after.
#[must_use]
pub fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix.get(..=last)?.to_vec();
    *end.last_mut()? += 1;
    Some(end)
}

/// The stable hash that spreads partition keys.
#[must_use]
pub fn hash(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// Appends a number's order-preserving bytes, which know their own end.
pub fn encode_number(number: &Number, out: &mut Vec<u8>) {
    if number.is_zero() {
        out.push(ZERO);
        return;
    }
    let invert = if number.is_negative() { u8::MAX } else { 0 };
    out.push(if number.is_negative() { NEGATIVE } else { POSITIVE });
    out.push((number.magnitude() + MAGNITUDE_BIAS) as u8 ^ invert);
    let mut pairs = [0; PAIRS_MAX];
    let used = split(number, &mut pairs);
    for (at, pair) in used.iter().enumerate() {
        let more = u8::from(at + 1 < used.len());
        out.push((pair * 2 + more) ^ invert);
    }
}

/// Reads a number and returns what follows it; `None` if the bytes are not what [`encode_number`] writes.
#[must_use]
pub fn decode_number(bytes: &[u8]) -> Option<(Number, &[u8])> {
    let (sign, rest) = bytes.split_first()?;
    let invert = match *sign {
        ZERO => return Some((Number::ZERO, rest)),
        POSITIVE => 0,
        NEGATIVE => u8::MAX,
        _ => return None,
    };
    let (magnitude, mut rest) = rest.split_first()?;
    let magnitude = i32::from(magnitude ^ invert) - MAGNITUDE_BIAS;
    let mut coefficient = 0u128;
    for count in 1..=PAIRS_MAX as i32 {
        let (byte, after) = rest.split_first()?;
        rest = after;
        let byte = byte ^ invert;
        let pair = byte / 2;
        if pair > 99 || (count == 1 && pair < 10) {
            return None;
        }
        coefficient = coefficient * 100 + u128::from(pair);
        if byte % 2 == 0 {
            if pair == 0 {
                return None;
            }
            let number = Number::build(invert != 0, coefficient, magnitude + 1 - 2 * count).ok()?;
            return Some((number, rest));
        }
    }
    None
}

/// The digits two by two from the left; an odd last one is followed by a zero.
fn split<'a>(number: &Number, pairs: &'a mut [u8; PAIRS_MAX]) -> &'a [u8] {
    let digits = number.digits() as usize;
    let count = digits.div_ceil(2).min(PAIRS_MAX);
    let mut rest = number.coefficient() * if digits.is_multiple_of(2) { 1 } else { 10 };
    let mut at = count;
    while at > 0 && rest > u128::from(u64::MAX) {
        at -= 1;
        pairs[at] = (rest % 100) as u8;
        rest /= 100;
    }
    let mut rest = rest as u64;
    while at > 0 {
        at -= 1;
        pairs[at] = (rest % 100) as u8;
        rest /= 100;
    }
    &pairs[..count]
}

fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() + END.len());
    let mut parts = bytes.split(|byte| *byte == 0);
    out.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        out.extend_from_slice(&ESCAPED_ZERO);
        out.extend_from_slice(part);
    }
}

fn unescape(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut out = Vec::new();
    let mut rest = bytes;
    loop {
        let zero = rest.iter().position(|byte| *byte == 0)?;
        let (plain, tail) = rest.split_at_checked(zero)?;
        out.extend_from_slice(plain);
        rest = tail.get(2..)?;
        match tail.get(..2)? {
            end if end == END => return Some((out, rest)),
            escaped if escaped == ESCAPED_ZERO => out.push(0),
            _ => return None,
        }
    }
}
