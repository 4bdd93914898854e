//! Patterns over EventBridge's own envelope: `source`, `detail-type`, and fields of `detail`. The example is the rule of a stream's
//! handler that has to hear of removed layers, and of nothing else.

use serde_json::{Value, json};
use trestle_pattern::Pattern;

const SOURCE: &str = "kl.prod.db-ver2";

/// The rule: rows of layers that were removed from this table.
fn removed_layers() -> Pattern {
    Pattern::parse(&json!({
        "source": [SOURCE],
        "detail-type": ["REMOVE"],
        "detail": {"pk_type": ["lyr"]},
    }))
    .unwrap()
}

/// What the stream's handler makes of a record.
fn event(source: &str, detail_type: &str, pk_type: &str) -> Value {
    json!({
        "version": "0",
        "id": "17793124-05d4-b198-2fde-7ededc63b103",
        "account": "770693421928",
        "time": "2026-05-01T02:00:00Z",
        "region": "eu-west-1",
        "resources": [],
        "source": source,
        "detail-type": detail_type,
        "detail": {
            "pk_type": pk_type,
            "sk_type": "lyrVrsn",
            "record": {"eventName": detail_type, "dynamodb": {"Keys": {"pk": {"S": "lyr#eu-west-1:numpy:p3.12"}}}},
        },
    })
}

#[test]
fn of_all_sources_events_and_kinds_of_rows_one_combination_passes() {
    let rule = removed_layers();
    let sources = [SOURCE, "kl.dev.db-ver2", "KL.prod.db-ver2", "aws.dynamodb", ""];
    let detail_types = ["REMOVE", "INSERT", "MODIFY", "remove", "REMOVED", ""];
    let pk_types = ["lyr", "bld", "bldVrsn0", "cnfg", "Lyr", "lyrVrsn", "ly", ""];
    let mut passed = Vec::new();
    for source in sources {
        for detail_type in detail_types {
            for pk_type in pk_types {
                if rule.matches(&event(source, detail_type, pk_type)) {
                    passed.push((source, detail_type, pk_type));
                }
            }
        }
    }
    assert_eq!(passed, [(SOURCE, "REMOVE", "lyr")]);
}

#[test]
fn each_field_must_be_in_its_place() {
    let rule = removed_layers();
    let removed = event(SOURCE, "REMOVE", "lyr");
    assert!(rule.matches(&removed));
    // A field that is missing is no field that may be anything.
    for name in ["source", "detail-type", "detail"] {
        let mut without = removed.clone();
        without.as_object_mut().unwrap().remove(name);
        assert!(!rule.matches(&without), "without {name}");
    }
    for (what, detail) in [
        ("without its kind", json!({"sk_type": "lyr"})),
        ("with the kind deeper", json!({"record": {"pk_type": "lyr"}})),
        ("with no value", json!({"pk_type": null})),
        ("with an object", json!({"pk_type": {"S": "lyr"}})),
        ("as text", json!("{\"pk_type\": \"lyr\"}")),
    ] {
        let mut other = removed.clone();
        other["detail"] = detail;
        assert!(!rule.matches(&other), "detail {what}");
    }
    let mut beside = event(SOURCE, "REMOVE", "bld");
    beside["pk_type"] = json!("lyr");
    beside["detail.pk_type"] = json!("lyr");
    assert!(!rule.matches(&beside), "the kind beside the detail");
}

#[test]
fn what_the_rule_does_not_name_makes_no_difference() {
    let rule = removed_layers();
    let mut larger = event(SOURCE, "REMOVE", "lyr");
    larger["detail"]["sk_type"] = json!("anything");
    larger["detail"]["record"] = json!(null);
    larger["region"] = json!("us-east-1");
    larger["more"] = json!([1, 2]);
    assert!(rule.matches(&larger));
}

#[test]
fn a_rule_for_several_kinds_takes_each_of_them_and_a_prefix_all_that_begin_so() {
    let rule = |pk_types: Value| {
        let detail = json!({"pk_type": pk_types});
        Pattern::parse(&json!({"source": [{"prefix": "kl."}], "detail-type": ["REMOVE"], "detail": detail}))
            .unwrap()
    };
    let taken = |rule: &Pattern| {
        ["lyr", "bld", "bldVrsn0", "cnfg"].map(|pk_type| rule.matches(&event(SOURCE, "REMOVE", pk_type)))
    };
    assert_eq!(taken(&rule(json!(["lyr", "cnfg"]))), [true, false, false, true]);
    assert_eq!(
        taken(&rule(json!([{"prefix": "bld"}]))),
        [false, true, true, false]
    );
    assert_eq!(
        taken(&rule(json!([{"anything-but": "lyr"}]))),
        [false, true, true, true]
    );
    assert!(!rule(json!(["lyr"])).matches(&event("aws.kl.", "REMOVE", "lyr")));
}
