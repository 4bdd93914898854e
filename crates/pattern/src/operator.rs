//! One alternative of a field: a plain value, or an object with one operator.

use crate::cidr::Cidr;
use crate::comparison::{Comparison, Text};
use crate::fault::{Fault, PatternPath};
use crate::fold::Folded;
use crate::numeric::{Bound, Range};
use crate::read::kind;
use crate::wildcard::Wildcard;
use serde_json::{Map, Number, Value};

const OPERATORS: &str =
    "prefix, suffix, equals-ignore-case, wildcard, anything-but, numeric, cidr and exists";
const NEGATED: &str = "prefix, suffix, equals-ignore-case and wildcard";

/// Reads an alternative; `None` means that the field may be absent.
pub(crate) fn alternative(path: &PatternPath<'_>, value: &Value) -> Result<Option<Comparison>, Fault> {
    Ok(Some(match value {
        Value::Null => Comparison::Null,
        Value::Bool(wanted) => Comparison::Bool(*wanted),
        Value::Number(wanted) => Comparison::Number(wanted.clone()),
        Value::String(wanted) => Comparison::Text(Text::Equals(wanted.clone())),
        Value::Object(object) => return operator(path, object),
        Value::Array(_) => {
            return Err(path.fault("must be a value or an object with one operator, not another list"));
        }
    }))
}

fn operator(path: &PatternPath<'_>, object: &Map<String, Value>) -> Result<Option<Comparison>, Fault> {
    let (name, operand) = single(path, object, OPERATORS)?;
    let path = &path.field(name);
    Ok(Some(match name {
        "prefix" => Comparison::Text(affix(path, operand, Text::Prefix, Text::PrefixIgnoreCase)?),
        "suffix" => Comparison::Text(affix(path, operand, Text::Suffix, Text::SuffixIgnoreCase)?),
        "equals-ignore-case" => Comparison::Text(ignore_case(path, operand)?),
        "wildcard" => Comparison::Text(wildcard(path, operand)?),
        "anything-but" => anything_but(path, operand)?,
        "numeric" => numeric(path, operand)?,
        "cidr" => Comparison::Cidr(Cidr::parse(text(path, operand)?).map_err(|message| path.fault(message))?),
        "exists" => match operand {
            Value::Bool(true) => Comparison::Anything,
            Value::Bool(false) => return Ok(None),
            other => return Err(path.fault(format!("must be true or false, not {}", kind(other)))),
        },
        _ => return Err(path.fault(format!("is no operator; there are {OPERATORS}"))),
    }))
}

/// The only member of an object.
fn single<'a>(
    path: &PatternPath<'_>,
    object: &'a Map<String, Value>,
    allowed: &str,
) -> Result<(&'a str, &'a Value), Fault> {
    let mut members = object.iter();
    match (members.next(), members.next()) {
        (Some((name, operand)), None) => Ok((name, operand)),
        _ => Err(path.fault(format!(
            "must hold exactly one operator, not {}; there are {allowed}",
            object.len()
        ))),
    }
}

fn text<'a>(path: &PatternPath<'_>, operand: &'a Value) -> Result<&'a str, Fault> {
    operand
        .as_str()
        .ok_or_else(|| path.fault(format!("must be text, not {}", kind(operand))))
}

/// A prefix or suffix: text, or `{"equals-ignore-case": text}`.
fn affix(
    path: &PatternPath<'_>,
    operand: &Value,
    exact: fn(String) -> Text,
    folded: fn(Folded) -> Text,
) -> Result<Text, Fault> {
    let Value::Object(object) = operand else {
        return Ok(exact(text(path, operand)?.to_owned()));
    };
    match single(path, object, "equals-ignore-case")? {
        (name @ "equals-ignore-case", operand) => Ok(folded(Folded::new(text(&path.field(name), operand)?))),
        (name, _) => Err(path
            .field(name)
            .fault("is not possible here; there is equals-ignore-case")),
    }
}

fn ignore_case(path: &PatternPath<'_>, operand: &Value) -> Result<Text, Fault> {
    Ok(Text::EqualsIgnoreCase(Folded::new(text(path, operand)?)))
}

fn wildcard(path: &PatternPath<'_>, operand: &Value) -> Result<Text, Fault> {
    let parsed = Wildcard::parse(text(path, operand)?);
    Ok(Text::Wildcard(parsed.map_err(|message| path.fault(message))?))
}

fn anything_but(path: &PatternPath<'_>, operand: &Value) -> Result<Comparison, Fault> {
    match operand {
        Value::String(unwanted) => Ok(Comparison::NoText(vec![Text::Equals(unwanted.clone())])),
        Value::Number(unwanted) => Ok(Comparison::NoNumber(vec![unwanted.clone()])),
        Value::Array(unwanted) => anything_but_list(path, unwanted),
        Value::Object(object) => anything_but_operator(path, object),
        other => Err(path.fault(format!(
            "must be text, a number, a list of either, or an object with one of {NEGATED}, not {}",
            kind(other)
        ))),
    }
}

fn anything_but_list(path: &PatternPath<'_>, unwanted: &[Value]) -> Result<Comparison, Fault> {
    let texts: Option<Vec<Text>> = unwanted
        .iter()
        .map(|value| Some(Text::Equals(value.as_str()?.to_owned())))
        .collect();
    let numbers: Option<Vec<Number>> = unwanted.iter().map(|value| value.as_number().cloned()).collect();
    match (texts, numbers) {
        _ if unwanted.is_empty() => Err(path.fault("is empty; give at least one value")),
        (Some(texts), _) => Ok(Comparison::NoText(texts)),
        (_, Some(numbers)) => Ok(Comparison::NoNumber(numbers)),
        _ => Err(path.fault("must be a list of texts alone or of numbers alone")),
    }
}

fn anything_but_operator(path: &PatternPath<'_>, object: &Map<String, Value>) -> Result<Comparison, Fault> {
    let (name, operand) = single(path, object, NEGATED)?;
    let path = &path.field(name);
    let read: fn(&PatternPath<'_>, &Value) -> Result<Text, Fault> = match name {
        "prefix" => |path, operand| Ok(Text::Prefix(some_text(path, operand)?)),
        "suffix" => |path, operand| Ok(Text::Suffix(some_text(path, operand)?)),
        "equals-ignore-case" => ignore_case,
        "wildcard" => wildcard,
        _ => return Err(path.fault(format!("is not possible in anything-but; there are {NEGATED}"))),
    };
    let Value::Array(list) = operand else {
        return Ok(Comparison::NoText(vec![read(path, operand)?]));
    };
    if list.is_empty() {
        return Err(path.fault("is empty; give at least one value"));
    }
    let texts = list
        .iter()
        .enumerate()
        .map(|(index, operand)| read(&path.index(index), operand));
    Ok(Comparison::NoText(texts.collect::<Result<_, _>>()?))
}

/// Every text begins and ends with the empty one, so that no text would pass.
fn some_text(path: &PatternPath<'_>, operand: &Value) -> Result<String, Fault> {
    match text(path, operand)? {
        "" => Err(path.fault("must not be empty: no text would be left")),
        some => Ok(some.to_owned()),
    }
}

/// `["=", n]`, `["<", n]`, or a lower bound and perhaps an upper one.
fn numeric(path: &PatternPath<'_>, operand: &Value) -> Result<Comparison, Fault> {
    const FORM: &str = "must be `[\"=\", n]`, one of `<`, `<=`, `>`, `>=` with a number, or a lower bound and then an upper one, \
         as in `[\">\", 0, \"<=\", 5]`";
    let Value::Array(terms) = operand else {
        return Err(path.fault(FORM));
    };
    let bound = |sign: &Value, at: &Value, open: &str, closed: &str| -> Option<Bound> {
        let sign = sign.as_str()?;
        (sign == open || sign == closed).then_some(Bound {
            at: at.as_number()?.clone(),
            included: sign == closed,
        })
    };
    let low = |sign, at| bound(sign, at, ">", ">=");
    let high = |sign, at| bound(sign, at, "<", "<=");
    let range = match terms.as_slice() {
        [Value::String(sign), Value::Number(wanted)] if sign == "=" => {
            return Ok(Comparison::Number(wanted.clone()));
        }
        [sign, at] => Range {
            low: low(sign, at),
            high: high(sign, at),
        },
        [sign, at, second, end] => match (low(sign, at), high(second, end)) {
            (Some(low), Some(high)) => Range {
                low: Some(low),
                high: Some(high),
            },
            _ => return Err(path.fault(FORM)),
        },
        _ => return Err(path.fault(FORM)),
    };
    if range.low.is_none() && range.high.is_none() {
        return Err(path.fault(FORM));
    }
    if range.is_empty() {
        return Err(path.fault("is a range without numbers: its lower bound is not below its upper one"));
    }
    Ok(Comparison::Range(range))
}
