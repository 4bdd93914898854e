//! Items as plain JSON, without DynamoDB's type tags, for people and other programs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

use crate::{AttributeValue, Map, Number};

/// An item or a map without type tags. Sets are arrays and bytes are base64; a number that floating point
/// would round is a text.
#[derive(Clone, Copy, Debug)]
pub struct Plain<'a>(pub &'a Map);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, PlainValue(value))))
    }
}

struct PlainValue<'a>(&'a AttributeValue);

impl Serialize for PlainValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            AttributeValue::S(text) => serializer.serialize_str(text),
            AttributeValue::N(number) => PlainNumber(number).serialize(serializer),
            AttributeValue::B(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            AttributeValue::Bool(truth) => serializer.serialize_bool(*truth),
            AttributeValue::Null => serializer.serialize_unit(),
            AttributeValue::M(map) => Plain(map).serialize(serializer),
            AttributeValue::L(list) => serializer.collect_seq(list.iter().map(PlainValue)),
            AttributeValue::Ss(set) => serializer.collect_seq(set),
            AttributeValue::Ns(set) => serializer.collect_seq(set.iter().map(PlainNumber)),
            AttributeValue::Bs(set) => serializer.collect_seq(set.iter().map(|bytes| STANDARD.encode(bytes))),
        }
    }
}

/// A JSON number where it is exact, text where it would be rounded.
struct PlainNumber<'a>(&'a Number);

impl Serialize for PlainNumber<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(whole) = self.0.to_i64() {
            return serializer.serialize_i64(whole);
        }
        let near = self.0.to_f64();
        match Number::parse(&near.to_string()) {
            Ok(number) if number == *self.0 => serializer.serialize_f64(near),
            _ => serializer.serialize_str(&self.0.to_string()),
        }
    }
}
