//! One legacy comparison: checks its arguments, and converts it.

use std::cmp::Ordering;

use trestle_item::AttributeValue;

use super::ComparisonOperator;
use crate::evaluation::order;
use crate::path::Path;
use crate::{AttributeType, Comparator, Condition, ExprError, KeyOp, Operand};

/// An operator with arguments that fit it.
pub(super) struct Comparison<'a> {
    operator: ComparisonOperator,
    arguments: &'a [AttributeValue],
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        operator: ComparisonOperator,
        arguments: &'a [AttributeValue],
    ) -> Result<Self, ExprError> {
        check_count(operator, arguments.len())?;
        if arguments
            .windows(2)
            .any(|pair| AttributeType::of(&pair[0]) != AttributeType::of(&pair[1]))
        {
            return Err(ExprError::new(
                "One or more parameter values were invalid: \
                 AttributeValues inside AttributeValueList must be of same type",
            ));
        }
        if let Some(first) = arguments.first() {
            check_type(operator, AttributeType::of(first))?;
        }
        match arguments {
            [low, high]
                if operator == ComparisonOperator::Between && order(low, high) == Some(Ordering::Greater) =>
            {
                Err(ExprError::new(
                    "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound",
                ))
            }
            _ => Ok(Self { operator, arguments }),
        }
    }

    /// The comparison as a condition on an attribute.
    pub(super) fn condition(&self, attribute: &str) -> Condition {
        let path = Path::top(attribute);
        let exists = Condition::Exists(path.clone());
        let operand = Operand::Path(path.clone());
        match (self.operator, self.arguments) {
            (ComparisonOperator::Null, _) => Condition::NotExists(path),
            (ComparisonOperator::NotNull, _) => exists,
            (ComparisonOperator::In, list) => Condition::In {
                operand,
                list: list.iter().cloned().map(Operand::Value).collect(),
            },
            (ComparisonOperator::Between, [low, high]) => Condition::Between {
                operand,
                low: Operand::Value(low.clone()),
                high: Operand::Value(high.clone()),
            },
            (ComparisonOperator::BeginsWith, [prefix, ..]) => Condition::BeginsWith {
                operand,
                prefix: Operand::Value(prefix.clone()),
            },
            (ComparisonOperator::Contains, [element, ..]) => Condition::Contains {
                operand,
                element: Operand::Value(element.clone()),
            },
            // Unlike a negated `contains`, this does not hold for a missing attribute.
            (ComparisonOperator::NotContains, [element, ..]) => {
                let contains = Condition::Contains {
                    operand,
                    element: Operand::Value(element.clone()),
                };
                Condition::And(vec![exists, Condition::Not(Box::new(contains))])
            }
            (operator, arguments) => {
                let right = Operand::Value(arguments.first().cloned().unwrap_or(AttributeValue::Null));
                Condition::Compare {
                    left: operand,
                    comparator: comparator(operator),
                    right,
                }
            }
        }
    }

    /// The comparison as a condition on a key attribute, if keys can evaluate it.
    pub(super) fn key_op(&self) -> Option<KeyOp> {
        Some(match (self.operator, self.arguments) {
            (ComparisonOperator::Eq, [value]) => KeyOp::Eq(value.clone()),
            (ComparisonOperator::Lt, [value]) => KeyOp::Lt(value.clone()),
            (ComparisonOperator::Le, [value]) => KeyOp::Le(value.clone()),
            (ComparisonOperator::Gt, [value]) => KeyOp::Gt(value.clone()),
            (ComparisonOperator::Ge, [value]) => KeyOp::Ge(value.clone()),
            (ComparisonOperator::Between, [low, high]) => KeyOp::Between(low.clone(), high.clone()),
            (ComparisonOperator::BeginsWith, [prefix]) => KeyOp::BeginsWith(prefix.clone()),
            _ => return None,
        })
    }
}

fn comparator(operator: ComparisonOperator) -> Comparator {
    match operator {
        ComparisonOperator::Ne => Comparator::NotEqual,
        ComparisonOperator::Lt => Comparator::Less,
        ComparisonOperator::Le => Comparator::LessOrEqual,
        ComparisonOperator::Gt => Comparator::Greater,
        ComparisonOperator::Ge => Comparator::GreaterOrEqual,
        _ => Comparator::Equal,
    }
}

fn check_count(operator: ComparisonOperator, given: usize) -> Result<(), ExprError> {
    let fits = match operator {
        ComparisonOperator::Null | ComparisonOperator::NotNull => given == 0,
        ComparisonOperator::In => given > 0,
        ComparisonOperator::Between => given == 2,
        _ => given == 1,
    };
    if fits {
        return Ok(());
    }
    Err(ExprError(format!(
        "One or more parameter values were invalid: \
         Invalid number of argument(s) for the {} ComparisonOperator",
        operator.name()
    )))
}

fn check_type(operator: ComparisonOperator, argument: AttributeType) -> Result<(), ExprError> {
    let fits = match operator {
        ComparisonOperator::Lt
        | ComparisonOperator::Le
        | ComparisonOperator::Gt
        | ComparisonOperator::Ge
        | ComparisonOperator::In
        | ComparisonOperator::Between => argument.is_ordered(),
        ComparisonOperator::BeginsWith => argument.has_prefixes(),
        ComparisonOperator::Contains | ComparisonOperator::NotContains => {
            argument.is_ordered() || matches!(argument, AttributeType::Bool | AttributeType::Null)
        }
        _ => true,
    };
    if fits {
        return Ok(());
    }
    Err(ExprError(format!(
        "One or more parameter values were invalid: \
         ComparisonOperator {} is not valid for {} AttributeValue type",
        operator.name(),
        argument.name()
    )))
}
