//! Literals and parameters to attribute values.

use std::fmt;

use trestle_item::{AttributeValue, Map, Number, ValueError};

use crate::error::{Result, StatementError};
use crate::parameters::Parameters;
use crate::span::Span;
use crate::syntax::{Expr, ExprKind};

/// How deep lists and maps may nest.
const NESTING_MAX: usize = 32;

/// Where inside a value a problem lies; prints `root.x[1]`.
struct Trail<'a> {
    outer: Option<&'a Trail<'a>>,
    step: TrailStep<'a>,
    depth: usize,
}

enum TrailStep<'a> {
    Root,
    Name(&'a str),
    Index(usize),
}

impl Trail<'_> {
    const ROOT: Trail<'static> = Trail {
        outer: None,
        step: TrailStep::Root,
        depth: 0,
    };

    fn name<'s>(&'s self, name: &'s str) -> Trail<'s> {
        Trail {
            outer: Some(self),
            step: TrailStep::Name(name),
            depth: self.depth + 1,
        }
    }

    fn index(&self, index: usize) -> Trail<'_> {
        Trail {
            outer: Some(self),
            step: TrailStep::Index(index),
            depth: self.depth + 1,
        }
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(outer) = self.outer {
            outer.fmt(f)?;
        }
        match self.step {
            TrailStep::Root => f.write_str("root"),
            TrailStep::Name(name) => write!(f, ".{name}"),
            TrailStep::Index(index) => write!(f, "[{index}]"),
        }
    }
}

/// Whether the expression is a value rather than something computed from an item.
pub(crate) fn is_value(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Text(_)
        | ExprKind::Number(_)
        | ExprKind::Bool(_)
        | ExprKind::Null
        | ExprKind::Ion(_)
        | ExprKind::Parameter(_)
        | ExprKind::List(_)
        | ExprKind::Bag(_)
        | ExprKind::Struct(_) => true,
        ExprKind::Signed { .. } => signed_number(expr).is_some(),
        _ => false,
    }
}

/// The value of a literal or parameter.
pub(crate) fn value(expr: &Expr, parameters: Parameters<'_>) -> Result<AttributeValue> {
    value_at(expr, parameters, &Trail::ROOT)
}

/// The item of an `INSERT`. Messages count each attribute's value as a root of its own.
pub(crate) fn item(expr: &Expr, parameters: Parameters<'_>) -> Result<Map> {
    let ExprKind::Struct(members) = &expr.kind else {
        return Err(StatementError::at(
            "Unsupported format in item expression. \
             Please use struct format {...} to express item values for insert statement.",
            expr.span,
        ));
    };
    let mut item = Map::with_capacity(members.len());
    for (name, member) in members {
        let name = member_name(name, &item, &Trail::ROOT)?;
        item.insert(name, value_at(member, parameters, &Trail::ROOT)?);
    }
    Ok(item)
}

fn value_at(expr: &Expr, parameters: Parameters<'_>, trail: &Trail<'_>) -> Result<AttributeValue> {
    match &expr.kind {
        ExprKind::Text(text) => Ok(AttributeValue::S(text.clone())),
        ExprKind::Bool(truth) => Ok(AttributeValue::Bool(*truth)),
        ExprKind::Null => Ok(AttributeValue::Null),
        ExprKind::Number(_) | ExprKind::Signed { .. } => number(expr, trail),
        ExprKind::Parameter(place) => parameter(parameters.get(*place)?, trail),
        ExprKind::List(members) => list(members, parameters, trail),
        ExprKind::Bag(members) => set(members, expr.span, parameters, trail),
        ExprKind::Struct(members) => map(members, parameters, trail),
        ExprKind::Ion(class) => Err(StatementError::at(
            format_args!("Ion Literals are not supported: {class} under key {trail}"),
            expr.span,
        )),
        _ => Err(unsupported(expr, trail)),
    }
}

/// As DynamoDB Local words it: by what was written at the root, by the kind of node within lists and maps.
fn unsupported(expr: &Expr, trail: &Trail<'_>) -> StatementError {
    let is_root = trail.depth == 0;
    let what = match &expr.kind {
        ExprKind::Path { .. } => {
            let what = if is_root { "PATH" } else { "Path" };
            return StatementError::new(unsupported_text(what, trail));
        }
        ExprKind::Name(_) if !is_root => "VariableReference",
        ExprKind::Missing if !is_root => "LiteralMissing",
        ExprKind::Call { .. } | ExprKind::Infix { .. } | ExprKind::Signed { .. } if !is_root => "NAry",
        ExprKind::Name(name) => name.as_str(),
        ExprKind::Call { name, .. } => name.as_str(),
        ExprKind::Missing => "MISSING",
        ExprKind::Infix { operator, .. } => operator.sign(),
        ExprKind::Signed { negative: true, .. } => "-",
        ExprKind::Signed { negative: false, .. } => "+",
        ExprKind::Select(_) => {
            return StatementError::at("Unsupported token in expression: SELECT", expr.span);
        }
        _ => expr.node(),
    };
    StatementError::at(unsupported_text(what, trail), expr.span)
}

/// Elements of lists are shown as members here, and nowhere else.
fn unsupported_text(what: &str, trail: &Trail<'_>) -> String {
    let trail = trail.to_string().replace('[', ".").replace(']', "");
    format!("Unsupported data type: {what} under key {trail}")
}

/// The digits of a number and whether signs before it make it negative.
fn signed_number(mut expr: &Expr) -> Option<(bool, &str)> {
    let mut below_zero = false;
    loop {
        match &expr.kind {
            ExprKind::Number(digits) => return Some((below_zero, digits)),
            ExprKind::Signed { negative, operand } => {
                below_zero ^= negative;
                expr = operand;
            }
            _ => return None,
        }
    }
}

fn number(expr: &Expr, trail: &Trail<'_>) -> Result<AttributeValue> {
    let (negative, digits) = signed_number(expr).ok_or_else(|| unsupported(expr, trail))?;
    let sign = if negative { "-" } else { "" };
    Number::parse(&format!("{sign}{digits}"))
        .map(AttributeValue::N)
        .map_err(|problem| StatementError::new(format!("{problem} under {trail}")))
}

fn parameter(value: &AttributeValue, trail: &Trail<'_>) -> Result<AttributeValue> {
    if trail.depth + nesting(value) > NESTING_MAX {
        return Err(too_deep(trail));
    }
    Ok(value.clone())
}

/// How many lists and maps enclose the innermost value. Parameters arrive with bounded nesting.
fn nesting(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::L(list) => 1 + list.iter().map(nesting).max().unwrap_or(0),
        AttributeValue::M(map) => 1 + map.values().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}

fn too_deep(trail: &Trail<'_>) -> StatementError {
    StatementError::new(format!(
        "Nesting Levels have exceeded supported limits under {trail}"
    ))
}

fn list(members: &[Expr], parameters: Parameters<'_>, trail: &Trail<'_>) -> Result<AttributeValue> {
    if trail.depth >= NESTING_MAX {
        return Err(too_deep(trail));
    }
    let list = members
        .iter()
        .enumerate()
        .map(|(index, member)| value_at(member, parameters, &trail.index(index)))
        .collect::<Result<Vec<_>>>()?;
    Ok(AttributeValue::L(list))
}

fn map(members: &[(Expr, Expr)], parameters: Parameters<'_>, trail: &Trail<'_>) -> Result<AttributeValue> {
    if trail.depth >= NESTING_MAX {
        return Err(too_deep(trail));
    }
    let mut map = Map::with_capacity(members.len());
    for (name, member) in members {
        let name = member_name(name, &map, trail)?;
        let value = value_at(member, parameters, &trail.name(&name))?;
        map.insert(name, value);
    }
    Ok(AttributeValue::M(map))
}

/// A member's name; it must be new to `map`.
fn member_name(name: &Expr, map: &Map, trail: &Trail<'_>) -> Result<String> {
    let ExprKind::Text(text) = &name.kind else {
        return Err(StatementError::at(
            format_args!(
                "Tuple keys must be of type String. Actual type: {} under {trail}",
                name.node()
            ),
            name.span,
        ));
    };
    if text.is_empty() {
        return Err(StatementError::new("Path component cannot be an empty string"));
    }
    if map.contains_key(text) {
        let duplicate = format_args!("Duplicate keys in tuple. Key: {text} under {trail}").to_string();
        return Err(StatementError::at(duplicate, name.span));
    }
    Ok(text.clone())
}

fn set(
    members: &[Expr],
    span: Span,
    parameters: Parameters<'_>,
    trail: &Trail<'_>,
) -> Result<AttributeValue> {
    const MIXED: &str =
        "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags";
    let mut texts = Vec::new();
    let mut numbers = Vec::new();
    let mut bytes = Vec::new();
    for member in members {
        let scalar = if is_value(member) {
            value_at(member, parameters, trail)?
        } else {
            AttributeValue::Null
        };
        match scalar {
            AttributeValue::S(text) => texts.push(text),
            AttributeValue::N(number) => numbers.push(number),
            AttributeValue::B(blob) => bytes.push(blob),
            _ => return Err(StatementError::at(MIXED, member.span)),
        }
    }
    match (texts.is_empty(), numbers.is_empty(), bytes.is_empty()) {
        (true, true, true) => Err(StatementError::at("Empty bags are not supported", span)),
        (false, true, true) => AttributeValue::string_set(texts).map_err(refused_set),
        (true, true, false) => AttributeValue::binary_set(bytes).map_err(refused_set),
        (true, false, true) => {
            // DynamoDB finds repeated numbers while it converts the literal, and has a separate message for
            // them.
            let shown = numbers
                .iter()
                .map(Number::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            AttributeValue::number_set(numbers).map_err(|_| {
                StatementError::new(format!(
                    "One or more parameter values were invalid: \
                     Input collection [{shown}] contains duplicates! under {trail}"
                ))
            })
        }
        _ => Err(StatementError::new(MIXED)),
    }
}

fn refused_set(problem: ValueError) -> StatementError {
    StatementError::new(problem.to_string())
}
