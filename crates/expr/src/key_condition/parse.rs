//! Converts a condition to a key condition, if a key can evaluate it.

use trestle_item::AttributeValue;

use super::{KeyCondition, KeyOp, KeyTerm};
use crate::path::Path;
use crate::{Comparator, Condition, ExprError, Operand};

pub(super) fn key_condition(condition: Condition) -> Result<KeyCondition, ExprError> {
    let mut terms = Vec::new();
    collect(condition, &mut terms)?;
    Ok(KeyCondition { terms })
}

fn collect(condition: Condition, terms: &mut Vec<KeyTerm>) -> Result<(), ExprError> {
    let term = match condition {
        Condition::And(all) => return all.into_iter().try_for_each(|one| collect(one, terms)),
        Condition::Compare {
            left,
            comparator,
            right,
        } if comparator != Comparator::NotEqual => compare(left, comparator, right)?,
        Condition::Between { operand, low, high } => between(operand, low, high)?,
        Condition::BeginsWith { operand, prefix } => begins_with(operand, prefix)?,
        other => return Err(invalid_operator(&other)),
    };
    if terms.iter().any(|other| other.attribute == term.attribute) {
        return Err(ExprError::new(
            "KeyConditionExpressions must only contain one condition per key",
        ));
    }
    terms.push(term);
    Ok(())
}

fn invalid_operator(condition: &Condition) -> ExprError {
    let operator = match condition {
        Condition::Or(_) => "OR",
        Condition::Not(_) => "NOT",
        Condition::In { .. } => "IN",
        Condition::Exists(_) => "attribute_exists",
        Condition::NotExists(_) => "attribute_not_exists",
        Condition::HasType { .. } => "attribute_type",
        Condition::Contains { .. } => "contains",
        Condition::Compare { comparator, .. } => comparator.symbol(),
        Condition::And(_) => "AND",
        Condition::Between { .. } => "BETWEEN",
        Condition::BeginsWith { .. } => "begins_with",
    };
    ExprError(format!(
        "Invalid operator used in KeyConditionExpression: {operator}"
    ))
}

/// The possible operands of a key condition.
enum Side {
    Attribute(String),
    Value(AttributeValue),
}

fn compare(left: Operand, comparator: Comparator, right: Operand) -> Result<KeyTerm, ExprError> {
    let (attribute, value, comparator) = match sides([left, right])? {
        [Side::Attribute(attribute), Side::Value(value)] => (attribute, value, comparator),
        [Side::Value(value), Side::Attribute(attribute)] => (attribute, value, comparator.mirrored()),
        [Side::Value(_), Side::Value(_)] => return Err(no_attribute()),
        [Side::Attribute(_), Side::Attribute(_)] => return Err(several_attributes()),
    };
    let op = match comparator {
        // The caller has refused `<>`.
        Comparator::Equal | Comparator::NotEqual => KeyOp::Eq(value),
        Comparator::Less => KeyOp::Lt(value),
        Comparator::LessOrEqual => KeyOp::Le(value),
        Comparator::Greater => KeyOp::Gt(value),
        Comparator::GreaterOrEqual => KeyOp::Ge(value),
    };
    Ok(KeyTerm { attribute, op })
}

fn between(operand: Operand, low: Operand, high: Operand) -> Result<KeyTerm, ExprError> {
    check_first(&operand, "BETWEEN")?;
    match sides([operand, low, high])? {
        [Side::Attribute(attribute), Side::Value(low), Side::Value(high)] => Ok(KeyTerm {
            attribute,
            op: KeyOp::Between(low, high),
        }),
        _ => Err(several_attributes()),
    }
}

fn begins_with(operand: Operand, prefix: Operand) -> Result<KeyTerm, ExprError> {
    check_first(&operand, "begins_with")?;
    match sides([operand, prefix])? {
        [Side::Attribute(attribute), Side::Value(prefix)] => Ok(KeyTerm {
            attribute,
            op: KeyOp::BeginsWith(prefix),
        }),
        _ => Err(several_attributes()),
    }
}

fn check_first(operand: &Operand, operator: &str) -> Result<(), ExprError> {
    if operand.path().is_some() {
        return Ok(());
    }
    Err(ExprError(format!(
        "Invalid condition in KeyConditionExpression: {operator} operator must have the key attribute as its first operand"
    )))
}

/// Checks operands from left to right: at most one may be an attribute, and none may be computed.
fn sides<const N: usize>(operands: [Operand; N]) -> Result<[Side; N], ExprError> {
    let mut attributes = 0;
    let mut problem = None;
    let sides = operands.map(|operand| match operand {
        Operand::Value(value) => Side::Value(value),
        Operand::Path(path) => {
            attributes += 1;
            if attributes > 1 {
                problem.get_or_insert_with(several_attributes);
            } else if path.is_nested() {
                problem.get_or_insert_with(nested_attribute);
            }
            let Path { attribute, .. } = path;
            Side::Attribute(attribute)
        }
        Operand::Size(_) => {
            problem.get_or_insert_with(nested_operation);
            Side::Value(AttributeValue::Null)
        }
    });
    problem.map_or(Ok(sides), Err)
}

fn no_attribute() -> ExprError {
    ExprError::new("Invalid condition in KeyConditionExpression: No key attribute specified")
}

fn several_attributes() -> ExprError {
    ExprError::new(
        "Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition",
    )
}

fn nested_attribute() -> ExprError {
    ExprError::new("KeyConditionExpressions cannot have conditions on nested attributes")
}

fn nested_operation() -> ExprError {
    ExprError::new("KeyConditionExpressions cannot contain nested operations")
}
