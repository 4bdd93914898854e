//! Serialising values.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::to_base64;
use crate::number::Text;
use crate::{AttributeValue, Map, Number};

impl Serialize for AttributeValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        let tag = self.type_name();
        match self {
            Self::S(text) => map.serialize_entry(tag, text)?,
            Self::N(number) => map.serialize_entry(tag, number)?,
            Self::B(bytes) => map.serialize_entry(tag, &Base64(bytes))?,
            Self::Bool(truth) => map.serialize_entry(tag, truth)?,
            Self::Null => map.serialize_entry(tag, &true)?,
            Self::M(inner) => map.serialize_entry(tag, inner)?,
            Self::L(list) => map.serialize_entry(tag, list)?,
            Self::Ss(set) => map.serialize_entry(tag, set)?,
            Self::Ns(set) => map.serialize_entry(tag, set)?,
            Self::Bs(set) => map.serialize_entry(tag, &Base64Set(set))?,
        }
        map.end()
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

/// A number is text on the wire, so that no reader rounds it.
impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Text::of(self).as_str())
    }
}

struct Base64<'a>(&'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&to_base64(self.0))
    }
}

struct Base64Set<'a>(&'a [Vec<u8>]);

impl Serialize for Base64Set<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|bytes| Base64(bytes)))
    }
}
