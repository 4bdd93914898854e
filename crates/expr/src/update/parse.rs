//! From a parsed update with placeholders to actions.
//!
//! DynamoDB checks the actions from the last to the first: first all targets, then all values.

use trestle_item::AttributeValue;

use super::{Action, SetOperand, SetValue};
use crate::grammar::{RawAction, RawCall, RawOperand, RawSetValue, Sign};
use crate::path::Path;
use crate::resolution::Resolver;
use crate::{ExprError, Kind, Placeholders, overlap};

pub(super) fn actions(
    placeholders: &mut Placeholders<'_>,
    raw: &[&RawAction<'_>],
) -> Result<Vec<Action>, ExprError> {
    let mut resolver = Resolver::new(Kind::Update, placeholders);
    let targets = targets(&mut resolver, raw)?;
    let mut actions = Vec::with_capacity(raw.len());
    for (raw, target) in raw.iter().rev().zip(targets) {
        actions.push(action(&mut resolver, raw, target)?);
    }
    actions.reverse();
    Ok(actions)
}

/// The targets of all actions, last first.
fn targets(resolver: &mut Resolver<'_, '_>, raw: &[&RawAction<'_>]) -> Result<Vec<Path>, ExprError> {
    let mut targets: Vec<Path> = Vec::with_capacity(raw.len());
    for action in raw.iter().rev() {
        let (RawAction::Set(path, _)
        | RawAction::Remove(path)
        | RawAction::Add(path, _)
        | RawAction::Delete(path, _)) = action;
        let path = resolver.path(path)?;
        overlap::check(Kind::Update, &path, &targets)?;
        targets.push(path);
    }
    Ok(targets)
}

fn action(resolver: &mut Resolver<'_, '_>, raw: &RawAction<'_>, target: Path) -> Result<Action, ExprError> {
    Ok(match raw {
        RawAction::Remove(_) => Action::Remove(target),
        RawAction::Set(_, value) => Action::Set(target, set_value(resolver, value)?),
        RawAction::Add(_, placeholder) => {
            let value = resolver.value(placeholder)?;
            if !matches!(value, AttributeValue::N(_)) {
                check_set("ADD", &value)?;
            }
            Action::Add(target, value)
        }
        RawAction::Delete(_, placeholder) => {
            let value = resolver.value(placeholder)?;
            check_set("DELETE", &value)?;
            Action::Delete(target, value)
        }
    })
}

/// Refuses everything except sets, with the names that the service uses for its types.
fn check_set(operator: &str, value: &AttributeValue) -> Result<(), ExprError> {
    let operand_type = match value {
        AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => return Ok(()),
        AttributeValue::S(_) => "STRING",
        AttributeValue::N(_) => "NUMBER",
        AttributeValue::B(_) => "BINARY",
        AttributeValue::Bool(_) => "BOOLEAN",
        AttributeValue::Null => "NULL",
        AttributeValue::M(_) => "MAP",
        AttributeValue::L(_) => "LIST",
    };
    Err(Kind::Update.invalid(format_args!(
        "Incorrect operand type for operator or function; operator: {operator}, \
         operand type: {operand_type}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
    )))
}

fn set_value(resolver: &mut Resolver<'_, '_>, raw: &RawSetValue<'_>) -> Result<SetValue, ExprError> {
    match raw {
        RawSetValue::Operand(RawOperand::Call(call)) if call.function == "list_append" => {
            let [first, second] = arguments(resolver, call)?;
            check_constants(resolver, call.function, "L", [&first, &second])?;
            resolver.count_operator()?;
            Ok(SetValue::ListAppend(first, second))
        }
        RawSetValue::Operand(raw) => operand(resolver, raw).map(SetValue::Operand),
        RawSetValue::Sum(left, sign, right) => {
            let left = operand(resolver, left)?;
            let right = operand(resolver, right)?;
            check_constants(resolver, sign.symbol(), "N", [&left, &right])?;
            resolver.count_operator()?;
            Ok(match sign {
                Sign::Plus => SetValue::Plus(left, right),
                Sign::Minus => SetValue::Minus(left, right),
            })
        }
    }
}

fn operand(resolver: &mut Resolver<'_, '_>, raw: &RawOperand<'_>) -> Result<SetOperand, ExprError> {
    match raw {
        RawOperand::Path(path) => resolver.path(path).map(SetOperand::Path),
        RawOperand::Value(placeholder) => resolver.value(placeholder).map(SetOperand::Value),
        RawOperand::Call(call) => if_not_exists(resolver, call),
    }
}

/// The vocabulary pass allows only `if_not_exists` as an operand.
fn if_not_exists(resolver: &mut Resolver<'_, '_>, raw: &RawCall<'_>) -> Result<SetOperand, ExprError> {
    let [path, otherwise] = arguments(resolver, raw)?;
    let SetOperand::Path(path) = path else {
        return Err(resolver.needs_path(raw.function));
    };
    resolver.check_distinct(raw.function, Some(&path), std::iter::once(otherwise.path()))?;
    resolver.count_operator()?;
    Ok(SetOperand::IfNotExists(path, Box::new(otherwise)))
}

fn arguments(resolver: &mut Resolver<'_, '_>, raw: &RawCall<'_>) -> Result<[SetOperand; 2], ExprError> {
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

/// The types of constants are known before there is an item.
fn check_constants(
    resolver: &Resolver<'_, '_>,
    operator: &str,
    expected: &str,
    operands: [&SetOperand; 2],
) -> Result<(), ExprError> {
    for operand in operands {
        match operand {
            SetOperand::Value(value) if value.type_name() != expected => {
                return Err(resolver.wrong_type(operator, value.type_name()));
            }
            _ => {}
        }
    }
    Ok(())
}

impl SetOperand {
    fn path(&self) -> Option<&Path> {
        if let Self::Path(path) = self {
            Some(path)
        } else {
            None
        }
    }
}
