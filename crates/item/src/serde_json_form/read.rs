//! Deserialising values.

use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::{NESTING_MAX, VALIDATION_MARK, from_base64};
use crate::{AttributeValue, Map, Number, name_problem};

const EMPTY: &str = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
const TWO_TYPES: &str = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes";
const NULL_FALSE: &str =
    "One or more parameter values were invalid: Null attribute value types must have the value of true";
const TOO_DEEP: &str = "Nesting Levels have exceeded supported limits: \
     Attributes in the item have nested levels beyond supported limit";

/// An error that is DynamoDB's `ValidationException` with this text.
fn refuse<E: de::Error>(message: impl fmt::Display) -> E {
    E::custom(format_args!("{VALIDATION_MARK}{message}"))
}

impl<'de> Deserialize<'de> for AttributeValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ValueSeed { depth: 0 }.deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapSeed { depth: 0 })
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(NumberVisitor)
    }
}

/// Reads one value, nested in `depth` maps and lists.
#[derive(Clone, Copy)]
struct ValueSeed {
    depth: usize,
}

impl ValueSeed {
    /// For values inside this one. The item itself is a level.
    fn deeper<E: de::Error>(self) -> Result<usize, E> {
        if self.depth + 1 >= NESTING_MAX {
            Err(refuse(TOO_DEEP))
        } else {
            Ok(self.depth + 1)
        }
    }

    fn typed<'de, A: MapAccess<'de>>(
        self,
        tag: Tag,
        entries: &mut A,
    ) -> Result<Option<AttributeValue>, A::Error> {
        Ok(match tag {
            Tag::S => entries.next_value::<Option<String>>()?.map(AttributeValue::S),
            Tag::N => entries.next_value::<Option<Number>>()?.map(AttributeValue::N),
            Tag::B => entries
                .next_value::<Option<Base64>>()?
                .map(|Base64(bytes)| AttributeValue::B(bytes)),
            Tag::Bool => entries
                .next_value::<Option<Truth>>()?
                .map(|Truth(truth)| AttributeValue::Bool(truth)),
            Tag::Null => match entries.next_value::<Option<Truth>>()? {
                Some(Truth(false)) => return Err(refuse(NULL_FALSE)),
                some => some.map(|_| AttributeValue::Null),
            },
            Tag::M => {
                let inner = MapSeed {
                    depth: self.deeper()?,
                };
                entries.next_value_seed(OptionSeed(inner))?.map(AttributeValue::M)
            }
            Tag::L => {
                let inner = ListSeed {
                    depth: self.deeper()?,
                };
                entries.next_value_seed(OptionSeed(inner))?.map(AttributeValue::L)
            }
            Tag::Ss => set(entries, AttributeValue::string_set)?,
            Tag::Ns => set(entries, AttributeValue::number_set)?,
            Tag::Bs => set(entries, |members: Vec<Base64>| {
                AttributeValue::binary_set(members.into_iter().map(|Base64(bytes)| bytes).collect())
            })?,
            Tag::Unknown => {
                entries.next_value::<IgnoredAny>()?;
                None
            }
        })
    }
}

fn set<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    entries: &mut A,
    build: impl FnOnce(Vec<T>) -> Result<AttributeValue, crate::ValueError>,
) -> Result<Option<AttributeValue>, A::Error> {
    entries
        .next_value::<Option<Vec<T>>>()?
        .map(build)
        .transpose()
        .map_err(refuse)
}

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = AttributeValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<AttributeValue, D::Error> {
        // "any" rather than "map", so that a `null` is distinguished from other wrong types.
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = AttributeValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute value, such as {\"S\": \"text\"}")
    }

    fn visit_unit<E: de::Error>(self) -> Result<AttributeValue, E> {
        Err(refuse(EMPTY))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<AttributeValue, A::Error> {
        let mut found = None;
        let mut several = false;
        while let Some(tag) = entries.next_key::<Tag>()? {
            let Some(value) = self.typed(tag, &mut entries)? else {
                continue;
            };
            // A type given twice is a JSON object with a repeated name, where the last one counts.
            several |= found.as_ref().is_some_and(|other: &AttributeValue| {
                std::mem::discriminant(other) != std::mem::discriminant(&value)
            });
            found = Some(value);
        }
        // Checked last: a mistake in one of the values is reported before the presence of two.
        if several {
            return Err(refuse(TWO_TYPES));
        }
        found.ok_or_else(|| refuse(EMPTY))
    }
}

/// The name of a type, read without keeping the text.
#[derive(Clone, Copy)]
enum Tag {
    S,
    N,
    B,
    Bool,
    Null,
    M,
    L,
    Ss,
    Ns,
    Bs,
    /// DynamoDB ignores members it does not know.
    Unknown,
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(TagVisitor)
    }
}

struct TagVisitor;

impl Visitor<'_> for TagVisitor {
    type Value = Tag;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of an attribute type")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Tag, E> {
        Ok(match name {
            "S" => Tag::S,
            "N" => Tag::N,
            "B" => Tag::B,
            "BOOL" => Tag::Bool,
            "NULL" => Tag::Null,
            "M" => Tag::M,
            "L" => Tag::L,
            "SS" => Tag::Ss,
            "NS" => Tag::Ns,
            "BS" => Tag::Bs,
            _ => Tag::Unknown,
        })
    }
}

/// `null` for "not there", as the AWS SDKs send it.
struct OptionSeed<T>(T);

impl<'de, T: DeserializeSeed<'de>> DeserializeSeed<'de> for OptionSeed<T> {
    type Value = Option<T::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: DeserializeSeed<'de>> Visitor<'de> for OptionSeed<T> {
    type Value = Option<T::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map or a list")
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

/// Reads the attributes of a map; `depth` counts it.
struct MapSeed {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for MapSeed {
    type Value = Map;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Map, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MapSeed {
    type Value = Map;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of attribute values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Map, A::Error> {
        let mut collected = Vec::new();
        while let Some(name) = entries.next_key::<String>()? {
            if let Some(problem) = name_problem(&name) {
                return Err(refuse(problem));
            }
            collected.push((name, entries.next_value_seed(ValueSeed { depth: self.depth })?));
        }
        Ok(Map::from_unsorted(collected))
    }
}

/// Reads the elements of a list; `depth` counts it.
struct ListSeed {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for ListSeed {
    type Value = Vec<AttributeValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ListSeed {
    type Value = Vec<AttributeValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of attribute values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(ValueSeed { depth: self.depth })? {
            list.push(element);
        }
        Ok(list)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number as text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
        Number::parse(text).map_err(refuse)
    }
}

/// Bytes, base64 on the wire.
struct Base64(Vec<u8>);

impl<'de> Deserialize<'de> for Base64 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Base64Visitor)
    }
}

struct Base64Visitor;

impl Visitor<'_> for Base64Visitor {
    type Value = Base64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes in base64")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Base64, E> {
        from_base64(text).map(Base64).map_err(E::custom)
    }
}

/// A truth value, which DynamoDB also takes as text.
struct Truth(bool);

impl<'de> Deserialize<'de> for Truth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TruthVisitor)
    }
}

struct TruthVisitor;

impl Visitor<'_> for TruthVisitor {
    type Value = Truth;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true or false")
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Truth, E> {
        Ok(Truth(truth))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Truth, E> {
        let is_one_of = |words: [&str; 3]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        if is_one_of(["true", "1", "yes"]) {
            Ok(Truth(true))
        } else if is_one_of(["false", "0", "no"]) {
            Ok(Truth(false))
        } else {
            Err(E::invalid_value(de::Unexpected::Str(text), &self))
        }
    }
}
