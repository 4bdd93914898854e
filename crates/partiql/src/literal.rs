//! Attribute values printed as PartiQL literals.

use std::fmt::{self, Write};

use trestle_item::{AttributeValue, Map};

/// `value` as a literal that reads back as the same value.
///
/// Binary values have no literal in DynamoDB's PartiQL; they are given as parameters. `None` if `value` is or
/// holds one.
#[must_use]
pub fn literal(value: &AttributeValue) -> Option<String> {
    let mut text = String::new();
    write_value(value, &mut text).ok()?;
    Some(text)
}

/// A name in double quotes, so that keywords and signs in it have no meaning.
#[must_use]
pub fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn write_value(value: &AttributeValue, out: &mut String) -> fmt::Result {
    match value {
        AttributeValue::S(text) => write_text(text, out),
        AttributeValue::N(number) => write!(out, "{number}"),
        AttributeValue::Bool(truth) => write!(out, "{truth}"),
        AttributeValue::Null => out.write_str("null"),
        AttributeValue::M(map) => write_map(map, out),
        AttributeValue::L(list) => enclosed("[", list, "]", out, write_value),
        AttributeValue::Ss(texts) => enclosed("<<", texts, ">>", out, |text, out| write_text(text, out)),
        AttributeValue::Ns(numbers) => {
            enclosed("<<", numbers, ">>", out, |number, out| write!(out, "{number}"))
        }
        AttributeValue::B(_) | AttributeValue::Bs(_) => Err(fmt::Error),
    }
}

fn write_text(text: &str, out: &mut String) -> fmt::Result {
    write!(out, "'{}'", text.replace('\'', "''"))
}

fn write_map(map: &Map, out: &mut String) -> fmt::Result {
    enclosed("{", map, "}", out, |(name, value), out| {
        write_text(name, out)?;
        out.write_str(": ")?;
        write_value(value, out)
    })
}

fn enclosed<T>(
    open: &str,
    members: impl IntoIterator<Item = T>,
    close: &str,
    out: &mut String,
    write_one: impl Fn(T, &mut String) -> fmt::Result,
) -> fmt::Result {
    out.write_str(open)?;
    for (at, member) in members.into_iter().enumerate() {
        if at > 0 {
            out.write_str(", ")?;
        }
        write_one(member, out)?;
    }
    out.write_str(close)
}
