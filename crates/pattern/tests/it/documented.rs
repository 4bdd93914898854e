//! Each operator of EventBridge's documentation, with data of our own.

use serde_json::{Value, json};
use trestle_pattern::Pattern;

fn event() -> Value {
    json!({
        "id": "0191",
        "table": "klayers",
        "event": "modify",
        "changed": ["state", "size"],
        "new": {
            "rgn": "eu-West-1",
            "state": "running",
            "size": 5,
            "limit": 301.8,
            "ip": "10.0.0.33",
            "file": "models/eu/layer.png",
            "empty": "",
            "nothing": null,
            "flag": true,
            "list": [],
            "scores": [10, 20, 30],
            "grid": [[1, 2], [3]],
            "people": [
                {"first": "Ada", "last": "King", "tags": ["a", "b"]},
                {"first": "Grace", "last": "Hopper", "born": {"year": 1906}},
            ],
            "dotted.name": "here",
        },
    })
}

fn matches(pattern: Value) -> bool {
    Pattern::parse(&pattern).unwrap().matches(&event())
}

/// The pattern in the place of one attribute of the new item.
#[track_caller]
fn check(attribute: &str, alternatives: Value, expected: bool) {
    let pattern = json!({"new": {attribute: alternatives}});
    assert_eq!(matches(pattern), expected, "{attribute}: {alternatives}");
}

#[test]
fn plain_values_are_alternatives_and_fields_go_together() {
    check("state", json!(["stopped", "running"]), true);
    check("state", json!(["stopped"]), false);
    check("flag", json!([true]), true);
    check("flag", json!([false, "true"]), false);
    assert!(matches(
        json!({"event": ["modify"], "new": {"state": ["running"]}})
    ));
    assert!(!matches(
        json!({"event": ["insert"], "new": {"state": ["running"]}})
    ));
}

#[test]
fn empty_text_and_null_are_values() {
    check("empty", json!([""]), true);
    check("state", json!([""]), false);
    check("nothing", json!([null]), true);
    check("empty", json!([null]), false);
    check("missing", json!([null]), false);
    check("missing", json!([""]), false);
}

#[test]
fn numbers_are_compared_as_numbers() {
    for five in [json!(5), json!(5.0), json!(0.5e1)] {
        check("size", json!([five]), true);
    }
    check("limit", json!([3.018e2]), true);
    check("size", json!(["5"]), false);
}

#[test]
fn prefix_and_suffix_look_at_the_ends_of_text() {
    check("rgn", json!([{"prefix": "eu-"}]), true);
    check("rgn", json!([{"prefix": "EU-"}]), false);
    check("rgn", json!([{"prefix": {"equals-ignore-case": "EU-w"}}]), true);
    check("file", json!([{"suffix": ".png"}]), true);
    check(
        "file",
        json!([{"suffix": {"equals-ignore-case": "LAYER.PNG"}}]),
        true,
    );
    check("file", json!([{"suffix": ".PNG"}]), false);
    check("size", json!([{"prefix": "5"}]), false);
    check("empty", json!([{"prefix": ""}]), true);
}

#[test]
fn equals_ignore_case_takes_the_whole_text() {
    check("rgn", json!([{"equals-ignore-case": "EU-WEST-1"}]), true);
    check("rgn", json!([{"equals-ignore-case": "EU-WEST"}]), false);
}

#[test]
fn a_wildcard_spans_anything() {
    check("file", json!([{"wildcard": "models/*.png"}]), true);
    check("file", json!([{"wildcard": "*/eu/*"}]), true);
    check("file", json!([{"wildcard": "*.jpg"}]), false);
    check("size", json!([{"wildcard": "*"}]), false);
}

#[test]
fn anything_but_needs_a_value_that_is_another() {
    check("state", json!([{"anything-but": "stopped"}]), true);
    check("state", json!([{"anything-but": "running"}]), false);
    check("state", json!([{"anything-but": ["stopped", "running"]}]), false);
    check("size", json!([{"anything-but": [4, 5.0]}]), false);
    check("size", json!([{"anything-but": 6}]), true);
    check("missing", json!([{"anything-but": "stopped"}]), false);
    // A value of another type is another value.
    check("size", json!([{"anything-but": "5"}]), true);
    check("nothing", json!([{"anything-but": "running"}]), true);
    check("flag", json!([{"anything-but": 1}]), true);
}

#[test]
fn anything_but_takes_operators_and_lists_of_their_operands() {
    check("rgn", json!([{"anything-but": {"prefix": "us-"}}]), true);
    check(
        "rgn",
        json!([{"anything-but": {"prefix": ["us-", "eu-"]}}]),
        false,
    );
    check("file", json!([{"anything-but": {"suffix": ".png"}}]), false);
    check(
        "file",
        json!([{"anything-but": {"suffix": [".jpg", ".gif"]}}]),
        true,
    );
    check(
        "rgn",
        json!([{"anything-but": {"equals-ignore-case": "EU-WEST-1"}}]),
        false,
    );
    check(
        "rgn",
        json!([{"anything-but": {"equals-ignore-case": ["EU-WEST-2", "EU-WEST-3"]}}]),
        true,
    );
    check("file", json!([{"anything-but": {"wildcard": "*/eu/*"}}]), false);
    check(
        "file",
        json!([{"anything-but": {"wildcard": ["*/us/*", "*.gif"]}}]),
        true,
    );
}

#[test]
fn numeric_ranges_have_open_and_closed_ends() {
    check("size", json!([{"numeric": [">", 0, "<=", 5]}]), true);
    check("size", json!([{"numeric": [">", 0, "<", 5]}]), false);
    check("size", json!([{"numeric": [">=", 5]}]), true);
    check("size", json!([{"numeric": [">", 5]}]), false);
    check("size", json!([{"numeric": ["<", 10]}]), true);
    check("size", json!([{"numeric": ["<=", 4.999]}]), false);
    check("limit", json!([{"numeric": ["=", 3.018e2]}]), true);
    check("state", json!([{"numeric": ["<", 10]}]), false);
}

#[test]
fn cidr_takes_addresses_in_a_range() {
    check("ip", json!([{"cidr": "10.0.0.0/24"}]), true);
    check("ip", json!([{"cidr": "10.1.0.0/16"}]), false);
    check("state", json!([{"cidr": "0.0.0.0/0"}]), false);
}

#[test]
fn exists_asks_about_values() {
    check("state", json!([{"exists": true}]), true);
    check("nothing", json!([{"exists": true}]), true);
    check("missing", json!([{"exists": true}]), false);
    check("missing", json!([{"exists": false}]), true);
    check("state", json!([{"exists": false}]), false);
    check("state", json!([{"exists": false}, "running"]), true);
    check("missing", json!([{"exists": false}, "running"]), true);
    assert!(matches(json!({"old": {"state": [{"exists": false}]}})));
    // An object is not a value, nor is a list without values.
    check("people", json!([{"exists": false}]), true);
    check("list", json!([{"exists": true}]), false);
    assert!(!matches(json!({"new": [{"exists": true}]})));
}

#[test]
fn an_array_stands_for_its_members() {
    assert!(matches(json!({"changed": ["size", "owner"]})));
    assert!(!matches(json!({"changed": ["owner"]})));
    check("scores", json!([{"numeric": [">", 25]}]), true);
    check("scores", json!([{"numeric": [">", 30]}]), false);
    check("grid", json!([3]), true);
    // One member that is something else is enough.
    check("scores", json!([{"anything-but": 10}]), true);
}

#[test]
fn objects_in_an_array_are_taken_one_at_a_time() {
    let people = |pattern: Value| matches(json!({"new": {"people": pattern}}));
    assert!(people(json!({"first": ["Grace"]})));
    assert!(people(json!({"first": ["Grace"], "last": ["Hopper"]})));
    assert!(!people(json!({"first": ["Grace"], "last": ["King"]})));
    assert!(people(json!({"first": ["Ada"], "tags": ["b"]})));
    assert!(!people(json!({"first": ["Grace"], "tags": ["b"]})));
    assert!(people(json!({"born": {"year": [{"numeric": ["<", 1950]}]}})));
    assert!(!people(json!({"first": ["Ada"], "born": {"year": [1906]}})));
}

#[test]
fn absence_is_asked_of_the_object_that_was_picked_or_else_of_all() {
    let people = |pattern: Value| matches(json!({"new": {"people": pattern}}));
    assert!(people(
        json!({"first": ["Ada"], "born": {"year": [{"exists": false}]}})
    ));
    assert!(!people(
        json!({"first": ["Grace"], "born": {"year": [{"exists": false}]}})
    ));
    assert!(!people(json!({"tags": [{"exists": false}]})));
    assert!(people(json!({"height": [{"exists": false}]})));
}

#[test]
fn or_asks_for_one_of_its_objects() {
    let or = |one: Value, other: Value| json!({"event": ["modify"], "$or": [one, other]});
    let running = json!({"new": {"state": ["running"]}});
    let large = json!({"new": {"size": [{"numeric": [">", 100]}]}});
    let stopped = json!({"new": {"state": ["stopped"]}});
    assert!(matches(or(large.clone(), running.clone())));
    assert!(!matches(or(large.clone(), stopped.clone())));
    // Inside of objects, beside another one, and nested.
    assert!(matches(json!({
        "$or": [large, running],
        "new": {"$or": [{"ip": [1]}, {"rgn": [{"prefix": "eu"}], "$or": [{"flag": [false]}, {"limit": [301.8]}]}]},
    })));
}

#[test]
fn or_and_what_is_beside_it_look_at_the_same_object_of_an_array() {
    let pattern = |last: &str| {
        json!({"new": {"people": {
            "first": ["Ada"],
            "$or": [{"last": [last]}, {"born": {"year": [1906]}}],
        }}})
    };
    assert!(matches(pattern("King")));
    assert!(!matches(pattern("Hopper")));
    // Also with the `$or` at an outer level.
    assert!(!matches(json!({"new": {
        "people": {"first": ["Ada"]},
        "$or": [{"people": {"last": ["Hopper"]}}, {"state": ["stopped"]}],
    }})));
}

#[test]
fn a_dot_in_a_name_is_part_of_the_name() {
    check("dotted.name", json!(["here"]), true);
    assert!(!matches(json!({"new.state": ["running"]})));
}

#[test]
fn an_event_that_is_no_object_has_no_fields() {
    let present = Pattern::parse(&json!({"a": [{"exists": true}]})).unwrap();
    let absent = Pattern::parse(&json!({"a": [{"exists": false}]})).unwrap();
    for event in [json!(null), json!("a"), json!(7)] {
        assert!(!present.matches(&event));
        assert!(absent.matches(&event));
    }
}
