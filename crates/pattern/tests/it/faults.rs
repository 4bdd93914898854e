//! Mistakes, and their messages.

use serde_json::{Value, json};
use trestle_pattern::{Fault, Pattern};

fn faults(pattern: Value) -> Vec<String> {
    let faults = Pattern::parse(&pattern).unwrap_err();
    faults.iter().map(Fault::to_string).collect()
}

#[track_caller]
fn check(pattern: Value, expected: &str) {
    assert_eq!(faults(pattern), [expected]);
}

#[test]
fn every_mistake_is_named_with_its_place() {
    let found = faults(json!({
        "event": "modify",
        "new": {"state": [], "rgn": [{"prefix": 7}, {"sufix": "x"}], "deep": {}},
        "$or": [{"prefix": ["a"]}, 5],
    }));
    assert_eq!(
        found,
        [
            "$or[0].prefix: is the name of an operator; inside `$or` an object holds fields, as in `{\"state\": [\"on\"]}`",
            "$or[1]: must be an object of fields, not a number",
            "event: must be a list of values, `[…]`, or an object of fields, not text",
            "new.deep: is empty; name at least one field",
            "new.rgn[0].prefix: must be text, not a number",
            "new.rgn[1].sufix: is no operator; there are prefix, suffix, equals-ignore-case, wildcard, anything-but, \
             numeric, cidr and exists",
            "new.state: is empty; give at least one value",
        ]
    );
}

#[test]
fn a_pattern_is_an_object_with_fields() {
    check(json!({}), "pattern: is empty; name at least one field");
    check(json!([1]), "pattern: must be an object of fields, not a list");
}

#[test]
fn operands_say_what_they_can_be() {
    let check = |alternative: Value, expected: &str| check(json!({"a": [alternative]}), expected);
    check(
        json!([1]),
        "a[0]: must be a value or an object with one operator, not another list",
    );
    check(
        json!({"prefix": "a", "suffix": "b"}),
        "a[0]: must hold exactly one operator, not 2; there are prefix, suffix, equals-ignore-case, wildcard, \
         anything-but, numeric, cidr and exists",
    );
    check(
        json!({"exists": "yes"}),
        "a[0].exists: must be true or false, not text",
    );
    check(
        json!({"prefix": {"wildcard": "a*"}}),
        "a[0].prefix.wildcard: is not possible here; there is equals-ignore-case",
    );
    check(
        json!({"wildcard": "a**"}),
        "a[0].wildcard: two stars in a row mean no more than one; write one `*`",
    );
    check(
        json!({"cidr": "10.0.0.1"}),
        "a[0].cidr: must be an address and a number of bits: `10.0.0.0/24` or `2001:db8::/32`",
    );
    check(
        json!({"numeric": [">", 5, "<", 5]}),
        "a[0].numeric: is a range without numbers: its lower bound is not below its upper one",
    );
    for terms in [
        json!([]),
        json!([5]),
        json!(["<", 5, ">", 1]),
        json!(["=", 1, "<", 2]),
        json!(["!=", 1]),
        json!(["<", "1"]),
    ] {
        let found = faults(json!({"a": [{"numeric": terms}]}));
        assert!(
            found[0].starts_with("a[0].numeric: must be `[\"=\", n]`"),
            "{terms}: {found:?}"
        );
    }
}

#[test]
fn anything_but_says_what_it_can_be() {
    let check = |operand: Value, expected: &str| check(json!({"a": [{"anything-but": operand}]}), expected);
    check(
        json!(null),
        "a[0].anything-but: must be text, a number, a list of either, or an object with one of prefix, suffix, \
         equals-ignore-case and wildcard, not null",
    );
    check(json!([]), "a[0].anything-but: is empty; give at least one value");
    check(
        json!(["a", 1]),
        "a[0].anything-but: must be a list of texts alone or of numbers alone",
    );
    check(
        json!({"numeric": ["<", 1]}),
        "a[0].anything-but.numeric: is not possible in anything-but; there are prefix, suffix, equals-ignore-case and \
         wildcard",
    );
    check(
        json!({"prefix": ["a", ""]}),
        "a[0].anything-but.prefix[1]: must not be empty: no text would be left",
    );
}

#[test]
fn or_needs_a_choice() {
    check(
        json!({"$or": [{"a": [1]}]}),
        "$or: must be a list of at least two objects",
    );
    check(
        json!({"$or": {"a": [1]}}),
        "$or: must be a list of at least two objects",
    );
}

#[test]
fn a_path_may_be_given_only_once() {
    let message = "is given twice, inside `$or` and beside it; move it into each alternative";
    check(
        json!({"a": {"b": [1]}, "$or": [{"a": {"b": [2]}}, {"c": [3]}]}),
        &format!("a.b: {message}"),
    );
    check(
        json!({"a": {"b": [1]}, "$or": [{"a": [2]}, {"c": [3]}]}),
        &format!("a: {message}"),
    );
}

#[test]
fn combinations_and_depth_are_bounded() {
    let choice = |name: &str| json!([{format!("{name}1"): [1]}, {format!("{name}2"): [1]}]);
    let mut fields = serde_json::Map::new();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
        fields.insert(name.to_owned(), json!({"$or": choice(name)}));
    }
    check(
        Value::Object(fields),
        "pattern: its `$or`s make 1024 combinations or more; 1000 are allowed. Use two routes",
    );
    let mut deep = json!([1]);
    for _ in 0..70 {
        deep = json!({"a": deep});
    }
    assert!(faults(deep)[0].contains("is nested too deeply; 64 levels are allowed"));
}
