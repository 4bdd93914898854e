//! The ten attribute types.

use std::cmp::Ordering;

use crate::serde_json_form::to_base64;
use crate::{Map, Number, NumberError};

/// One attribute's value.
///
/// Sets are kept sorted and without duplicates, so that two equal sets are equal vectors; build them with
/// [`AttributeValue::string_set`] and its siblings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// Text.
    S(String),
    /// A number of up to 38 significant digits.
    N(Number),
    /// Bytes.
    B(Vec<u8>),
    /// A truth value.
    Bool(bool),
    /// The null value.
    Null,
    /// A map.
    M(Map),
    /// A list.
    L(Vec<AttributeValue>),
    /// A set of texts, sorted.
    Ss(Vec<String>),
    /// A set of numbers, sorted.
    Ns(Vec<Number>),
    /// A set of byte strings, sorted.
    Bs(Vec<Vec<u8>>),
}

/// The types a key attribute may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum ScalarType {
    /// Text, ordered by its UTF-8 bytes.
    S,
    /// Number, ordered by value.
    N,
    /// Bytes, ordered as unsigned bytes.
    B,
}

impl ScalarType {
    /// The type's one-letter name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
        }
    }
}

/// Why a value cannot exist. The texts are DynamoDB's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// A number out of bounds or not a number.
    #[error(transparent)]
    Number(#[from] NumberError),
    /// Anything else, already in DynamoDB's words.
    #[error("{0}")]
    Invalid(String),
}

impl AttributeValue {
    /// The type's wire name: `S`, `N`, `B`, `BOOL`, `NULL`, `M`, `L`, `SS`, `NS` or `BS`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::S(_) => "S",
            Self::N(_) => "N",
            Self::B(_) => "B",
            Self::Bool(_) => "BOOL",
            Self::Null => "NULL",
            Self::M(_) => "M",
            Self::L(_) => "L",
            Self::Ss(_) => "SS",
            Self::Ns(_) => "NS",
            Self::Bs(_) => "BS",
        }
    }

    /// The scalar type, if this value could be a key.
    #[must_use]
    pub fn scalar_type(&self) -> Option<ScalarType> {
        match self {
            Self::S(_) => Some(ScalarType::S),
            Self::N(_) => Some(ScalarType::N),
            Self::B(_) => Some(ScalarType::B),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_s(&self) -> Option<&str> {
        if let Self::S(text) = self {
            Some(text)
        } else {
            None
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn as_n(&self) -> Option<&Number> {
        if let Self::N(number) = self {
            Some(number)
        } else {
            None
        }
    }

    /// The map, if it is one.
    #[must_use]
    pub fn as_m(&self) -> Option<&Map> {
        if let Self::M(map) = self { Some(map) } else { None }
    }

    /// The bytes, if it is bytes.
    #[must_use]
    pub fn as_b(&self) -> Option<&[u8]> {
        if let Self::B(bytes) = self {
            Some(bytes)
        } else {
            None
        }
    }

    /// The list, if it is one.
    #[must_use]
    pub fn as_l(&self) -> Option<&[AttributeValue]> {
        if let Self::L(list) = self {
            Some(list)
        } else {
            None
        }
    }

    /// The truth value, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(truth) = self {
            Some(*truth)
        } else {
            None
        }
    }

    /// The order of two values of the same scalar type; `None` for all others, which have no order.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::S(one), Self::S(two)) => Some(one.cmp(two)),
            (Self::N(one), Self::N(two)) => Some(one.cmp(two)),
            (Self::B(one), Self::B(two)) => Some(one.cmp(two)),
            _ => None,
        }
    }

    /// Whether at most `levels` maps and lists are nested here. Examines no deeper levels.
    #[must_use]
    pub fn nests_within(&self, levels: usize) -> bool {
        match self {
            Self::M(map) => levels > 0 && map.values().all(|inner| inner.nests_within(levels - 1)),
            Self::L(list) => levels > 0 && list.iter().all(|inner| inner.nests_within(levels - 1)),
            _ => true,
        }
    }

    /// A set of texts. Refuses emptiness and duplicates in DynamoDB's words.
    pub fn string_set(members: Vec<String>) -> Result<Self, ValueError> {
        refuse_empty(&members, "An string set  may not be empty")?;
        if has_duplicates(&members) {
            return Err(invalid(format_args!(
                "Input collection [{}] contains duplicates.",
                members.join(", ")
            )));
        }
        Ok(Self::Ss(sorted(members)))
    }

    /// A set of numbers. Refuses emptiness and duplicates in DynamoDB's words.
    pub fn number_set(members: Vec<Number>) -> Result<Self, ValueError> {
        refuse_empty(&members, "An number set  may not be empty")?;
        if has_duplicates(&members) {
            return Err(ValueError::Invalid(
                "Input collection contains duplicates".to_owned(),
            ));
        }
        Ok(Self::Ns(sorted(members)))
    }

    /// A set of byte strings. Refuses emptiness and duplicates in DynamoDB's words.
    pub fn binary_set(members: Vec<Vec<u8>>) -> Result<Self, ValueError> {
        refuse_empty(&members, "Binary sets should not be empty")?;
        if has_duplicates(&members) {
            let shown: Vec<String> = members.iter().map(|bytes| to_base64(bytes)).collect();
            return Err(invalid(format_args!(
                "Input collection [{}]of type BS contains duplicates.",
                shown.join(", ")
            )));
        }
        Ok(Self::Bs(sorted(members)))
    }
}

fn invalid(what: std::fmt::Arguments<'_>) -> ValueError {
    ValueError::Invalid(format!("One or more parameter values were invalid: {what}"))
}

fn refuse_empty<T>(members: &[T], message: &str) -> Result<(), ValueError> {
    if members.is_empty() {
        Err(invalid(format_args!("{message}")))
    } else {
        Ok(())
    }
}

/// Looks at references, because the message about duplicates shows the members in the order they came.
fn has_duplicates<T: Ord>(members: &[T]) -> bool {
    if members.is_sorted_by(|one, two| one < two) {
        return false;
    }
    let mut references: Vec<&T> = members.iter().collect();
    references.sort_unstable();
    references.windows(2).any(|pair| pair[0] == pair[1])
}

fn sorted<T: Ord>(mut members: Vec<T>) -> Vec<T> {
    members.sort_unstable();
    members
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::S(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::S(text)
    }
}

impl From<bool> for AttributeValue {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<Number> for AttributeValue {
    fn from(number: Number) -> Self {
        Self::N(number)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::N(Number::from(number))
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::N(Number::from(number))
    }
}

impl From<Vec<u8>> for AttributeValue {
    fn from(bytes: Vec<u8>) -> Self {
        Self::B(bytes)
    }
}

impl From<Map> for AttributeValue {
    fn from(map: Map) -> Self {
        Self::M(map)
    }
}

impl From<Vec<AttributeValue>> for AttributeValue {
    fn from(list: Vec<AttributeValue>) -> Self {
        Self::L(list)
    }
}
