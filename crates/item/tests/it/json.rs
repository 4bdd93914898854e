use proptest::prelude::*;
use serde_json::{from_str, from_value, json, to_string, to_value};
use trestle_item::{AttributeValue, Item, Map, NESTING_MAX, VALIDATION_MARK};

use crate::generate::{item, nested};

/// The message of a refusal that is a `ValidationException`, without serde_json's position.
fn refusal(json: serde_json::Value) -> Option<String> {
    let error = from_value::<AttributeValue>(json).unwrap_err().to_string();
    error.strip_prefix(VALIDATION_MARK).map(str::to_owned)
}

#[test]
fn every_type_has_its_json_form() {
    let n = |text: &str| text.parse().unwrap();
    let cases = [
        (AttributeValue::from("a\"\u{1}é"), json!({"S": "a\"\u{1}é"})),
        (AttributeValue::N(n("-1.5E3")), json!({"N": "-1500"})),
        (AttributeValue::B(vec![0, 255]), json!({"B": "AP8="})),
        (AttributeValue::Bool(false), json!({"BOOL": false})),
        (AttributeValue::Null, json!({"NULL": true})),
        (
            AttributeValue::M(Map::from([("a", true)])),
            json!({"M": {"a": {"BOOL": true}}}),
        ),
        (
            AttributeValue::L(vec!["x".into(), 1i64.into()]),
            json!({"L": [{"S": "x"}, {"N": "1"}]}),
        ),
        (
            AttributeValue::Ss(vec!["a".into(), "b".into()]),
            json!({"SS": ["a", "b"]}),
        ),
        (
            AttributeValue::Ns(vec![n("-1"), n("2")]),
            json!({"NS": ["-1", "2"]}),
        ),
        (
            AttributeValue::Bs(vec![vec![], vec![1]]),
            json!({"BS": ["", "AQ=="]}),
        ),
    ];
    for (value, json) in cases {
        assert_eq!(to_value(&value).unwrap(), json);
        assert_eq!(from_value::<AttributeValue>(json).unwrap(), value);
    }
}

#[test]
fn null_members_and_unknown_members_are_as_good_as_absent() {
    for text in [
        r#"{"S":"x","N":null}"#,
        r#"{"N":null,"S":"x","SS":null,"M":null,"L":null,"B":null,"BOOL":null,"NULL":null}"#,
        r#"{"S":"x","Other":[{"S":1}]}"#,
        r#"{"S":"first","S":"x"}"#,
    ] {
        assert_eq!(from_str::<AttributeValue>(text).unwrap(), "x".into(), "{text}");
    }
}

#[test]
fn truth_values_may_be_text() {
    for (text, truth) in [
        ("true", true),
        ("TRUE", true),
        ("yes", true),
        ("1", true),
        ("False", false),
        ("NO", false),
    ] {
        assert_eq!(
            from_value::<AttributeValue>(json!({"BOOL": text})).unwrap(),
            truth.into()
        );
    }
    assert_eq!(
        from_value::<AttributeValue>(json!({"NULL": "true"})).unwrap(),
        AttributeValue::Null
    );
}

#[test]
fn of_a_repeated_name_the_last_value_counts() {
    let map: Map = from_str(r#"{"b":{"S":"1"},"a":{"S":"2"},"b":{"S":"3"},"b":{"S":"4"}}"#).unwrap();
    assert_eq!(map, Map::from([("a", "2"), ("b", "4")]));
}

#[test]
fn what_dynamodb_refuses_is_marked_and_in_its_words() {
    let empty = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    let two = "Supplied AttributeValue has more than one datatypes set, \
               must contain exactly one of the supported datatypes";
    let null = "One or more parameter values were invalid: \
                Null attribute value types must have the value of true";
    let cases = [
        (json!({}), empty),
        (json!(null), empty),
        (json!({"S": null}), empty),
        (json!({"s": "x"}), empty),
        (json!({"L": [{}]}), empty),
        (json!({"M": {"a": null}}), empty),
        (json!({"S": "a", "N": "1"}), two),
        (json!({"L": [{"S": "a", "N": "1"}]}), two),
        (json!({"NULL": false}), null),
        (json!({"NULL": "no"}), null),
        (
            json!({"N": ""}),
            "The parameter cannot be converted to a numeric value",
        ),
        (
            json!({"S": "a", "N": "b"}),
            "The parameter cannot be converted to a numeric value: b",
        ),
        (
            json!({"S": "a", "BOOL": true, "NS": ["b"]}),
            "The parameter cannot be converted to a numeric value: b",
        ),
        (
            json!({"NS": ["1", "1.0"]}),
            "Input collection contains duplicates",
        ),
        (json!({"M": {"": {"S": "a"}}}), "Empty attribute name"),
        (
            json!({"M": {"a": {"SS": []}}}),
            "One or more parameter values were invalid: An string set  may not be empty",
        ),
    ];
    for (json, message) in cases {
        assert_eq!(refusal(json.clone()).as_deref(), Some(message), "{json}");
    }
}

#[test]
fn wrong_json_types_and_bad_base64_are_not_marked() {
    let cases = [
        json!("x"),
        json!([]),
        json!(1),
        json!({"S": 1}),
        json!({"N": 1}),
        json!({"BOOL": 1}),
        json!({"BOOL": "maybe"}),
        json!({"SS": "a"}),
        json!({"SS": [null]}),
        json!({"L": {}}),
        json!({"M": []}),
        json!({"B": "!!!!"}),
    ];
    for json in cases {
        assert_eq!(refusal(json.clone()), None, "{json}");
    }
}

#[test]
fn bad_base64_is_named_in_dynamodbs_words() {
    let cases = [
        (
            "23456",
            "Base64 encoded length is expected a multiple of 4 bytes but found: 5",
        ),
        ("=+/=", "Invalid last non-pad Base64 character dectected"),
        ("+/+=", "Invalid last non-pad Base64 character dectected"),
        ("YQ==YQ==", "Invalid last non-pad Base64 character dectected"),
        ("YQ!=", "Invalid base 64 character: '!'"),
    ];
    for (text, message) in cases {
        let error = from_value::<AttributeValue>(json!({"B": text})).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn an_item_may_be_nested_as_deep_as_dynamodb_allows_and_no_deeper() {
    let fits = Item::from([("a", nested(NESTING_MAX - 1))]);
    assert_eq!(from_str::<Item>(&to_string(&fits).unwrap()).unwrap(), fits);
    let too_deep = to_string(&Item::from([("a", nested(NESTING_MAX))])).unwrap();
    assert!(from_str::<Item>(&too_deep).unwrap_err().to_string().starts_with(
        "\u{1}Nesting Levels have exceeded supported limits: \
         Attributes in the item have nested levels beyond supported limit"
    ));
}

#[test]
fn depth_bombs_are_refused_before_the_stack_runs_out() {
    for open in [r#"{"L":["#, r#"{"M":{"a":"#, r#"{"X":["#, r#"{"X":{"a":"#] {
        let bomb = open.repeat(200_000);
        assert!(from_str::<AttributeValue>(&bomb).is_err());
        assert!(from_str::<Item>(&format!(r#"{{"a":{bomb}"#)).is_err());
    }
}

proptest! {
    #[test]
    fn items_survive_json(item in item()) {
        let text = to_string(&item).unwrap();
        prop_assert_eq!(from_str::<Item>(&text).unwrap(), item);
    }

    #[test]
    fn arbitrary_json_never_panics(text in r#"[\[\]{}:,"SNBML1a\\ ]{0,80}"#) {
        let _ = from_str::<AttributeValue>(&text);
        let _ = from_str::<Item>(&text);
    }
}
