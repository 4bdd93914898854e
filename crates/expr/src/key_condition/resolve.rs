//! Resolves a key condition with a key schema.

use trestle_item::AttributeValue;

use super::{KeyAttribute, KeyOp, KeySelection, KeyTerm, NOT_SUPPORTED};
use crate::ExprError;

pub(super) fn resolve(
    terms: &[KeyTerm],
    hash: &[KeyAttribute],
    range: &[KeyAttribute],
) -> Result<KeySelection, ExprError> {
    let attributes = hash.len() + range.len();
    if terms.len() > attributes {
        if terms.len() <= 2 {
            return Err(ExprError::new(NOT_SUPPORTED));
        }
        return Err(ExprError(format!(
            "The number of query conditions ({}) exceeds the number of key attributes defined in the schema \
             ({attributes})",
            terms.len()
        )));
    }
    let hash = hash_values(terms, hash)?;
    let (range_equal, range_last) = range_conditions(terms, hash.len(), range)?;
    Ok(KeySelection {
        hash,
        range_equal,
        range_last,
    })
}

fn find<'t>(terms: &'t [KeyTerm], attribute: &KeyAttribute) -> Option<&'t KeyOp> {
    terms
        .iter()
        .find(|term| term.attribute == attribute.name)
        .map(|term| &term.op)
}

fn hash_values(terms: &[KeyTerm], hash: &[KeyAttribute]) -> Result<Vec<AttributeValue>, ExprError> {
    let mut values = Vec::with_capacity(hash.len());
    let mut without_equality = Vec::new();
    for attribute in hash {
        let op = find(terms, attribute);
        if let Some(op) = op {
            check_type(attribute, op)?;
        }
        match op {
            Some(KeyOp::Eq(value)) => {
                check_not_empty(attribute, value)?;
                values.push(value.clone());
            }
            Some(_) if hash.len() == 1 => return Err(ExprError::new(NOT_SUPPORTED)),
            None if hash.len() == 1 => return Err(missed(attribute)),
            _ => without_equality.push(attribute.name.as_str()),
        }
    }
    if without_equality.is_empty() {
        return Ok(values);
    }
    Err(ExprError(format!(
        "HASH key attributes {} must have equality conditions specified in the query",
        without_equality.join(", ")
    )))
}

fn range_conditions(
    terms: &[KeyTerm],
    used: usize,
    range: &[KeyAttribute],
) -> Result<(Vec<AttributeValue>, Option<KeyOp>), ExprError> {
    let ops: Vec<_> = range
        .iter()
        .map(|attribute| (attribute, find(terms, attribute)))
        .collect();
    for (attribute, op) in &ops {
        if let Some(op) = op {
            check_type(attribute, op)?;
            op.values()
                .try_for_each(|value| check_not_empty(attribute, value))?;
        }
    }
    check_no_gap(&ops)?;
    let given = ops.iter().take_while(|(_, op)| op.is_some()).count();
    // A term is left over: it concerns no key attribute, and the next key attribute has none.
    if terms.len() > used + given
        && let Some((attribute, _)) = ops.get(given)
    {
        return Err(missed(attribute));
    }
    let mut equal = Vec::with_capacity(given);
    for (_, op) in ops {
        match op {
            Some(KeyOp::Eq(value)) => equal.push(value.clone()),
            other => return Ok((equal, other.cloned())),
        }
    }
    Ok((equal, None))
}

/// All range attributes before the last one with a condition must have an equality.
fn check_no_gap(ops: &[(&KeyAttribute, Option<&KeyOp>)]) -> Result<(), ExprError> {
    let Some(last) = ops.iter().rposition(|(_, op)| op.is_some()) else {
        return Ok(());
    };
    let (before, from) = ops.split_at(last);
    let lacking: Vec<&str> = before
        .iter()
        .filter(|(_, op)| !matches!(op, Some(KeyOp::Eq(_))))
        .map(|(attribute, _)| attribute.name.as_str())
        .collect();
    match from.first() {
        Some((last, _)) if !lacking.is_empty() => Err(ExprError(format!(
            "RANGE key attributes {} must have equality conditions specified in the query \
             because a condition is present on key attribute {}",
            lacking.join(", "),
            last.name
        ))),
        _ => Ok(()),
    }
}

fn check_type(attribute: &KeyAttribute, op: &KeyOp) -> Result<(), ExprError> {
    if op
        .values()
        .all(|value| value.scalar_type() == Some(attribute.kind))
    {
        return Ok(());
    }
    Err(ExprError::new(
        "One or more parameter values were invalid: Condition parameter type does not match schema type",
    ))
}

fn check_not_empty(attribute: &KeyAttribute, value: &AttributeValue) -> Result<(), ExprError> {
    let what = match value {
        AttributeValue::S(text) if text.is_empty() => "string",
        AttributeValue::B(bytes) if bytes.is_empty() => "binary",
        _ => return Ok(()),
    };
    Err(ExprError(format!(
        "One or more parameter values are not valid. \
         The AttributeValue for a key attribute cannot contain an empty {what} value. Key: {}",
        attribute.name
    )))
}

fn missed(attribute: &KeyAttribute) -> ExprError {
    ExprError(format!(
        "Query condition missed key schema element: {}",
        attribute.name
    ))
}
