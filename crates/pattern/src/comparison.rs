//! The comparisons of a single value.

use crate::cidr::Cidr;
use crate::fold::Folded;
use crate::numeric::{Range, order};
use crate::wildcard::Wildcard;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// One of a field's alternatives that concern a value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Comparison {
    /// `{"exists": true}`: any value.
    Anything,
    Null,
    Bool(bool),
    Number(Number),
    Range(Range),
    Text(Text),
    Cidr(Cidr),
    /// No text of this list; values of other types pass.
    NoText(Vec<Text>),
    /// None of these numbers; values of other types pass.
    NoNumber(Vec<Number>),
}

/// A comparison with a text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Text {
    Equals(String),
    EqualsIgnoreCase(Folded),
    Prefix(String),
    PrefixIgnoreCase(Folded),
    Suffix(String),
    SuffixIgnoreCase(Folded),
    Wildcard(Wildcard),
}

impl Comparison {
    /// Whether a value that is neither object nor array passes.
    pub(crate) fn holds(&self, value: &Value) -> bool {
        match self {
            Comparison::Anything => true,
            Comparison::Null => value.is_null(),
            Comparison::Bool(wanted) => value.as_bool() == Some(*wanted),
            Comparison::Number(wanted) => equals(wanted, value),
            Comparison::Range(range) => matches!(value, Value::Number(number) if range.contains(number)),
            Comparison::Text(text) => value.as_str().is_some_and(|value| text.holds(value)),
            Comparison::Cidr(range) => value.as_str().is_some_and(|value| range.contains(value)),
            Comparison::NoText(texts) => value
                .as_str()
                .is_none_or(|value| !texts.iter().any(|text| text.holds(value))),
            Comparison::NoNumber(numbers) => !numbers.iter().any(|unwanted| equals(unwanted, value)),
        }
    }
}

impl Text {
    fn holds(&self, value: &str) -> bool {
        match self {
            Text::Equals(wanted) => value == wanted,
            Text::EqualsIgnoreCase(wanted) => wanted.equals(value),
            Text::Prefix(wanted) => value.starts_with(wanted.as_str()),
            Text::PrefixIgnoreCase(wanted) => wanted.begins(value),
            Text::Suffix(wanted) => value.ends_with(wanted.as_str()),
            Text::SuffixIgnoreCase(wanted) => wanted.ends(value),
            Text::Wildcard(wanted) => wanted.matches(value),
        }
    }
}

fn equals(wanted: &Number, value: &Value) -> bool {
    matches!(value, Value::Number(number) if order(wanted, number) == Ordering::Equal)
}
