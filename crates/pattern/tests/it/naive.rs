//! The documentation implemented literally and slowly, without the code under test.
//!
//! An event is a list of values, each with its path and with the members of arrays it lies in. A pattern is a list of
//! rules, each a list of paths with alternatives. A rule matches if each path can be given a value such that no two
//! values lie in different members of one array, and no value of a path that must be absent lies with them.

use serde_json::Value;
use std::collections::BTreeMap;

/// Which member of which array; arrays are identified by the path to them, with indexes.
type Membership = BTreeMap<String, usize>;
type Rule = Vec<(Vec<String>, Vec<Value>)>;

struct Found {
    path: Vec<String>,
    value: Value,
    membership: Membership,
}

pub(crate) fn matches(pattern: &Value, event: &Value) -> bool {
    let mut values = Vec::new();
    collect(event, &mut Vec::new(), "", &Membership::new(), &mut values);
    rules(pattern, &[])
        .iter()
        .any(|rule| satisfiable(rule, &values, &Membership::new(), &[]))
}

fn collect(
    value: &Value,
    path: &mut Vec<String>,
    place: &str,
    membership: &Membership,
    found: &mut Vec<Found>,
) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                path.push(name.clone());
                collect(value, path, &format!("{place}/{name}"), membership, found);
                path.pop();
            }
        }
        Value::Array(members) => {
            for (index, member) in members.iter().enumerate() {
                let mut inside = membership.clone();
                if member.is_object() || member.is_array() {
                    inside.insert(place.to_owned(), index);
                }
                collect(member, path, &format!("{place}/{index}"), &inside, found);
            }
        }
        value => found.push(Found {
            path: path.clone(),
            value: value.clone(),
            membership: membership.clone(),
        }),
    }
}

fn rules(pattern: &Value, prefix: &[String]) -> Vec<Rule> {
    let mut all: Vec<Rule> = vec![vec![]];
    for (name, value) in pattern.as_object().unwrap() {
        let path: Vec<String> = prefix.iter().cloned().chain([name.clone()]).collect();
        let parts: Vec<Rule> = match value {
            Value::Array(alternatives) if name == "$or" => alternatives
                .iter()
                .flat_map(|object| rules(object, prefix))
                .collect(),
            Value::Array(alternatives) => vec![vec![(path, alternatives.clone())]],
            nested => rules(nested, &path),
        };
        all = all
            .iter()
            .flat_map(|rule| parts.iter().map(|part| [rule.clone(), part.clone()].concat()))
            .collect();
    }
    all
}

fn satisfiable(
    rule: &[(Vec<String>, Vec<Value>)],
    values: &[Found],
    so_far: &Membership,
    absent: &[&Vec<String>],
) -> bool {
    let Some(((path, alternatives), rest)) = rule.split_first() else {
        return absent.iter().all(|path| {
            !values
                .iter()
                .any(|found| found.path == **path && together(so_far, found).is_some())
        });
    };
    let by_value = values.iter().filter(|found| found.path == *path).any(|found| {
        alternatives
            .iter()
            .any(|alternative| holds(alternative, &found.value))
            && together(so_far, found)
                .is_some_and(|membership| satisfiable(rest, values, &membership, absent))
    });
    let may_be_absent = alternatives
        .iter()
        .any(|alternative| alternative["exists"] == Value::Bool(false));
    by_value || (may_be_absent && satisfiable(rest, values, so_far, &[absent, &[path]].concat()))
}

fn together(so_far: &Membership, found: &Found) -> Option<Membership> {
    let mut both = so_far.clone();
    for (array, index) in &found.membership {
        if *both.entry(array.clone()).or_insert(*index) != *index {
            return None;
        }
    }
    Some(both)
}

fn holds(alternative: &Value, value: &Value) -> bool {
    let Some((operator, operand)) = alternative.as_object().and_then(|object| object.iter().next()) else {
        return same(alternative, value);
    };
    match operator.as_str() {
        "exists" => operand == &Value::Bool(true),
        "numeric" => value.as_f64().is_some_and(|value| {
            operand.as_array().unwrap().chunks(2).all(|term| {
                let bound = term[1].as_f64().unwrap();
                match term[0].as_str().unwrap() {
                    "=" => value == bound,
                    "<" => value < bound,
                    "<=" => value <= bound,
                    ">" => value > bound,
                    _ => value >= bound,
                }
            })
        }),
        "anything-but" => !list(operand).iter().any(|unwanted| match unwanted.as_object() {
            Some(object) => object.iter().any(|(operator, operand)| {
                list(operand)
                    .iter()
                    .any(|operand| text_holds(operator, operand, value))
            }),
            None => same(unwanted, value),
        }),
        operator => text_holds(operator, operand, value),
    }
}

fn list(operand: &Value) -> Vec<Value> {
    operand
        .as_array()
        .cloned()
        .unwrap_or_else(|| vec![operand.clone()])
}

fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

fn text_holds(operator: &str, operand: &Value, value: &Value) -> bool {
    let Some(value) = value.as_str() else {
        return false;
    };
    if let Some(folded) = operand.get("equals-ignore-case") {
        let (value, folded) = (value.to_lowercase(), folded.as_str().unwrap().to_lowercase());
        return text_holds(operator, &folded.into(), &value.into());
    }
    let operand = operand.as_str().unwrap();
    match operator {
        "prefix" => value.starts_with(operand),
        "suffix" => value.ends_with(operand),
        "equals-ignore-case" => value.to_lowercase() == operand.to_lowercase(),
        "wildcard" => spans(
            &operand.chars().collect::<Vec<_>>(),
            &value.chars().collect::<Vec<_>>(),
        ),
        "cidr" => {
            let (network, bits) = operand.split_once('/').unwrap();
            let bits: usize = bits.parse().unwrap();
            match (binary(network), binary(value)) {
                (Some(network), Some(value)) => network[..bits] == value[..bits],
                _ => false,
            }
        }
        other => unreachable!("{other}"),
    }
}

fn spans(wildcard: &[char], text: &[char]) -> bool {
    match wildcard {
        [] => text.is_empty(),
        ['*', rest @ ..] => (0..=text.len()).any(|taken| spans(rest, &text[taken..])),
        ['\\', letter, rest @ ..] | [letter, rest @ ..] => {
            text.first() == Some(letter) && spans(rest, &text[1..])
        }
    }
}

/// The 32 digits of an address of four numbers.
fn binary(address: &str) -> Option<String> {
    let numbers: Option<Vec<u8>> = address.split('.').map(|number| number.parse().ok()).collect();
    let numbers = numbers.filter(|numbers| numbers.len() == 4)?;
    Some(numbers.iter().map(|number| format!("{number:08b}")).collect())
}
