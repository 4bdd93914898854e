//! Items as plain JSON.

use serde_json::{Value, json};
use trestle_item::{AttributeValue, Item, Number, Plain};

fn number(text: &str) -> AttributeValue {
    AttributeValue::N(Number::parse(text).unwrap())
}

fn plain(item: &Item) -> Value {
    serde_json::to_value(Plain(item)).unwrap()
}

#[test]
fn numbers_are_numbers_where_they_are_exact_and_text_where_not() {
    let item = Item::from([
        ("whole", number("42")),
        ("below", number("-7")),
        ("part", number("2.5")),
        ("tenth", number("0.1")),
        ("small", number("1E-130")),
        ("long", number("1.2345678901234567890123456789")),
        ("wide", number("123456789012345678901234567890")),
    ]);
    assert_eq!(
        plain(&item),
        json!({
            "whole": 42, "below": -7, "part": 2.5, "tenth": 0.1, "small": 1e-130,
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
        plain(&item),
        json!({"names": ["a", "b"], "bytes": "AQL/", "none": null, "list": [true, {"x": 1}]})
    );
}
