//! Values given as text, the only form on a command line and in a JSON request.

use trestle_api::Error;
use trestle_item::{AttributeValue, Number, ScalarType, from_base64};
use trestle_model::{Attribute, AttributeKind};

/// A value of a key attribute. A text is converted to a number, or from base64 to bytes, depending on the
/// key.
pub(crate) fn key_value(
    name: &str,
    kind: ScalarType,
    given: AttributeValue,
) -> Result<AttributeValue, Error> {
    let value = match (kind, given) {
        (ScalarType::N, AttributeValue::S(text)) => number(name, &text)?,
        (ScalarType::B, AttributeValue::S(text)) => bytes(name, &text)?,
        (_, given) => given,
    };
    let is_empty = match &value {
        AttributeValue::S(text) => text.is_empty(),
        AttributeValue::B(bytes) => bytes.is_empty(),
        _ => false,
    };
    if is_empty {
        return Err(Error::validation(format!(
            "The value for key {name} is empty; give one, or leave it out"
        )));
    }
    let is_such = matches!(
        (kind, &value),
        (ScalarType::S, AttributeValue::S(_))
            | (ScalarType::N, AttributeValue::N(_))
            | (ScalarType::B, AttributeValue::B(_))
    );
    match is_such {
        true => Ok(value),
        false => Err(Error::validation(format!(
            "Key {name} is of type {}, and the value given for it is of type {}",
            kind.name(),
            value.type_name()
        ))),
    }
}

/// A value of a parameter.
pub(crate) fn parameter(
    name: &str,
    kind: AttributeKind,
    given: AttributeValue,
) -> Result<AttributeValue, Error> {
    if let AttributeValue::S(text) = given {
        return of_text(name, kind, text);
    }
    let checked = Attribute::new(name, kind).check(&given);
    checked.map_err(|reason| Error::validation(format!("{name} {reason}")))?;
    Ok(given)
}

fn of_text(name: &str, kind: AttributeKind, text: String) -> Result<AttributeValue, Error> {
    Ok(match kind {
        AttributeKind::String | AttributeKind::Timestamp | AttributeKind::Semver | AttributeKind::Any => {
            AttributeValue::S(text)
        }
        AttributeKind::Integer | AttributeKind::Number | AttributeKind::EpochSeconds => number(name, &text)?,
        AttributeKind::Binary => bytes(name, &text)?,
        AttributeKind::Boolean => match text.as_str() {
            "true" => AttributeValue::Bool(true),
            "false" => AttributeValue::Bool(false),
            _ => return Err(no(name, &text, "true or false")),
        },
        AttributeKind::List
        | AttributeKind::Map
        | AttributeKind::Large
        | AttributeKind::StringSet
        | AttributeKind::NumberSet
        | AttributeKind::BinarySet => return Err(no(name, &text, "of a type that a text can stand for")),
    })
}

fn number(name: &str, text: &str) -> Result<AttributeValue, Error> {
    let parsed = Number::parse(text);
    parsed
        .map(AttributeValue::N)
        .map_err(|_| no(name, text, "a number"))
}

fn bytes(name: &str, text: &str) -> Result<AttributeValue, Error> {
    let decoded = from_base64(text);
    decoded
        .map(AttributeValue::B)
        .map_err(|_| no(name, text, "bytes in base64"))
}

fn no(name: &str, text: &str, expected: &str) -> Error {
    Error::validation(format!("The value {text:?} for {name} is not {expected}"))
}
