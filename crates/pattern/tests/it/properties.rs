//! Random patterns and events, small enough that they often match.

use crate::naive;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trestle_pattern::{Fault, Pattern, Template};

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "d"]).prop_map(str::to_owned)
}

/// Names inside `$or` are rarely those beside it: a path that is given twice is refused.
fn name_in_or() -> impl Strategy<Value = String> {
    prop_oneof![1 => name(), 4 => prop::sample::select(vec!["c", "d"]).prop_map(str::to_owned)]
}

fn name_beside_or() -> impl Strategy<Value = String> {
    prop_oneof![1 => name(), 4 => prop::sample::select(vec!["a", "b"]).prop_map(str::to_owned)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[abAB]{0,3}",
        1 => r"[ab*\\]{0,3}",
        1 => "10\\.0\\.[01]\\.[0-3]",
    ]
}

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3i64..4).prop_map(|n| json!(n)),
        (-3i32..4).prop_map(|n| json!(f64::from(n) / 2.0))
    ]
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => text().prop_map(Value::String),
        3 => number(),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
    ]
}

fn object(member: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    btree_map(name(), member, 0..4).prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn event() -> impl Strategy<Value = Value> {
    let value = scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![object(inner.clone()), vec(inner, 0..4).prop_map(Value::Array)]
    });
    object(value)
}

fn wildcard() -> impl Strategy<Value = Value> {
    vec(prop::sample::select(vec!["a", "b", "A", "*", r"\*", r"\\"]), 0..5).prop_map(|parts| {
        let mut text = parts.concat();
        while text.contains("**") {
            text = text.replace("**", "*");
        }
        Value::String(text)
    })
}

fn one_or_list(operand: impl Strategy<Value = Value> + Clone + 'static) -> BoxedStrategy<Value> {
    prop_oneof![operand.clone(), vec(operand, 1..3).prop_map(Value::Array)].boxed()
}

fn alternative() -> impl Strategy<Value = Value> {
    let plain = || text().prop_map(Value::String).boxed();
    let some = || "[abAB]{1,2}".prop_map(Value::String).boxed();
    let folded = || text().prop_map(|text| json!({"equals-ignore-case": text}));
    let sign = |signs: Vec<&'static str>| prop::sample::select(signs);
    prop_oneof![
        4 => scalar(),
        1 => prop_oneof![plain(), folded().boxed()].prop_map(|operand| json!({"prefix": operand})),
        1 => prop_oneof![plain(), folded().boxed()].prop_map(|operand| json!({"suffix": operand})),
        1 => folded(),
        1 => wildcard().prop_map(|operand| json!({"wildcard": operand})),
        2 => any::<bool>().prop_map(|operand| json!({"exists": operand})),
        1 => (sign(vec!["=", "<", "<=", ">", ">="]), number()).prop_map(|(sign, n)| json!({"numeric": [sign, n]})),
        1 => (sign(vec![">", ">="]), number(), sign(vec!["<", "<="]), 1..4)
            .prop_map(|(low, n, high, more)| json!({"numeric": [low, n, high, n.as_f64().unwrap() + f64::from(more)]})),
        1 => (0u8..2, 24u8..33).prop_map(|(third, bits)| json!({"cidr": format!("10.0.{third}.2/{bits}")})),
        1 => one_or_list(plain()).prop_map(|operand| json!({"anything-but": operand})),
        1 => one_or_list(number().boxed()).prop_map(|operand| json!({"anything-but": operand})),
        1 => (sign(vec!["prefix", "suffix", "equals-ignore-case"]), one_or_list(some()))
            .prop_map(|(operator, operand)| json!({"anything-but": {operator: operand}})),
        1 => one_or_list(wildcard().boxed()).prop_map(|operand| json!({"anything-but": {"wildcard": operand}})),
    ]
}

fn fields(field: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Value> {
    let plain = || btree_map(name_beside_or(), field.clone(), 1..3);
    let either = vec(btree_map(name_in_or(), field.clone(), 1..3), 2..4);
    (plain(), prop::option::weighted(0.3, either)).prop_map(|(named, either)| {
        let mut object: Map<String, Value> = named.into_iter().collect();
        if let Some(either) = either {
            object.insert("$or".into(), json!(either));
        }
        Value::Object(object)
    })
}

fn pattern() -> impl Strategy<Value = Value> {
    let leaf = vec(alternative(), 1..3).prop_map(Value::Array);
    let field = leaf.prop_recursive(3, 16, 3, |inner| fields(inner).boxed());
    fields(field)
}

/// Events that resemble a pattern: its fields, values close to its operands, and arrays of both.
fn event_for(pattern: &Value) -> BoxedStrategy<Value> {
    match pattern {
        Value::Object(_) => {
            let members: Vec<BoxedStrategy<(String, Option<Value>)>> = named(pattern)
                .into_iter()
                .map(|(name, field)| (Just(name), prop::option::weighted(0.8, event_for(field))).boxed())
                .collect();
            let object = members.prop_map(|members| {
                let present = members
                    .into_iter()
                    .filter_map(|(name, value)| Some((name, value?)));
                Value::Object(present.collect())
            });
            in_arrays(object.boxed())
        }
        leaf => {
            let mut close = Vec::new();
            collect_close(leaf, &mut close);
            let value = if close.is_empty() {
                scalar().boxed()
            } else {
                prop_oneof![3 => prop::sample::select(close), 1 => scalar()].boxed()
            };
            prop_oneof![8 => in_arrays(value), 1 => object(scalar())].boxed()
        }
    }
}

/// The fields of a pattern's object, those in its `$or` included.
fn named(pattern: &Value) -> Vec<(String, &Value)> {
    let mut fields = Vec::new();
    for (name, field) in pattern.as_object().unwrap() {
        match field {
            Value::Array(either) if name == "$or" => fields.extend(either.iter().flat_map(named)),
            field => fields.push((name.clone(), field)),
        }
    }
    fields
}

fn in_arrays(value: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let array = vec(value.clone(), 0..4).prop_map(Value::Array).boxed();
    let nested = vec(prop_oneof![value.clone(), array.clone()], 0..3).prop_map(Value::Array);
    prop_oneof![5 => value, 4 => array, 1 => nested].boxed()
}

/// The operands in a leaf of a pattern, and their neighbours.
fn collect_close(operand: &Value, close: &mut Vec<Value>) {
    match operand {
        Value::Array(operands) => operands.iter().for_each(|operand| collect_close(operand, close)),
        Value::Object(operator) => operator
            .values()
            .for_each(|operand| collect_close(operand, close)),
        Value::String(text) => {
            let plain = text.replace('*', "b").replace('\\', "");
            for near in [
                format!("{plain}a"),
                format!("a{plain}"),
                plain.to_uppercase(),
                plain,
                text.clone(),
            ] {
                close.push(Value::String(near));
            }
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap();
            close.extend([json!(number), json!(number - 0.5), json!(number + 0.5)]);
        }
        other => close.push(other.clone()),
    }
}

fn pattern_and_events() -> impl Strategy<Value = (Value, Vec<Value>)> {
    pattern().prop_flat_map(|pattern| {
        let events = vec(event_for(&pattern), 1..8);
        (Just(pattern), events)
    })
}

fn is_expected(fault: &Fault) -> bool {
    fault.message.contains("twice") || fault.message.contains("combinations or more")
}

fn any_json() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "a",
        "$or",
        "prefix",
        "suffix",
        "exists",
        "numeric",
        "anything-but",
        "wildcard",
        "cidr",
        "equals-ignore-case",
    ]);
    scalar().prop_recursive(5, 32, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::Array),
            btree_map(name.clone(), inner, 0..3).prop_map(|members| Value::Object(
                members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            )),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pattern_matches_what_the_documentation_says((pattern, events) in pattern_and_events()) {
        // A path given twice is refused, and, about once in 400,000 patterns, too many combinations of `$or`.
        // Everything else that is generated here is allowed.
        match Pattern::parse(&pattern) {
            Ok(parsed) => for event in &events {
                prop_assert_eq!(parsed.matches(event), naive::matches(&pattern, event), "{} on {}", pattern, event);
            },
            Err(faults) => prop_assert!(faults.iter().all(is_expected), "{}: {:?}", pattern, faults),
        }
    }

    #[test]
    fn a_wildcard_spans_what_a_slow_search_says(wildcard in wildcard(), text in r"[abA*]{0,7}") {
        for pattern in [json!({"a": [{"wildcard": wildcard}]}), json!({"a": [{"anything-but": {"wildcard": wildcard}}]})] {
            let event = json!({"a": text});
            let parsed = Pattern::parse(&pattern).unwrap();
            prop_assert_eq!(parsed.matches(&event), naive::matches(&pattern, &event), "{} on {}", pattern, event);
        }
    }

    #[test]
    fn no_json_makes_the_reader_panic(pattern in any_json(), event in event()) {
        if let Ok(parsed) = Pattern::parse(&pattern) {
            parsed.matches(&event);
        }
    }

    #[test]
    fn a_filled_template_is_what_filling_its_text_gives(
        parts in vec((prop::sample::select(vec!["a", "b.c", "."]), any::<bool>()), 0..4),
        event in event(),
    ) {
        let holes: Vec<String> = parts
            .iter()
            .map(|(path, in_text)| if *in_text { format!("\"<{path}>\"") } else { format!("<{path}>") })
            .collect();
        let filled = Template::parse(&format!("[{}]", holes.join(","))).unwrap().fill(&event);
        let expected: Vec<Value> = parts
            .iter()
            .map(|(path, in_text)| {
                let found = match *path {
                    "." => event.clone(),
                    path => event.pointer(&format!("/{}", path.replace('.', "/"))).cloned().unwrap_or_default(),
                };
                match found {
                    found if !in_text => found,
                    Value::Null => json!(""),
                    Value::String(text) => json!(text),
                    found => json!(found.to_string()),
                }
            })
            .collect();
        prop_assert_eq!(filled, Value::Array(expected));
    }

    #[test]
    fn no_text_makes_the_template_panic(text in r#"[<>"\\{}\[\]:,a.'1 ]{0,24}"#, event in event()) {
        if let Ok(template) = Template::parse(&text) {
            template.fill(&event);
        }
    }
}
