//! Items as plain JSON, for webhooks.

use serde_json::Value;
use trestle_item::{AttributeValue, Item, Number, Plain};

/// The item without type tags. Sets are arrays and bytes are base64; a number that JSON parsers would round
/// is text.
#[must_use]
pub fn plain_json(item: &Item) -> Value {
    // Every item can be represented as JSON.
    serde_json::to_value(Plain(item)).unwrap_or_default()
}

/// The value of plain JSON: arrays become lists, objects become maps. A number that DynamoDB cannot hold
/// becomes text.
#[must_use]
pub fn from_plain_json(value: &Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null,
        Value::Bool(value) => AttributeValue::Bool(*value),
        Value::Number(number) => {
            let text = number.to_string();
            Number::parse(&text).map_or(AttributeValue::S(text), AttributeValue::N)
        }
        Value::String(text) => AttributeValue::S(text.clone()),
        Value::Array(members) => AttributeValue::L(members.iter().map(from_plain_json).collect()),
        Value::Object(members) => AttributeValue::M(
            members
                .iter()
                .map(|(name, value)| (name.as_str(), from_plain_json(value)))
                .collect(),
        ),
    }
}
