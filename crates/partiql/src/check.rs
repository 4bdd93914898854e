//! What DynamoDB demands of a condition's operands, in its words.
//!
//! The rules are those of condition expressions, but the messages lack the parameter's name: a statement has no
//! `FilterExpression`.

use std::cmp::Ordering;

use trestle_expr::{AttributeType, Comparator, Condition, Operand};
use trestle_item::AttributeValue;

use crate::error::{Result, StatementError};

/// A condition may have this many operators and functions.
const OPERATORS_MAX: usize = 300;
/// `IN` takes at most this many operands on its right.
const IN_OPERANDS_MAX: usize = 100;

/// Checks a whole condition.
pub(crate) fn condition(condition: &Condition) -> Result<()> {
    if operators(condition) > OPERATORS_MAX {
        return Err(StatementError::new(format!(
            "The expression contains too many operators; operator count: {}",
            OPERATORS_MAX + 1
        )));
    }
    operands(condition)
}

pub(crate) fn wrong_type(operator: &str, operand_type: &str) -> StatementError {
    StatementError::new(format!(
        "Incorrect operand type for operator or function; \
         operator or function: {operator}, operand type: {operand_type}"
    ))
}

pub(crate) fn wrong_operand_count(function: &str, given: usize) -> StatementError {
    StatementError::new(format!(
        "Incorrect number of operands for operator or function; \
         operator or function: {function}, number of operands: {given}"
    ))
}

/// A function's operands, of which there must be `N`.
pub(crate) fn operand_count<'e, T, const N: usize>(function: &str, operands: &'e [T]) -> Result<&'e [T; N]> {
    operands
        .try_into()
        .map_err(|_| wrong_operand_count(function, operands.len()))
}

/// A path may not be an operand twice: the answer would not depend on the item.
pub(crate) fn distinct<'o>(
    operator: &str,
    first: &Operand,
    others: impl IntoIterator<Item = &'o Operand>,
) -> Result<()> {
    match first {
        Operand::Path(path) if others.into_iter().any(|other| other == first) => {
            Err(StatementError::new(format!(
                "The first operand must be distinct from the remaining operands for this operator or function; \
                 operator: {operator}, first operand: {path}"
            )))
        }
        _ => Ok(()),
    }
}

/// The type `attribute_type` asks for.
pub(crate) fn type_operand(function: &str, operand: &Operand) -> Result<AttributeType> {
    let Operand::Value(AttributeValue::S(name)) = operand else {
        return Err(wrong_type(
            function,
            known_type(operand).unwrap_or("{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"),
        ));
    };
    AttributeType::from_name(name).ok_or_else(|| {
        StatementError::new(format!(
            "Invalid attribute type name found; type: {name}, valid types: {{N,BS,L,B,NULL,M,S,SS,NS,BOOL}}"
        ))
    })
}

fn operators(condition: &Condition) -> usize {
    match condition {
        Condition::Or(all) | Condition::And(all) => {
            all.iter().map(operators).sum::<usize>() + all.len().saturating_sub(1)
        }
        Condition::Not(negated) => 1 + operators(negated),
        _ => 1,
    }
}

fn operands(condition: &Condition) -> Result<()> {
    match condition {
        Condition::Or(all) | Condition::And(all) => all.iter().try_for_each(operands),
        Condition::Not(negated) => operands(negated),
        Condition::Compare {
            left,
            comparator,
            right,
        } => compared(left, *comparator, right),
        Condition::Between { operand, low, high } => between(operand, low, high),
        Condition::In { operand, list } => one_of(operand, list),
        Condition::BeginsWith { operand, prefix } => {
            sized([operand, prefix])?;
            typed("begins_with", [operand, prefix], |class| {
                matches!(class, "S" | "B")
            })?;
            distinct("begins_with", operand, [prefix])
        }
        Condition::Contains { operand, element } => {
            sized([operand, element])?;
            distinct("contains", operand, [element])
        }
        Condition::HasType { operand, .. } => sized([operand]),
        Condition::Exists(_) | Condition::NotExists(_) => Ok(()),
    }
}

fn compared(left: &Operand, comparator: Comparator, right: &Operand) -> Result<()> {
    sized([left, right])?;
    if !matches!(comparator, Comparator::Equal | Comparator::NotEqual) {
        typed(comparator.symbol(), [left, right], is_ordered)?;
    }
    distinct(comparator.symbol(), left, [right])
}

fn between(operand: &Operand, low: &Operand, high: &Operand) -> Result<()> {
    sized([operand, low, high])?;
    typed("BETWEEN", [operand, low, high], is_ordered)?;
    distinct("BETWEEN", operand, [low, high])?;
    if let (Operand::Value(low), Operand::Value(high)) = (low, high) {
        bounds(low, high)?;
    }
    Ok(())
}

fn one_of(operand: &Operand, list: &[Operand]) -> Result<()> {
    sized(std::iter::once(operand).chain(list))?;
    distinct("IN", operand, list)?;
    if list.len() > IN_OPERANDS_MAX {
        return Err(StatementError::new(format!(
            "The IN operator is provided with too many operands; number of operands: {}",
            list.len()
        )));
    }
    Ok(())
}

/// Whatever is measured must have a size.
fn sized<'o>(operands: impl IntoIterator<Item = &'o Operand>) -> Result<()> {
    for operand in operands {
        if let Operand::Size(measured) = operand {
            sized([measured.as_ref()])?;
            typed("size", [measured.as_ref()], |class| {
                !matches!(class, "N" | "BOOL" | "NULL")
            })?;
        }
    }
    Ok(())
}

/// Refuses the first operand whose type is known and does not fit.
fn typed<const N: usize>(operator: &str, operands: [&Operand; N], fits: fn(&str) -> bool) -> Result<()> {
    match operands
        .into_iter()
        .filter_map(known_type)
        .find(|class| !fits(class))
    {
        Some(unfit) => Err(wrong_type(operator, unfit)),
        None => Ok(()),
    }
}

fn is_ordered(class: &str) -> bool {
    matches!(class, "S" | "N" | "B")
}

fn known_type(operand: &Operand) -> Option<&'static str> {
    match operand {
        Operand::Path(_) => None,
        Operand::Value(value) => Some(value.type_name()),
        Operand::Size(_) => Some("N"),
    }
}

fn bounds(low: &AttributeValue, high: &AttributeValue) -> Result<()> {
    let problem = match order(low, high) {
        None => "same data type for lower and upper bounds",
        Some(Ordering::Greater) => "upper bound to be greater than or equal to lower bound",
        Some(_) => return Ok(()),
    };
    Err(StatementError::new(format!(
        "The BETWEEN operator requires {problem}; lower bound operand: AttributeValue: {}, \
         upper bound operand: AttributeValue: {}",
        shown(low),
        shown(high)
    )))
}

/// The order of two scalars of one type.
pub(crate) fn order(one: &AttributeValue, two: &AttributeValue) -> Option<Ordering> {
    match (one, two) {
        (AttributeValue::S(a), AttributeValue::S(b)) => Some(a.cmp(b)),
        (AttributeValue::N(a), AttributeValue::N(b)) => Some(a.cmp(b)),
        (AttributeValue::B(a), AttributeValue::B(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn shown(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("{{S:{text}}}"),
        AttributeValue::N(number) => format!("{{N:{number}}}"),
        other => format!("{{{}}}", other.type_name()),
    }
}
