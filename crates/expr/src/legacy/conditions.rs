//! `Expected`, `QueryFilter`, `ScanFilter` and `KeyConditions`.

use std::collections::BTreeMap;

use super::comparison::Comparison;
use super::{ComparisonOperator, ConditionalOperator, ExpectedAttributeValue, LegacyCondition, check_names};
use crate::key_condition::NOT_SUPPORTED;
use crate::path::Path;
use crate::{Condition, ExprError, KeyAttribute, KeyCondition, KeyTerm};

/// The condition of `Expected`; `None` if it names no attribute.
pub fn expected(
    conditions: Option<&BTreeMap<String, ExpectedAttributeValue>>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>, ExprError> {
    join(conditions, operator, expectation)
}

/// The condition of `QueryFilter` or `ScanFilter`; `None` if it names no attribute.
pub fn filter(
    conditions: Option<&BTreeMap<String, LegacyCondition>>,
    operator: Option<ConditionalOperator>,
) -> Result<Option<Condition>, ExprError> {
    join(conditions, operator, |attribute, condition| {
        Ok(condition.comparison()?.condition(attribute))
    })
}

/// The condition of `KeyConditions`. The allowed number depends on the key: see [`check_key_conditions`].
pub fn key_conditions(conditions: &BTreeMap<String, LegacyCondition>) -> Result<KeyCondition, ExprError> {
    check_names(conditions.keys())?;
    let comparisons = conditions
        .iter()
        .map(|(attribute, condition)| Ok((attribute, condition.comparison()?)))
        .collect::<Result<Vec<_>, ExprError>>()?;
    if comparisons.is_empty() {
        return Err(ExprError::new("Conditions must be at least length 1"));
    }
    let terms = comparisons.into_iter().map(|(attribute, comparison)| {
        let op = comparison.key_op().ok_or_else(|| {
            ExprError::new("Attempted conditional constraint is not an indexable operation")
        })?;
        Ok(KeyTerm {
            attribute: attribute.clone(),
            op,
        })
    });
    Ok(KeyCondition {
        terms: terms.collect::<Result<_, ExprError>>()?,
    })
}

/// Refuses more `KeyConditions` than a key with these attributes allows.
pub fn check_key_conditions(
    given: &KeyCondition,
    hash: &[KeyAttribute],
    range: &[KeyAttribute],
) -> Result<(), ExprError> {
    let is_plain = hash.len() == 1 && range.len() <= 1;
    match given.terms.len() {
        // One too many for a key of one attribute gets the same error as in an expression.
        0..=2 => Ok(()),
        _ if is_plain => Err(ExprError::new("Conditions can be of length 1 or 2 only")),
        count if count > hash.len() + range.len() => Err(ExprError::new(NOT_SUPPORTED)),
        _ => Ok(()),
    }
}

/// Joins the conditions on all attributes. An operator needs at least two conditions to join.
fn join<T>(
    conditions: Option<&BTreeMap<String, T>>,
    operator: Option<ConditionalOperator>,
    mut meaning: impl FnMut(&str, &T) -> Result<Condition, ExprError>,
) -> Result<Option<Condition>, ExprError> {
    check_names(conditions.into_iter().flat_map(BTreeMap::keys))?;
    let conditions = conditions.into_iter().flatten();
    let mut joined = conditions
        .map(|(attribute, given)| meaning(attribute, given))
        .collect::<Result<Vec<_>, _>>()?;
    if operator.is_some() && joined.len() < 2 {
        return Err(ExprError::new(match joined.len() {
            0 => "ConditionalOperator cannot be used without Filter or Expected",
            _ => "ConditionalOperator can only be used when Filter or Expected has two or more elements",
        }));
    }
    if joined.len() < 2 {
        return Ok(joined.pop());
    }
    Ok(Some(match operator.unwrap_or_default() {
        ConditionalOperator::And => Condition::And(joined),
        ConditionalOperator::Or => Condition::Or(joined),
    }))
}

impl LegacyCondition {
    fn comparison(&self) -> Result<Comparison<'_>, ExprError> {
        Comparison::new(
            self.comparison_operator,
            self.attribute_value_list.as_deref().unwrap_or_default(),
        )
    }
}

/// `Expected` has two forms: the older one with `Value` and `Exists`, and one with `ComparisonOperator` and
/// its list.
fn expectation(attribute: &str, given: &ExpectedAttributeValue) -> Result<Condition, ExprError> {
    let invalid = |problem: &str| {
        Err(ExprError(format!(
            "One or more parameter values were invalid: {problem} for Attribute: {attribute}"
        )))
    };
    if given.attribute_value_list.is_some() && given.value.is_some() {
        return invalid("Value and AttributeValueList cannot be used together");
    }
    if let Some(operator) = given.comparison_operator {
        if given.exists.is_some() {
            return invalid("Exists and ComparisonOperator cannot be used together");
        }
        let needs_value = !matches!(operator, ComparisonOperator::Null | ComparisonOperator::NotNull);
        if needs_value && given.value.is_none() && given.attribute_value_list.is_none() {
            return invalid(&format!(
                "Value or AttributeValueList must be used with ComparisonOperator: {}",
                operator.name()
            ));
        }
        let arguments = given
            .attribute_value_list
            .as_deref()
            .unwrap_or(given.value.as_slice());
        return Ok(Comparison::new(operator, arguments)?.condition(attribute));
    }
    if given.attribute_value_list.is_some() {
        return invalid("AttributeValueList can only be used with a ComparisonOperator");
    }
    match (given.exists, &given.value) {
        (Some(false), Some(_)) => invalid("Value cannot be used when Exists is false"),
        (Some(false), None) => Ok(Condition::NotExists(Path::top(attribute))),
        (Some(true), None) => invalid("Value must be provided when Exists is true"),
        (None, None) => invalid("Value must be provided when Exists is null"),
        (_, Some(value)) => {
            Ok(Comparison::new(ComparisonOperator::Eq, std::slice::from_ref(value))?.condition(attribute))
        }
    }
}
