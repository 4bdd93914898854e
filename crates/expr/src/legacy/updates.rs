//! `AttributeUpdates`.

use std::collections::BTreeMap;

use trestle_item::AttributeValue;

use super::{AttributeAction, AttributeValueUpdate, check_names};
use crate::path::Path;
use crate::update::Dialect;
use crate::{Action, AttributeType, ExprError, SetOperand, SetValue, Update};

/// The update of `AttributeUpdates`.
pub fn attribute_updates(updates: &BTreeMap<String, AttributeValueUpdate>) -> Result<Update, ExprError> {
    check_names(updates.keys())?;
    let actions = updates
        .iter()
        .map(|(attribute, update)| action(attribute, update));
    Ok(Update::of(actions.collect::<Result<_, _>>()?, Dialect::Legacy))
}

fn action(attribute: &str, update: &AttributeValueUpdate) -> Result<Action, ExprError> {
    let path = Path::top(attribute);
    let Some(value) = update.value.clone() else {
        return match update.action {
            Some(AttributeAction::Delete) => Ok(Action::Remove(path)),
            _ => Err(invalid(
                "Only DELETE action is allowed when no attribute value is specified",
            )),
        };
    };
    match update.action.unwrap_or_default() {
        AttributeAction::Put => Ok(Action::Set(path, SetValue::Operand(SetOperand::Value(value)))),
        AttributeAction::Add if can_be_added(&value) => Ok(Action::Add(path, value)),
        AttributeAction::Add => Err(invalid(format!(
            "ADD action is not supported for the type {}",
            value.type_name()
        ))),
        AttributeAction::Delete if is_set(&value) => Ok(Action::Delete(path, value)),
        AttributeAction::Delete => Err(invalid(format!(
            "DELETE action with value is not supported for the type {}",
            value.type_name()
        ))),
    }
}

/// Unlike an `UpdateExpression`, this can also add to a list.
fn can_be_added(value: &AttributeValue) -> bool {
    is_set(value) || matches!(value, AttributeValue::N(_) | AttributeValue::L(_))
}

fn is_set(value: &AttributeValue) -> bool {
    matches!(
        AttributeType::of(value),
        AttributeType::Ss | AttributeType::Ns | AttributeType::Bs
    )
}

fn invalid(problem: impl std::fmt::Display) -> ExprError {
    ExprError(format!("One or more parameter values were invalid: {problem}"))
}
