//! The ten attribute types.

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

    /// A set of texts. Refuses emptiness and duplicates in DynamoDB's words.
    pub fn string_set(members: Vec<String>) -> Result<Self, ValueError> {
        Ok(Self::Ss(set(members, "An string set  may not be empty", |m| {
            m.join(", ")
        })?))
    }

    /// A set of numbers. Refuses emptiness and duplicates in DynamoDB's words.
    pub fn number_set(members: Vec<Number>) -> Result<Self, ValueError> {
        Ok(Self::Ns(set(members, "An number set  may not be empty", |m| {
            m.iter().map(Number::to_string).collect::<Vec<_>>().join(", ")
        })?))
    }

    /// A set of byte strings. Refuses emptiness and duplicates in DynamoDB's words.
    pub fn binary_set(members: Vec<Vec<u8>>) -> Result<Self, ValueError> {
        Ok(Self::Bs(set(members, "Binary sets should not be empty", |m| {
            m.iter()
                .map(|b| crate::serde_json_form::to_base64(b))
                .collect::<Vec<_>>()
                .join(", ")
        })?))
    }
}

/// Sorts and checks the members of a set; `show` renders them for the message about duplicates.
fn set<T: Ord + Clone>(
    members: Vec<T>,
    when_empty: &str,
    show: impl FnOnce(&[T]) -> String,
) -> Result<Vec<T>, ValueError> {
    if members.is_empty() {
        return Err(ValueError::Invalid(format!(
            "One or more parameter values were invalid: {when_empty}"
        )));
    }
    let mut sorted = members.clone();
    sorted.sort();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(ValueError::Invalid(format!(
            "One or more parameter values were invalid: Input collection [{}] contains duplicates.",
            show(&members)
        )));
    }
    Ok(sorted)
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
