//! Access patterns as written.

use trestle_item::AttributeValue;

use super::section::{Section, Value, described, in_order, scalar};
use crate::draft::{DraftAccess, DraftTest, Name, Operand, Test};
use crate::fields;
use crate::problem::{Problems, suggestion};
use crate::template::{Field, RawPart, parse};

pub(super) fn read(name: Name, section: &Section<'_>, problems: &mut Problems<'_>) -> DraftAccess {
    let tests = tests(section, problems);
    DraftAccess {
        name,
        about: section.plain("about", problems),
        get: section.text("get", problems),
        query: section.text("query", problems),
        whole: tests.is_some(),
        tests: tests.unwrap_or_default(),
        returns: section.texts("returns", problems),
        descending: section.choice("order", fields::ORDERS, problems) == Some("descending"),
        limit: section.count("limit", problems),
        consistent: section.flag("consistent", problems),
        scan: section.is_set("scan", problems),
    }
}

/// The tests, unless one of them cannot be read.
fn tests(section: &Section<'_>, problems: &mut Problems<'_>) -> Option<Vec<DraftTest>> {
    let mut tests = Vec::new();
    let mut whole = true;
    for (attribute, value) in section.entries("where", problems) {
        let what = format!("{}: `where.{}`", section.what, attribute.value);
        match test(&what, value, problems) {
            Some(test) => tests.push(DraftTest { attribute, test }),
            None => whole = false,
        }
    }
    whole.then_some(tests)
}

fn test(what: &str, value: &Value<'_>, problems: &mut Problems<'_>) -> Option<Test<Operand>> {
    let Some(table) = value.get_ref().as_table() else {
        return operand(what, value, problems).map(Test::Eq);
    };
    let entries = in_order(table);
    let [(word, value)] = entries.as_slice() else {
        let message = format!("{what} has {} comparisons", entries.len());
        problems.error(
            value.span().start,
            message,
            "write one, such as `{ lt = \"{before}\" }`; `between` has both bounds",
        );
        return None;
    };
    let one = |problems: &mut Problems<'_>| operand(what, value, problems);
    match word.value.as_str() {
        "lt" => one(problems).map(Test::Lt),
        "le" => one(problems).map(Test::Le),
        "gt" => one(problems).map(Test::Gt),
        "ge" => one(problems).map(Test::Ge),
        "ne" => one(problems).map(Test::Ne),
        "begins_with" => one(problems).map(Test::BeginsWith),
        "between" => match operands(what, value, problems)?.as_slice() {
            [low, high] => Some(Test::Between(low.clone(), high.clone())),
            _ => {
                problems.error(
                    value.span().start,
                    format!("{what}: `between` has not two bounds"),
                    "write `between = [\"{from}\", \"{to}\"]`",
                );
                None
            }
        },
        "one_of" => operands(what, value, problems).map(Test::OneOf),
        "exists" => {
            let found = value.get_ref().as_bool();
            if found.is_none() {
                problems.error(
                    value.span().start,
                    format!("{what}: `exists` is {}", described(value)),
                    "write true or false",
                );
            }
            found.map(Test::Exists)
        }
        other => {
            let help = suggestion(other, fields::COMPARISONS.iter().copied());
            problems.error(
                word.at,
                format!("{what} has the unknown comparison `{other}`"),
                help,
            );
            None
        }
    }
}

fn operands(what: &str, value: &Value<'_>, problems: &mut Problems<'_>) -> Option<Vec<Operand>> {
    let Some(list) = value.get_ref().as_array().filter(|list| !list.is_empty()) else {
        problems.error(
            value.span().start,
            format!("{what} is {}", described(value)),
            "write a list of values",
        );
        return None;
    };
    list.iter()
        .map(|member| operand(what, member, problems))
        .collect()
}

fn operand(what: &str, value: &Value<'_>, problems: &mut Problems<'_>) -> Option<Operand> {
    const FORM: &str = "write one value, or one parameter: \"{region}\"; literal braces are doubled";
    let Some(found) = scalar(value) else {
        problems.error(
            value.span().start,
            format!("{what} is {}", described(value)),
            FORM,
        );
        return None;
    };
    let AttributeValue::S(text) = &found.value else {
        return Some(Operand::Value(found.value));
    };
    if text.is_empty() {
        return Some(Operand::Value(found.value));
    }
    let parts = match parse(text) {
        Ok(parts) => parts,
        Err(reason) => {
            problems.error(found.at, format!("{what} {reason}"), FORM);
            return None;
        }
    };
    match parts.as_slice() {
        [RawPart::Literal(text)] => Some(Operand::Value(AttributeValue::S(text.clone()))),
        [RawPart::Field(field @ Field { attribute, .. })]
            if *field
                == (Field {
                    attribute: attribute.clone(),
                    ..Field::default()
                }) =>
        {
            Some(Operand::Parameter(attribute.clone()))
        }
        _ => {
            problems.error(
                found.at,
                format!("{what} mixes text and parameters: {text:?}"),
                FORM,
            );
            None
        }
    }
}
