//! Messages for invalid attribute values: DynamoDB's differ between parameters.

use serde::Deserialize;
use serde_json::Value;
use trestle_item::{AttributeValue, VALIDATION_MARK, name_problem};

use crate::shape::{Member, Shape, Structure};

/// The message about the first value of a conforming request that the item crate refuses.
pub(crate) fn refused(tree: &Value, input: &Structure) -> Option<String> {
    // DynamoDB checks expressions, and so their values, last.
    let (expression, plain): (Vec<&Member>, Vec<&Member>) = input
        .members
        .iter()
        .partition(|member| member.name == "ExpressionAttributeValues");
    plain
        .into_iter()
        .chain(expression)
        .find_map(|member| in_member(tree.get(member.name)?, member))
}

fn in_member(value: &Value, member: &Member) -> Option<String> {
    let (name, message) = within(value, &member.shape)?;
    Some(match (member.name, name) {
        ("ExpressionAttributeValues", Some("")) => {
            "ExpressionAttributeValues contains invalid key: Syntax error; key: \"\"".to_owned()
        }
        ("ExpressionAttributeValues", Some(name)) => {
            format!("ExpressionAttributeValues contains invalid value: {message} for key {name}")
        }
        ("ExclusiveStartKey", _) if !speaks_for_itself(&message) => {
            format!("The provided starting key is invalid: {message}")
        }
        _ => message,
    })
}

/// In DynamoDB's answers about a starting key, the texts about names, numbers and duplicates have no prefix.
fn speaks_for_itself(message: &str) -> bool {
    [
        "attribute name",
        "Attribute name",
        "contains duplicates",
        "number set",
        "numeric value",
        "significant digits",
        "number with magnitude",
    ]
    .iter()
    .any(|part| message.contains(part))
}

/// The message, and the name of the map entry that it concerns.
fn within<'a>(value: &'a Value, shape: &Shape) -> Option<(Option<&'a str>, String)> {
    match (value, shape) {
        (_, Shape::Structure(structure)) if structure.name == "AttributeValue" => Some((None, judge(value)?)),
        (_, Shape::Structure(structure)) => Some((None, refused(value, structure)?)),
        (Value::Array(elements), Shape::List(list)) => {
            elements.iter().find_map(|element| within(element, &list.of))
        }
        (Value::Object(entries), Shape::Map(map)) => entries.iter().find_map(|(name, entry)| {
            let message =
                in_name(name, &map.of).or_else(|| within(entry, &map.of).map(|(_, message)| message));
            Some((Some(name.as_str()), message?))
        }),
        _ => None,
    }
}

/// The mistake in the name of an attribute.
fn in_name(name: &str, of: &Shape) -> Option<String> {
    match of {
        Shape::Structure(structure) if structure.name == "AttributeValue" => {
            name_problem(name).map(str::to_owned)
        }
        _ => None,
    }
}

/// Why the item crate refuses a value.
fn judge(value: &Value) -> Option<String> {
    let error = AttributeValue::deserialize(value).err()?.to_string();
    error.strip_prefix(VALIDATION_MARK).map(str::to_owned)
}
