//! Items as plain JSON: what a webhook wants to read, without DynamoDB's type tags.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number as JsonNumber, Value};
use trestle_item::{AttributeValue, Item, Number};

/// The item without type tags. Sets are arrays and bytes are base64; a number that JSON's readers would round is text.
#[must_use]
pub fn plain_json(item: &Item) -> Value {
    item.iter()
        .map(|(name, value)| (name.clone(), value_json(value)))
        .collect()
}

fn value_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => Value::from(text.as_str()),
        AttributeValue::N(number) => number_json(number),
        AttributeValue::B(bytes) => bytes_json(bytes),
        AttributeValue::Bool(truth) => Value::from(*truth),
        AttributeValue::Null => Value::Null,
        AttributeValue::M(map) => plain_json(map),
        AttributeValue::L(list) => list.iter().map(value_json).collect(),
        AttributeValue::Ss(set) => set.iter().map(|text| Value::from(text.as_str())).collect(),
        AttributeValue::Ns(set) => set.iter().map(number_json).collect(),
        AttributeValue::Bs(set) => set.iter().map(|bytes| bytes_json(bytes)).collect(),
    }
}

fn bytes_json(bytes: &[u8]) -> Value {
    Value::from(STANDARD.encode(bytes))
}

/// A JSON number where it is exact, text where it would be rounded.
fn number_json(number: &Number) -> Value {
    if let Some(whole) = number.to_i64() {
        return Value::from(whole);
    }
    let text = number.to_string();
    let near = JsonNumber::from_f64(number.to_f64());
    match near {
        Some(near) if Number::parse(&near.to_string()).as_ref() == Ok(number) => Value::Number(near),
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(text: &str) -> AttributeValue {
        AttributeValue::N(Number::parse(text).unwrap())
    }

    #[test]
    fn numbers_are_numbers_where_they_are_exact_and_text_where_not() {
        let item = Item::from([
            ("whole", number("42")),
            ("below", number("-7")),
            ("part", number("2.5")),
            ("tenth", number("0.1")),
            ("long", number("1.2345678901234567890123456789")),
            ("wide", number("123456789012345678901234567890")),
        ]);
        assert_eq!(
            plain_json(&item),
            json!({
                "whole": 42, "below": -7, "part": 2.5, "tenth": 0.1,
                "long": "1.2345678901234567890123456789", "wide": "123456789012345678901234567890",
            })
        );
    }

    #[test]
    fn sets_are_arrays_and_bytes_are_base64() {
        let item = Item::from([
            (
                "names",
                AttributeValue::string_set(vec!["b".into(), "a".into()]).unwrap(),
            ),
            ("bytes", AttributeValue::B(vec![1, 2, 255])),
            ("none", AttributeValue::Null),
            (
                "list",
                AttributeValue::L(vec![true.into(), Item::from([("x", 1_i64)]).into()]),
            ),
        ]);
        assert_eq!(
            plain_json(&item),
            json!({"names": ["a", "b"], "bytes": "AQL/", "none": null, "list": [true, {"x": 1}]})
        );
    }
}
