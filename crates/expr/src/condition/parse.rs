//! From a parsed condition with placeholders to a resolved one.

use trestle_item::AttributeValue;

use super::{AttributeType, Comparator, Condition, Operand, check_bounds};
use crate::ExprError;
use crate::grammar::{Comparison, RawCall, RawCondition, RawOperand};
use crate::path::Path;
use crate::resolution::Resolver;

/// `IN` takes at most this many operands on its right.
const IN_OPERANDS_MAX: usize = 100;

pub(super) fn condition(
    resolver: &mut Resolver<'_, '_>,
    raw: &RawCondition<'_>,
) -> Result<Condition, ExprError> {
    match raw {
        RawCondition::Or(links) => chain(resolver, links).map(Condition::Or),
        RawCondition::And(links) => chain(resolver, links).map(Condition::And),
        RawCondition::Not(negated) => {
            let negated = condition(resolver, negated)?;
            resolver.count_operator()?;
            Ok(Condition::Not(Box::new(negated)))
        }
        RawCondition::Call(raw) => call(resolver, raw),
        RawCondition::Comparison(raw) => comparison(resolver, raw),
    }
}

fn comparison(resolver: &mut Resolver<'_, '_>, raw: &Comparison<'_>) -> Result<Condition, ExprError> {
    match raw {
        Comparison::Compare(left, comparator, right) => compare(resolver, left, *comparator, right),
        Comparison::Between(value, low, high) => between(resolver, value, low, high),
        Comparison::In(value, list) => one_of(resolver, value, list),
    }
}

fn chain(resolver: &mut Resolver<'_, '_>, links: &[RawCondition<'_>]) -> Result<Vec<Condition>, ExprError> {
    let mut resolved = Vec::with_capacity(links.len());
    for link in links {
        resolved.push(condition(resolver, link)?);
        if resolved.len() > 1 {
            resolver.count_operator()?;
        }
    }
    Ok(resolved)
}

fn compare(
    resolver: &mut Resolver<'_, '_>,
    left: &RawOperand<'_>,
    comparator: Comparator,
    right: &RawOperand<'_>,
) -> Result<Condition, ExprError> {
    let left = operand(resolver, left)?;
    let right = operand(resolver, right)?;
    let symbol = comparator.symbol();
    if comparator.is_ordering() {
        check_types(resolver, symbol, [&left, &right], AttributeType::is_ordered)?;
    }
    resolver.check_distinct(symbol, left.path(), std::iter::once(right.path()))?;
    resolver.count_operator()?;
    Ok(Condition::Compare {
        left,
        comparator,
        right,
    })
}

fn between(
    resolver: &mut Resolver<'_, '_>,
    value: &RawOperand<'_>,
    low: &RawOperand<'_>,
    high: &RawOperand<'_>,
) -> Result<Condition, ExprError> {
    let value = operand(resolver, value)?;
    let low = operand(resolver, low)?;
    let high = operand(resolver, high)?;
    check_types(
        resolver,
        "BETWEEN",
        [&value, &low, &high],
        AttributeType::is_ordered,
    )?;
    resolver.check_distinct("BETWEEN", value.path(), [low.path(), high.path()].into_iter())?;
    if let (Some(low), Some(high)) = (low.value(), high.value()) {
        check_bounds(resolver.kind, low, high)?;
    }
    resolver.count_operator()?;
    Ok(Condition::Between {
        operand: value,
        low,
        high,
    })
}

fn one_of(
    resolver: &mut Resolver<'_, '_>,
    value: &RawOperand<'_>,
    list: &[RawOperand<'_>],
) -> Result<Condition, ExprError> {
    let value = operand(resolver, value)?;
    let list = list
        .iter()
        .map(|element| operand(resolver, element))
        .collect::<Result<Vec<_>, _>>()?;
    resolver.check_distinct("IN", value.path(), list.iter().map(Operand::path))?;
    if list.len() > IN_OPERANDS_MAX {
        return Err(resolver.kind.invalid(format_args!(
            "The IN operator is provided with too many operands; number of operands: {}",
            list.len()
        )));
    }
    resolver.count_operator()?;
    Ok(Condition::In { operand: value, list })
}

fn operand(resolver: &mut Resolver<'_, '_>, raw: &RawOperand<'_>) -> Result<Operand, ExprError> {
    match raw {
        RawOperand::Path(path) => resolver.path(path).map(Operand::Path),
        RawOperand::Value(placeholder) => resolver.value(placeholder).map(Operand::Value),
        RawOperand::Call(call) => size(resolver, call),
    }
}

/// The vocabulary pass allows only `size` as an operand.
fn size(resolver: &mut Resolver<'_, '_>, raw: &RawCall<'_>) -> Result<Operand, ExprError> {
    let [measured] = arguments(resolver, raw)?;
    check_types(resolver, raw.function, [&measured], AttributeType::has_size)?;
    resolver.count_operator()?;
    Ok(Operand::Size(Box::new(measured)))
}

fn call(resolver: &mut Resolver<'_, '_>, raw: &RawCall<'_>) -> Result<Condition, ExprError> {
    let called = match raw.function {
        "attribute_exists" => Condition::Exists(path_argument(resolver, raw)?),
        "attribute_not_exists" => Condition::NotExists(path_argument(resolver, raw)?),
        "attribute_type" => has_type(resolver, raw)?,
        "begins_with" => {
            let [value, prefix] = distinct_arguments(resolver, raw)?;
            check_types(
                resolver,
                raw.function,
                [&value, &prefix],
                AttributeType::has_prefixes,
            )?;
            Condition::BeginsWith {
                operand: value,
                prefix,
            }
        }
        // The vocabulary pass allows no other function as a condition.
        _ => {
            let [value, element] = distinct_arguments(resolver, raw)?;
            Condition::Contains {
                operand: value,
                element,
            }
        }
    };
    resolver.count_operator()?;
    Ok(called)
}

fn path_argument(resolver: &mut Resolver<'_, '_>, raw: &RawCall<'_>) -> Result<Path, ExprError> {
    match arguments(resolver, raw)? {
        [Operand::Path(path)] => Ok(path),
        _ => Err(resolver.needs_path(raw.function)),
    }
}

fn has_type(resolver: &mut Resolver<'_, '_>, raw: &RawCall<'_>) -> Result<Condition, ExprError> {
    let [operand, name] = distinct_arguments(resolver, raw)?;
    let Operand::Value(AttributeValue::S(name)) = name else {
        let given = name
            .known_type()
            .map_or("{NS,SS,L,BS,N,M,B,BOOL,NULL,S}", AttributeType::name);
        return Err(resolver.wrong_type(raw.function, given));
    };
    let Some(attribute_type) = AttributeType::from_name(&name) else {
        return Err(resolver.kind.invalid(format_args!(
            "Invalid attribute type name found; type: {name}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
        )));
    };
    Ok(Condition::HasType {
        operand,
        attribute_type,
    })
}

fn distinct_arguments(resolver: &mut Resolver<'_, '_>, raw: &RawCall<'_>) -> Result<[Operand; 2], ExprError> {
    let [first, second] = arguments(resolver, raw)?;
    resolver.check_distinct(raw.function, first.path(), std::iter::once(second.path()))?;
    Ok([first, second])
}

/// All arguments; there must be `N`.
fn arguments<const N: usize>(
    resolver: &mut Resolver<'_, '_>,
    raw: &RawCall<'_>,
) -> Result<[Operand; N], ExprError> {
    let resolved = raw
        .arguments
        .iter()
        .map(|raw| operand(resolver, raw))
        .collect::<Result<Vec<_>, _>>()?;
    let given = resolved.len();
    resolved
        .try_into()
        .map_err(|_| resolver.wrong_operand_count(raw.function, given))
}

/// Refuses the first operand whose type is known and wrong.
fn check_types<const N: usize>(
    resolver: &Resolver<'_, '_>,
    operator: &str,
    operands: [&Operand; N],
    fits: fn(AttributeType) -> bool,
) -> Result<(), ExprError> {
    match operands
        .into_iter()
        .filter_map(Operand::known_type)
        .find(|known| !fits(*known))
    {
        Some(unfit) => Err(resolver.wrong_type(operator, unfit.name())),
        None => Ok(()),
    }
}
