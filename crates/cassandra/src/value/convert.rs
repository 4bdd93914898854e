//! Converts values of columns to values of attributes: by the type of the column and the type in the model.

use trestle_item::{AttributeValue, Item};
use trestle_model::{Attribute, AttributeKind, Precision};

use super::literal::Literal;
use super::scalar::{BlobText, moment, scalar, timeuuid};
use super::{Moment, parse_json};
use crate::schema::{CqlType, Native};

/// How a column is converted, if the mapping says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// By its type.
    Unchanged,
    /// As the text of the export.
    Text,
    /// A text that is JSON, as its content.
    Json,
}

/// The form of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// By the type.
    Natural,
    /// The text of the export.
    Text,
    /// The content of the JSON in the text.
    Json,
    /// A timestamp of this precision.
    Timestamp(Precision),
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds since 1970.
    Millis,
    /// The time in a `timeuuid`.
    TimeOfUuid(Precision),
    /// A set as a list.
    List,
}

impl Form {
    /// The form of a column with this type as an attribute. An attribute that the model does not declare
    /// accepts anything.
    pub(crate) fn of(cql: &CqlType, taken: Taken, attribute: Option<&Attribute>) -> Result<Self, String> {
        let kind = attribute.map_or(AttributeKind::Any, |attribute| attribute.kind);
        let precision = attribute
            .and_then(|attribute| attribute.precision)
            .unwrap_or(Precision::Millis);
        match taken {
            Taken::Text => return Self::as_text(kind),
            Taken::Json => return Self::as_json(cql, kind),
            Taken::Unchanged => {}
        }
        let CqlType::Native(native) = cql else {
            return Self::of_several(cql, kind);
        };
        match (native, kind) {
            (Native::Timestamp, AttributeKind::Timestamp) => Ok(Form::Timestamp(precision)),
            (Native::Timestamp, AttributeKind::EpochSeconds) => Ok(Form::Seconds),
            (Native::Timestamp, AttributeKind::Integer | AttributeKind::Number) => Ok(Form::Millis),
            (Native::Timeuuid, AttributeKind::Timestamp) => Ok(Form::TimeOfUuid(precision)),
            // The model checks the text.
            (Native::Text, AttributeKind::Timestamp | AttributeKind::Semver) => Ok(Form::Natural),
            _ if is_natural(*native, kind) => Ok(Form::Natural),
            _ => Err(mismatch(cql, kind)),
        }
    }

    fn as_text(kind: AttributeKind) -> Result<Self, String> {
        match kind {
            AttributeKind::String | AttributeKind::Timestamp | AttributeKind::Semver | AttributeKind::Any => {
                Ok(Form::Text)
            }
            _ => Err(format!(
                "is imported as text, but the attribute is of type {}",
                kind.name()
            )),
        }
    }

    fn as_json(cql: &CqlType, kind: AttributeKind) -> Result<Self, String> {
        if *cql != CqlType::Native(Native::Text) {
            return Err(format!("is of type {cql}; only text can be imported as JSON"));
        }
        match kind {
            AttributeKind::StringSet | AttributeKind::NumberSet | AttributeKind::BinarySet => {
                Err("is imported as JSON, which has no sets; declare the attribute as a list".to_owned())
            }
            _ => Ok(Form::Json),
        }
    }

    fn of_several(cql: &CqlType, kind: AttributeKind) -> Result<Self, String> {
        let natural = match cql {
            CqlType::Set(of) => set_kind(of),
            CqlType::List(_) | CqlType::Tuple(_) => AttributeKind::List,
            CqlType::Map(..) | CqlType::User(_) => AttributeKind::Map,
            CqlType::Native(_) => AttributeKind::Any,
        };
        match (cql, kind) {
            _ if kind == AttributeKind::Any || kind == natural => Ok(Form::Natural),
            (CqlType::Set(_), AttributeKind::List) => Ok(Form::List),
            _ => Err(mismatch(cql, kind)),
        }
    }
}

fn mismatch(cql: &CqlType, kind: AttributeKind) -> String {
    let text = match kind {
        AttributeKind::String => "; with `as = \"text\"` it is the text of the export",
        _ => "",
    };
    format!(
        "is of type {cql}, which cannot be an attribute of type {}{text}",
        kind.name()
    )
}

/// Whether values of a type are values of the attribute's type without conversion.
fn is_natural(native: Native, kind: AttributeKind) -> bool {
    match kind {
        AttributeKind::Any => true,
        AttributeKind::String => !native.is_number() && !matches!(native, Native::Boolean | Native::Blob),
        AttributeKind::Integer | AttributeKind::EpochSeconds => native.is_whole(),
        AttributeKind::Number => native.is_number(),
        AttributeKind::Boolean => native == Native::Boolean,
        AttributeKind::Binary => native == Native::Blob,
        _ => false,
    }
}

/// The kind of set for members of a type; members that DynamoDB's sets cannot hold give a list.
pub(crate) fn set_kind(of: &CqlType) -> AttributeKind {
    match of {
        CqlType::Native(Native::Blob) => AttributeKind::BinarySet,
        CqlType::Native(Native::Boolean) => AttributeKind::List,
        CqlType::Native(native) if native.is_number() => AttributeKind::NumberSet,
        CqlType::Native(_) => AttributeKind::StringSet,
        _ => AttributeKind::List,
    }
}

/// Converts a value of a column. `None` for nothing, and for an empty set, which DynamoDB does not have.
pub(crate) fn convert(
    cql: &CqlType,
    form: Form,
    literal: &Literal<'_>,
    blobs: BlobText,
) -> Result<Option<AttributeValue>, String> {
    if *literal == Literal::Null {
        return Ok(None);
    }
    let single = || single(literal).ok_or_else(|| format!("is no value of type {cql}"));
    Ok(Some(match form {
        Form::Text => match literal {
            Literal::Text(text) | Literal::Word(text) => AttributeValue::from(&**text),
            several => AttributeValue::S(several.to_string()),
        },
        Form::Json => json(&parse_json(single()?)?)?,
        Form::Timestamp(precision) => AttributeValue::S(moment(single()?)?.text(precision)?),
        Form::Seconds => number(moment(single()?)?.seconds(), "seconds")?,
        Form::Millis => number(moment(single()?)?.millis(), "milliseconds")?,
        Form::TimeOfUuid(precision) => {
            let uuid = timeuuid(single()?)?;
            let moment = Moment::of_timeuuid(&uuid).ok_or("is no timeuuid")?;
            AttributeValue::S(moment.text(precision)?)
        }
        Form::List => match cql {
            CqlType::Set(of) => AttributeValue::L(each(of, literal, blobs)?),
            _ => natural(cql, literal, blobs)?,
        },
        Form::Natural => match cql {
            CqlType::Set(_) if items(literal).is_some_and(<[_]>::is_empty) => return Ok(None),
            _ => natural(cql, literal, blobs)?,
        },
    }))
}

fn number(number: Option<i64>, unit: &str) -> Result<AttributeValue, String> {
    number.map(AttributeValue::from).ok_or_else(|| {
        format!("is no whole number of {unit}; declare the attribute as a timestamp to keep the fraction")
    })
}

fn single<'l>(literal: &'l Literal<'_>) -> Option<&'l str> {
    match literal {
        Literal::Text(text) | Literal::Word(text) => Some(text),
        _ => None,
    }
}

/// Members in order. An empty map and an empty set are written in the same way.
fn items<'l, 't>(literal: &'l Literal<'t>) -> Option<&'l [Literal<'t>]> {
    match literal {
        Literal::Items(items) => Some(items),
        _ => None,
    }
}

fn natural(cql: &CqlType, literal: &Literal<'_>, blobs: BlobText) -> Result<AttributeValue, String> {
    let unlike = || format!("is no value of type {cql}");
    Ok(match (cql, literal) {
        (_, Literal::Null) => AttributeValue::Null,
        (CqlType::Native(native), _) => scalar(*native, single(literal).ok_or_else(unlike)?, blobs)?,
        (CqlType::List(of), _) => AttributeValue::L(each(of, literal, blobs)?),
        (CqlType::Set(of), _) => set(of, each(of, literal, blobs)?)?,
        (CqlType::Tuple(of), _) => tuple(of, items(literal).ok_or_else(unlike)?, blobs)?,
        (CqlType::Map(..) | CqlType::User(_), Literal::Items(none)) if none.is_empty() => {
            AttributeValue::M(Item::new())
        }
        (CqlType::Map(key, value), Literal::Pairs(pairs)) => map(key, value, pairs, blobs)?,
        (CqlType::User(fields), Literal::Pairs(pairs)) => user(fields, pairs, blobs)?,
        (CqlType::Map(..) | CqlType::User(_), _) => return Err(unlike()),
    })
}

fn each(of: &CqlType, literal: &Literal<'_>, blobs: BlobText) -> Result<Vec<AttributeValue>, String> {
    let items = items(literal).ok_or_else(|| format!("is no collection of {of}"))?;
    items.iter().map(|item| natural(of, item, blobs)).collect()
}

/// A set of converted members.
fn set(of: &CqlType, members: Vec<AttributeValue>) -> Result<AttributeValue, String> {
    if set_kind(of) == AttributeKind::List {
        return Ok(AttributeValue::L(members));
    }
    if members.is_empty() {
        return Err(
            "has an empty set inside, which DynamoDB has not; import it with `as = \"text\"`".to_owned(),
        );
    }
    let (mut texts, mut numbers, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for member in members {
        match member {
            AttributeValue::S(text) => texts.push(text),
            AttributeValue::N(number) => numbers.push(number),
            AttributeValue::B(of) => bytes.push(of),
            other => return Err(format!("has a member of type {} in a set", other.type_name())),
        }
    }
    // Different texts may have the same value: 1.0 and 1.00.
    let made = match set_kind(of) {
        AttributeKind::NumberSet => AttributeValue::number_set(numbers),
        AttributeKind::BinarySet => AttributeValue::binary_set(bytes),
        _ => AttributeValue::string_set(texts),
    };
    made.map_err(|error| format!("is a set that DynamoDB does not hold: {error}"))
}

fn tuple(of: &[CqlType], items: &[Literal<'_>], blobs: BlobText) -> Result<AttributeValue, String> {
    if items.len() > of.len() {
        return Err(format!(
            "has {} members, but its tuple has {}",
            items.len(),
            of.len()
        ));
    }
    let members = of.iter().zip(items).map(|(of, item)| natural(of, item, blobs));
    Ok(AttributeValue::L(members.collect::<Result<_, _>>()?))
}

/// Names in DynamoDB's maps are texts, so keys of other types are converted.
fn map(
    key: &CqlType,
    value: &CqlType,
    pairs: &[(Literal<'_>, Literal<'_>)],
    blobs: BlobText,
) -> Result<AttributeValue, String> {
    let mut map = Item::with_capacity(pairs.len());
    for (of_key, of_value) in pairs {
        let name = match (key, natural(key, of_key, blobs)?) {
            (_, AttributeValue::S(text)) => text,
            (_, AttributeValue::N(number)) => number.to_string(),
            (_, AttributeValue::Bool(truth)) => truth.to_string(),
            _ => {
                return Err(format!(
                    "has keys of type {key}; DynamoDB's maps have texts as keys: use `as = \"text\"`"
                ));
            }
        };
        if name.is_empty() {
            return Err(
                "has an empty key, which DynamoDB's maps do not have; import it with `as = \"text\"`"
                    .to_owned(),
            );
        }
        if map
            .insert(name.as_str(), natural(value, of_value, blobs)?)
            .is_some()
        {
            return Err(format!("has the key {name:?} twice"));
        }
    }
    Ok(AttributeValue::M(map))
}

/// A user-defined type; fields without a value are left out.
fn user(
    fields: &[(String, CqlType)],
    pairs: &[(Literal<'_>, Literal<'_>)],
    blobs: BlobText,
) -> Result<AttributeValue, String> {
    let mut map = Item::with_capacity(pairs.len());
    for (name, value) in pairs {
        let name = single(name).unwrap_or_default();
        let field = fields.iter().find(|(field, _)| field == name);
        let (_, of) = field.ok_or_else(|| format!("has the field {name:?}, which its type has not"))?;
        if *value != Literal::Null {
            map.insert(name, natural(of, value, blobs)?);
        }
    }
    Ok(AttributeValue::M(map))
}

/// A JSON value as an attribute.
fn json(literal: &Literal<'_>) -> Result<AttributeValue, String> {
    Ok(match literal {
        Literal::Null => AttributeValue::Null,
        Literal::Text(text) => AttributeValue::from(&**text),
        Literal::Word(word) if word == "true" || word == "false" => AttributeValue::Bool(word == "true"),
        Literal::Word(word) => scalar(Native::Decimal, word, BlobText::Base64)?,
        Literal::Items(items) => AttributeValue::L(items.iter().map(json).collect::<Result<_, _>>()?),
        Literal::Pairs(pairs) => {
            let mut map = Item::with_capacity(pairs.len());
            for (name, value) in pairs {
                let name = single(name).unwrap_or_default();
                if name.is_empty() {
                    return Err(
                        "has an empty name, which DynamoDB's maps do not have; import it as text".to_owned(),
                    );
                }
                map.insert(name, json(value)?);
            }
            AttributeValue::M(map)
        }
    })
}
