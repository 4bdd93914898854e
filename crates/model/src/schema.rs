//! The JSON Schema of a model file, for editors; generated from the list of fields that the reader checks.

use serde_json::{Map, Value, json};

use crate::fields::{self, Field, Shape};

/// The JSON Schema of a model file.
#[must_use]
pub fn schema() -> Value {
    let mut schema = section(fields::MODEL);
    if let Value::Object(schema) = &mut schema {
        schema.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        schema.insert("title".to_owned(), json!("Trestle model"));
    }
    schema
}

fn section(fields: &[Field]) -> Value {
    let mut properties = Map::new();
    for field in fields {
        let mut value = shape(&field.shape);
        if let Value::Object(value) = &mut value {
            value.insert("description".to_owned(), json!(field.about));
        }
        properties.insert(field.name.to_owned(), value);
    }
    let required: Vec<&str> = fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name)
        .collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
}

fn shape(shape: &Shape) -> Value {
    let text = || json!({ "type": "string", "minLength": 1 });
    let texts = || json!({ "type": "array", "items": text() });
    let scalar = || json!({ "type": ["string", "number", "boolean"] });
    match shape {
        Shape::Text => text(),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Count => json!({ "type": "integer", "minimum": 1 }),
        Shape::Natural => json!({ "type": "integer", "minimum": 0 }),
        Shape::Duration => json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h)$" }),
        Shape::CountOrSection => json!({ "type": ["integer", "object"], "minimum": 1 }),
        Shape::Anything => json!({ "type": ["string", "object"] }),
        Shape::Choice(words) => json!({ "enum": words }),
        Shape::FlagOrChoices(words) => {
            json!({ "anyOf": [{ "type": "boolean" }, { "type": "array", "items": { "enum": words } }] })
        }
        Shape::TextList => texts(),
        Shape::TextOrList => json!({ "anyOf": [text(), texts()] }),
        Shape::Keys => keys(),
        Shape::Projection => json!({ "anyOf": [{ "enum": ["all", "keys"] }, texts()] }),
        Shape::TextMap => json!({ "type": "object", "additionalProperties": text() }),
        Shape::Mapping => json!({ "anyOf": [texts(), { "type": "object", "additionalProperties": text() }] }),
        Shape::Attributes => attributes(),
        Shape::OneAttribute => one_attribute(),
        Shape::ValueMap => json!({ "type": "object", "additionalProperties": scalar() }),
        Shape::Default => json!({
            "type": ["string", "number", "boolean", "object", "array"],
            "maxProperties": 0,
            "maxItems": 0,
        }),
        Shape::ScalarList => json!({ "type": "array", "items": scalar(), "minItems": 1 }),
        Shape::Length => json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": "^[0-9]+\\.\\.[0-9]+$" },
        ] }),
        Shape::CountOrText => json!({ "anyOf": [{ "type": "integer" }, text()] }),
        Shape::TextGroups => json!({ "type": "array", "items": texts() }),
        Shape::Where => conditions(),
        Shape::Section(fields) => section(fields),
        Shape::Named(fields) => json!({ "type": "object", "additionalProperties": section(fields) }),
    }
}

fn keys() -> Value {
    let one = json!({ "anyOf": [
        { "type": "string", "minLength": 1 },
        {
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "minLength": 1 },
                "type": { "enum": ["string", "number", "binary"] },
            },
            "required": ["name"],
        },
    ] });
    let side = json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1, "maxItems": 4 }] });
    json!({ "type": "array", "items": side, "minItems": 1, "maxItems": 2 })
}

fn attributes() -> Value {
    let mut full = section(fields::ATTRIBUTE);
    if let Some(kind) = full.pointer_mut("/properties/type") {
        *kind = json!({ "enum": fields::kinds(), "description": "The type." });
    }
    json!({ "type": "object", "additionalProperties": { "anyOf": [{ "enum": fields::kinds() }, full] } })
}

fn one_attribute() -> Value {
    let mut declared = attributes();
    if let Value::Object(declared) = &mut declared {
        declared.insert("minProperties".to_owned(), json!(1));
        declared.insert("maxProperties".to_owned(), json!(1));
    }
    json!({ "anyOf": [{ "type": "string", "minLength": 1 }, declared] })
}

fn conditions() -> Value {
    let scalar = json!({ "type": ["string", "number", "boolean"] });
    let mut comparisons = Map::new();
    for name in fields::COMPARISONS {
        let operand = match *name {
            "between" => json!({ "type": "array", "items": scalar, "minItems": 2, "maxItems": 2 }),
            "one_of" => json!({ "type": "array", "items": scalar, "minItems": 1 }),
            "exists" => json!({ "type": "boolean" }),
            _ => scalar.clone(),
        };
        comparisons.insert((*name).to_owned(), operand);
    }
    let comparison = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": comparisons,
        "minProperties": 1,
        "maxProperties": 1,
    });
    json!({ "type": "object", "additionalProperties": { "anyOf": [scalar, comparison] } })
}
