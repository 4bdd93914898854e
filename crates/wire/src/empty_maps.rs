//! DynamoDB Local writes an empty map in a stream record as `{}`, which is not an attribute value, instead of
//! `{"M": {}}`.

use serde_json::{Value, json};

/// The answer to GetRecords with its empty maps written out; `None` if it is no such answer.
pub(crate) fn written_out(body: &[u8]) -> Option<Vec<u8>> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    for record in answer.get_mut("Records")?.as_array_mut()? {
        for image in ["NewImage", "OldImage"] {
            let attributes = record.pointer_mut(&format!("/dynamodb/{image}"));
            let attributes = attributes.and_then(Value::as_object_mut);
            attributes
                .into_iter()
                .flatten()
                .for_each(|(_, value)| write_out(value));
        }
    }
    serde_json::to_vec(&answer).ok()
}

/// Stored values nest 32 levels deep at most, and the parser has a bound of its own.
fn write_out(value: &mut Value) {
    let Some(typed) = value.as_object_mut() else {
        return;
    };
    if typed.is_empty() {
        *value = json!({ "M": {} });
        return;
    }
    if let Some(Value::Object(members)) = typed.get_mut("M") {
        members.values_mut().for_each(write_out);
    }
    if let Some(Value::Array(elements)) = typed.get_mut("L") {
        elements.iter_mut().for_each(write_out);
    }
}
