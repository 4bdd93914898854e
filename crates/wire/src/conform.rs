//! Converts a JSON tree to the types of a shape, or reports in DynamoDB's words which JSON type was wrong.
//!
//! DynamoDB accepts more than serde does: `null` members are absent members, `"true"` is a truth value, 1.5
//! is a whole number. The resulting tree has no nulls and no unknown members, and every value has its
//! declared type.

use serde_json::{Map as Object, Value};
use trestle_item::from_base64;

use crate::shape::{Shape, Structure, Text};

/// The text of a `SerializationException`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mismatch(pub(crate) String);

/// Whether a value is a structure's member or is in a list or map. DynamoDB's messages differ for the two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ValueRole {
    Member,
    Element,
}

/// Converts a whole request.
pub(crate) fn conform(tree: &mut Value, input: &Structure) -> Result<(), Mismatch> {
    match tree {
        Value::Object(object) => members(object, input),
        // DynamoDB answers a body that is not an object without a message.
        _ => Err(Mismatch(String::new())),
    }
}

fn members(object: &mut Object<String, Value>, structure: &Structure) -> Result<(), Mismatch> {
    object.retain(|name, value| !value.is_null() && structure.member(name).is_some());
    for member in structure.members {
        if let Some(value) = object.get_mut(member.name) {
            fit(value, &member.shape, ValueRole::Member)?;
        }
    }
    Ok(())
}

/// The depth of this recursion is the depth of the tree, which the JSON parser limits.
fn fit(value: &mut Value, shape: &Shape, role: ValueRole) -> Result<(), Mismatch> {
    match shape {
        Shape::Text(text) => fit_text(value, text),
        Shape::Integer(_) => fit_whole(value, "Integer", i64::from(i32::MIN), i64::from(i32::MAX)),
        Shape::Long(_) => fit_whole(value, "Long", i64::MIN, i64::MAX),
        Shape::Boolean => fit_boolean(value),
        Shape::Time => match value {
            Value::Number(_) => Ok(()),
            other => Err(no_conversion(other, "java.lang.", "Double")),
        },
        Shape::Blob => fit_blob(value),
        Shape::Anything => Ok(()),
        Shape::List(list) => match value {
            Value::Array(elements) => elements
                .iter_mut()
                .try_for_each(|element| fit_element(element, &list.of)),
            Value::Object(_) => Err(unexpected_structure()),
            _ => Err(scalar_for_collection(role)),
        },
        Shape::Map(map) => match value {
            Value::Object(entries) => {
                if map.arn_keys {
                    name_tables(entries);
                }
                entries
                    .values_mut()
                    .try_for_each(|entry| fit_element(entry, &map.of))
            }
            Value::Array(_) => Err(unrecognised(&format!(
                "java.util.Map<java.lang.String, {}>",
                java(&map.of)
            ))),
            _ => Err(scalar_for_collection(role)),
        },
        Shape::Structure(structure) => match value {
            Value::Object(object) => members(object, structure),
            Value::Array(_) => Err(unrecognised(&format!("class {}", java(shape)))),
            _ if role == ValueRole::Element => Err(mismatch("Unexpected value type in payload")),
            _ => Err(mismatch("Unexpected field type")),
        },
    }
}

/// A null in a list or map cannot be dropped: it stands for a structure without members, or stays to be refused.
fn fit_element(value: &mut Value, shape: &Shape) -> Result<(), Mismatch> {
    if value.is_null() {
        match shape {
            Shape::Structure(_) | Shape::Map(_) => *value = Value::Object(Object::new()),
            Shape::List(_) => *value = Value::Array(Vec::new()),
            _ => {}
        }
        return Ok(());
    }
    fit(value, shape, ValueRole::Element)
}

fn fit_text(value: &mut Value, text: &Text) -> Result<(), Mismatch> {
    match value {
        Value::String(given) => {
            // From here on, a table has only a name.
            if let Some(name) = text.arn.then(|| table_of_arn(given)).flatten() {
                *given = name;
            }
            Ok(())
        }
        other => Err(no_conversion(other, "java.lang.", "String")),
    }
}

/// Replaces ARNs by names. An ARN whose table is also named stays, and is refused for its characters: two
/// entries cannot be one.
fn name_tables(entries: &mut Object<String, Value>) {
    let arns: Vec<(String, String)> = entries
        .keys()
        .filter_map(|key| Some((key.clone(), table_of_arn(key)?)))
        .collect();
    for (arn, name) in arns {
        if !entries.contains_key(&name)
            && let Some(entry) = entries.remove(&arn)
        {
            entries.insert(name, entry);
        }
    }
}

/// The table's name in `arn:aws:dynamodb:<region>:<account>:table/<name>`.
fn table_of_arn(text: &str) -> Option<String> {
    let rest = text.strip_prefix("arn:")?;
    let (_, name) = rest.split_once(":table/")?;
    Some(name.to_owned())
}

fn fit_whole(value: &mut Value, class: &str, min: i64, max: i64) -> Result<(), Mismatch> {
    let Value::Number(number) = &*value else {
        return Err(no_conversion(value, "java.lang.", class));
    };
    // A float cast saturates, as needed here.
    #[allow(clippy::cast_possible_truncation)]
    let whole = number
        .as_i64()
        .unwrap_or_else(|| number.as_f64().unwrap_or(0.0).floor() as i64);
    *value = Value::from(whole.clamp(min, max));
    Ok(())
}

fn fit_boolean(value: &mut Value) -> Result<(), Mismatch> {
    let truth = match &*value {
        Value::Bool(truth) => *truth,
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => true,
            "false" | "0" | "no" => false,
            _ => return Err(mismatch("Unexpected token received from parser")),
        },
        other => return Err(no_conversion(other, "java.lang.", "Boolean")),
    };
    *value = Value::Bool(truth);
    Ok(())
}

fn fit_blob(value: &Value) -> Result<(), Mismatch> {
    match value {
        Value::String(text) => match from_base64(text) {
            Ok(_) => Ok(()),
            Err(error) => Err(Mismatch(error.to_string())),
        },
        Value::Array(_) => Err(unrecognised("class java.nio.ByteBuffer")),
        Value::Object(_) => Err(unexpected_structure()),
        _ => Err(mismatch("only base-64-encoded strings are convertible to bytes")),
    }
}

fn no_conversion(value: &Value, package: &str, class: &str) -> Mismatch {
    let token = match value {
        Value::Bool(true) => "TRUE_VALUE",
        Value::Bool(false) => "FALSE_VALUE",
        Value::Number(number) if number.is_f64() => "DECIMAL_VALUE",
        Value::Number(_) => "NUMBER_VALUE",
        Value::String(_) => "STRING_VALUE",
        Value::Array(_) => return unrecognised(&format!("class {package}{class}")),
        Value::Object(_) | Value::Null => return unexpected_structure(),
    };
    Mismatch(format!("{token} cannot be converted to {class}"))
}

fn scalar_for_collection(role: ValueRole) -> Mismatch {
    match role {
        ValueRole::Member => mismatch("Unexpected field type"),
        // Here DynamoDB returns its internal type error.
        ValueRole::Element => mismatch(
            "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class \
             java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class \
             are in module java.base of loader 'bootstrap')",
        ),
    }
}

fn unexpected_structure() -> Mismatch {
    mismatch("Start of structure or map found where not expected")
}

fn unrecognised(class: &str) -> Mismatch {
    Mismatch(format!("Unrecognized collection type {class}"))
}

fn mismatch(text: &str) -> Mismatch {
    Mismatch(text.to_owned())
}

/// The class that DynamoDB would name.
fn java(shape: &Shape) -> String {
    match shape {
        Shape::Text(_) => "java.lang.String".to_owned(),
        Shape::Integer(_) => "java.lang.Integer".to_owned(),
        Shape::Long(_) => "java.lang.Long".to_owned(),
        Shape::Boolean => "java.lang.Boolean".to_owned(),
        Shape::Time => "java.lang.Double".to_owned(),
        Shape::Blob => "java.nio.ByteBuffer".to_owned(),
        Shape::Anything => "java.lang.Object".to_owned(),
        Shape::List(list) => format!("java.util.List<{}>", java(&list.of)),
        Shape::Map(map) => format!("java.util.Map<java.lang.String, {}>", java(&map.of)),
        Shape::Structure(structure) => format!("com.amazonaws.dynamodb.v20120810.{}", structure.name),
    }
}
