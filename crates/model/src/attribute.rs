//! Attributes of an entity: their constraints, and their text in a key.

pub(crate) mod semver;
mod timestamp;

use std::borrow::Cow;

use trestle_item::{AttributeValue, Item, Number, ScalarType};

use crate::chars::CharSet;
use crate::language::Piece;
use crate::large_value::LargeValue;
use crate::problem::listed;

pub(crate) use timestamp::is_timestamp;
pub use timestamp::{Precision, timestamp_text, timestamp_text_in};

/// The type of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AttributeKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// A truth value.
    Boolean,
    /// Bytes.
    Binary,
    /// Whole seconds since 1970, as DynamoDB's time to live requires.
    EpochSeconds,
    /// `2019-12-30T19:32:14Z`: text in UTC, which sorts by time.
    Timestamp,
    /// A version according to the standard Semantic Versioning 2.0.0, which sorts by precedence.
    Semver,
    /// A list with elements of any type.
    List,
    /// A map with values of any type.
    Map,
    /// A set of texts.
    StringSet,
    /// A set of numbers.
    NumberSet,
    /// A set of byte strings.
    BinarySet,
    /// Bytes that may be more than an item holds. They are stored beside the table; the row has a reference.
    Large,
    /// Whatever it is.
    Any,
}

impl AttributeKind {
    /// Every type, with its name in a model file.
    pub const ALL: [(&'static str, AttributeKind); 15] = [
        ("string", AttributeKind::String),
        ("integer", AttributeKind::Integer),
        ("number", AttributeKind::Number),
        ("boolean", AttributeKind::Boolean),
        ("binary", AttributeKind::Binary),
        ("epoch-seconds", AttributeKind::EpochSeconds),
        ("timestamp", AttributeKind::Timestamp),
        ("semver", AttributeKind::Semver),
        ("list", AttributeKind::List),
        ("map", AttributeKind::Map),
        ("string-set", AttributeKind::StringSet),
        ("number-set", AttributeKind::NumberSet),
        ("binary-set", AttributeKind::BinarySet),
        ("large", AttributeKind::Large),
        ("any", AttributeKind::Any),
    ];

    /// The name in a model file.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, kind)| *kind == self);
        named.map_or("any", |(name, _)| name)
    }

    /// The type of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let named = Self::ALL.iter().find(|(known, _)| *known == name);
        named.map(|(_, kind)| *kind)
    }

    /// The type of key attribute as which DynamoDB stores it, if it can be one.
    #[must_use]
    pub fn scalar_type(self) -> Option<ScalarType> {
        match self {
            Self::String | Self::Timestamp | Self::Semver => Some(ScalarType::S),
            Self::Integer | Self::Number | Self::EpochSeconds => Some(ScalarType::N),
            Self::Binary => Some(ScalarType::B),
            _ => None,
        }
    }

    /// Whether it is stored as a number.
    #[must_use]
    pub fn is_numeric(self) -> bool {
        matches!(self, Self::Integer | Self::Number | Self::EpochSeconds)
    }

    /// Whether a value of this type is determined by its text.
    pub(crate) fn has_text(self) -> bool {
        self == Self::Boolean || matches!(self.scalar_type(), Some(ScalarType::S | ScalarType::N))
    }

    /// Whether values of this type have an order.
    #[must_use]
    pub fn is_ordered(self) -> bool {
        self.scalar_type().is_some()
    }

    fn holds(self, value: &AttributeValue) -> bool {
        match (self, value) {
            (Self::Integer, AttributeValue::N(number)) => is_integer(number),
            (Self::EpochSeconds, AttributeValue::N(number)) => is_integer(number) && !number.is_negative(),
            (kind, AttributeValue::S(text)) => kind.holds_text(text),
            (Self::Large, value) => LargeValue::from_value(value).is_ok(),
            (Self::Number, AttributeValue::N(_))
            | (Self::Boolean, AttributeValue::Bool(_))
            | (Self::Binary, AttributeValue::B(_))
            | (Self::List, AttributeValue::L(_))
            | (Self::Map, AttributeValue::M(_))
            | (Self::StringSet, AttributeValue::Ss(_))
            | (Self::NumberSet, AttributeValue::Ns(_))
            | (Self::BinarySet, AttributeValue::Bs(_))
            | (Self::Any, _) => true,
            _ => false,
        }
    }
}

impl AttributeKind {
    fn holds_text(self, text: &str) -> bool {
        match self {
            Self::String | Self::Any => true,
            Self::Timestamp => is_timestamp(text),
            Self::Semver => semver::parse(text).is_ok(),
            _ => false,
        }
    }
}

fn is_integer(number: &Number) -> bool {
    number.to_i64().is_some() || !number.to_string().contains('.')
}

/// An attribute of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name in the item.
    pub name: String,
    /// Its type.
    pub kind: AttributeKind,
    /// Whether an item may lack it.
    pub optional: bool,
    /// Its value where the item lacks it.
    pub default: Option<AttributeValue>,
    /// The only values it may have; empty for all.
    pub one_of: Vec<AttributeValue>,
    /// Whether it may never change once written.
    pub immutable: bool,
    /// The minimum and the maximum number of characters of a text.
    pub length: Option<(usize, usize)>,
    /// The characters a text may have, as in the file.
    pub chars: Option<String>,
    /// How many digits every timestamp has after the decimal point; `None` if no key contains it, so that
    /// this is not decided.
    pub precision: Option<Precision>,
    pub(crate) set: Option<CharSet>,
}

impl Attribute {
    /// A required attribute without further conditions.
    #[must_use]
    pub fn new(name: impl Into<String>, kind: AttributeKind) -> Self {
        Attribute {
            name: name.into(),
            kind,
            optional: false,
            default: None,
            one_of: Vec::new(),
            immutable: false,
            length: None,
            chars: None,
            precision: None,
            set: None,
        }
    }

    /// Whether the attribute may be `value`; the error completes a sentence about the attribute.
    pub fn check(&self, value: &AttributeValue) -> Result<(), String> {
        if let AttributeValue::S(text) = value {
            return self.check_str(text);
        }
        if self.kind == AttributeKind::Large {
            let reference = LargeValue::from_value(value);
            reference.map_err(|fault| format!("{}: {fault}", self.mistyped(&shown(value))))?;
        } else if !self.kind.holds(value) {
            return Err(self.mistyped(&shown(value)));
        }
        if !self.one_of.is_empty() && !self.one_of.contains(value) {
            return Err(self.not_allowed(&shown(value)));
        }
        Ok(())
    }

    /// The same for a text.
    pub(crate) fn check_str(&self, text: &str) -> Result<(), String> {
        if self.kind == AttributeKind::Semver {
            let parsed = semver::parse(text);
            parsed.map_err(|fault| format!("{}: {fault}", self.mistyped(&shown_text(text))))?;
        } else if !self.kind.holds_text(text) {
            return Err(self.mistyped(&shown_text(text)));
        }
        let is_allowed = |allowed: &AttributeValue| allowed.as_s() == Some(text);
        if !self.one_of.is_empty() && !self.one_of.iter().any(is_allowed) {
            return Err(self.not_allowed(&shown_text(text)));
        }
        self.check_text(text)
    }

    fn mistyped(&self, shown: &str) -> String {
        format!("must be {}, but is {shown}", self.wanted())
    }

    fn not_allowed(&self, shown: &str) -> String {
        let allowed: Vec<String> = self.one_of.iter().map(plain).collect();
        let allowed = listed(allowed.iter().map(String::as_str));
        format!("must be one of {allowed}, but is {shown}")
    }

    /// The type that a value should have had.
    fn wanted(&self) -> String {
        match self.kind {
            AttributeKind::Timestamp => {
                let example = self.precision.unwrap_or(Precision::Millis).example();
                format!("a timestamp in UTC, which ends with Z, such as {example:?}")
            }
            AttributeKind::Semver => "a semantic version (semver 2.0.0), such as \"1.4.0-rc.1\"".to_owned(),
            AttributeKind::Large => {
                "a reference to a large value, with id, size, parts and sha256".to_owned()
            }
            kind => format!("of type {}", kind.name()),
        }
    }

    /// A moment as a value of this attribute.
    #[must_use]
    pub fn time(&self, now_ms: u64) -> AttributeValue {
        if self.kind == AttributeKind::EpochSeconds {
            AttributeValue::N(Number::from(now_ms / 1000))
        } else {
            let precision = self.precision.unwrap_or(Precision::Millis);
            AttributeValue::S(timestamp_text_in(now_ms, precision))
        }
    }

    /// A value to compare with: a timestamp coarser than the attribute's means the beginning of its period.
    pub(crate) fn compared<'v>(&self, value: &'v AttributeValue) -> Cow<'v, AttributeValue> {
        let padded = self
            .precision
            .zip(value.as_s())
            .and_then(|(precision, text)| precision.of_moment(text).filter(|padded| padded != text));
        match padded {
            Some(padded) => Cow::Owned(AttributeValue::S(padded)),
            None => Cow::Borrowed(value),
        }
    }

    /// Timestamps of several precisions do not sort by time.
    fn check_precision(&self, text: &str) -> Result<(), String> {
        let Some(precision) = self.precision else {
            return Ok(());
        };
        if text.len() == precision.length() {
            return Ok(());
        }
        let written = match precision.of_moment(text) {
            Some(written) => format!("write {written:?}"),
            None => format!("write at most {} digits", precision.digits()),
        };
        let other = Precision::that_holds(text).filter(|other| *other != precision);
        let declared = other.map_or(String::new(), |other| {
            format!(", or declare the attribute with precision = {:?}", other.name())
        });
        Err(format!(
            "has the precision {:?}, so that its texts sort by time, but is the string {text:?}; {written}{declared}",
            precision.name()
        ))
    }

    fn check_text(&self, text: &str) -> Result<(), String> {
        self.check_precision(text)?;
        if let Some(set) = &self.set
            && let Some(bad) = text.chars().find(|c| !set.contains(*c))
        {
            let chars = self.chars.as_deref().unwrap_or_default();
            return Err(format!(
                "may only contain the characters {chars}, but {text:?} contains {bad:?}"
            ));
        }
        let Some((min, max)) = self.length else {
            return Ok(());
        };
        let length = text.chars().count();
        if (min..=max).contains(&length) {
            Ok(())
        } else if min == max {
            Err(format!("must be {min} characters long, but {text:?} is {length}"))
        } else {
            Err(format!(
                "must be {min} to {max} characters long, but {text:?} is {length}"
            ))
        }
    }

    /// The length in characters of all its texts, if they have the same length.
    pub(crate) fn fixed_length(&self) -> Option<usize> {
        if !self.one_of.is_empty() {
            let mut lengths = self.one_of.iter().map(|value| self.in_key(value).chars().count());
            let first = lengths.next()?;
            return lengths.all(|length| length == first).then_some(first);
        }
        if let Some(precision) = self.precision {
            return Some(precision.length());
        }
        let (min, max) = self.length?;
        (min == max && self.kind == AttributeKind::String).then_some(min)
    }

    /// A value as text in a key, before it is padded, escaped or folded.
    pub(crate) fn in_key(&self, value: &AttributeValue) -> String {
        let version = match (self.kind, value) {
            (AttributeKind::Semver, AttributeValue::S(text)) => semver::parse(text).ok(),
            _ => None,
        };
        version.map_or_else(|| plain(value), |version| semver::key_text(&version))
    }

    /// The texts that it can have in a key, before separators are excluded.
    pub(crate) fn piece(&self) -> Piece {
        if !self.one_of.is_empty() {
            return Piece::OneOf(self.one_of.iter().map(|value| self.in_key(value)).collect());
        }
        match self.kind {
            AttributeKind::Integer | AttributeKind::Number | AttributeKind::EpochSeconds => Piece::Repeat {
                set: CharSet::of(number_characters(self.kind)),
                min: 1,
                max: None,
            },
            AttributeKind::Boolean => Piece::OneOf(vec!["true".to_owned(), "false".to_owned()]),
            AttributeKind::Timestamp => Piece::Repeat {
                set: CharSet::of("0123456789-:.TZ"),
                min: self.precision.map_or(20, Precision::length),
                max: self.precision.map(Precision::length),
            },
            AttributeKind::Semver => Piece::Repeat {
                set: semver::key_characters(),
                min: semver::KEY_CHARS_MIN,
                max: None,
            },
            _ => {
                let (min, max) = self
                    .length
                    .map_or((1, None), |(min, max)| (min.max(1), Some(max)));
                Piece::Repeat {
                    set: self.set.clone().unwrap_or_else(CharSet::any),
                    min,
                    max,
                }
            }
        }
    }
}

fn number_characters(kind: AttributeKind) -> &'static str {
    match kind {
        AttributeKind::EpochSeconds => "0123456789",
        AttributeKind::Integer => "0123456789-",
        _ => "0123456789-.",
    }
}

/// A scalar as it is written in a key.
pub(crate) fn plain(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        AttributeValue::N(number) => number.to_string(),
        AttributeValue::Bool(truth) => truth.to_string(),
        other => format!("<{}>", other.type_name()),
    }
}

/// Attributes with their values in a message: `id "a", n "1"`.
pub(crate) fn said(item: &Item) -> String {
    let said: Vec<String> = item
        .iter()
        .map(|(name, value)| format!("{name} {:?}", plain(value)))
        .collect();
    said.join(", ")
}

/// A value in a message: what it is, and of which type.
pub(crate) fn shown(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => shown_text(text),
        AttributeValue::N(number) => format!("the number {number}"),
        AttributeValue::Bool(truth) => format!("the boolean {truth}"),
        other => format!("of type {}", other.type_name()),
    }
}

fn shown_text(text: &str) -> String {
    format!("the string {:?}", shortened(text))
}

/// Keeps messages readable, whatever is in the item.
fn shortened(text: &str) -> String {
    const SHOWN_MAX: usize = 80;
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_holds_its_own_values_and_no_others() {
        let text = AttributeValue::from("x");
        let half = AttributeValue::N(Number::parse("0.5").unwrap());
        let minus = AttributeValue::from(-1_i64);
        let time = AttributeValue::from("2019-12-30T19:32:14Z");
        for (kind, yes, no) in [
            (AttributeKind::String, &text, &half),
            (AttributeKind::Integer, &minus, &half),
            (AttributeKind::Number, &half, &text),
            (AttributeKind::EpochSeconds, &AttributeValue::from(7_i64), &minus),
            (AttributeKind::Timestamp, &time, &text),
            (AttributeKind::Semver, &AttributeValue::from("1.0.0-rc.1"), &text),
            (AttributeKind::Semver, &AttributeValue::from("1.0.0"), &minus),
            (AttributeKind::Boolean, &AttributeValue::Bool(true), &text),
            (AttributeKind::List, &AttributeValue::L(Vec::new()), &text),
        ] {
            let attribute = Attribute::new("a", kind);
            assert_eq!(attribute.check(yes), Ok(()), "{kind:?}");
            assert!(attribute.check(no).unwrap_err().contains(kind.name()), "{kind:?}");
        }
    }

    #[test]
    fn a_huge_whole_number_is_an_integer() {
        let attribute = Attribute::new("a", AttributeKind::Integer);
        let huge = AttributeValue::N(Number::parse("1E+100").unwrap());
        assert_eq!(attribute.check(&huge), Ok(()));
    }

    #[test]
    fn conditions_on_text_say_what_is_wrong() {
        let mut attribute = Attribute::new("id", AttributeKind::String);
        attribute.chars = Some("0-9a-f".to_owned());
        attribute.set = CharSet::parse("0-9a-f").ok();
        attribute.length = Some((7, 7));
        assert_eq!(attribute.check(&"538235b".into()), Ok(()));
        assert!(
            attribute
                .check(&"contact".into())
                .unwrap_err()
                .contains("contains 'o'")
        );
        assert!(
            attribute
                .check(&"53".into())
                .unwrap_err()
                .contains("7 characters long")
        );
    }
}
