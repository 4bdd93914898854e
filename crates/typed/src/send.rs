//! Sending one write, repeated where others were faster.

use std::collections::BTreeMap;

use trestle_api::{
    ConditionCheck, DatabaseExt, DeleteItem, ErrorKind, PutItem, ReturnValue,
    ReturnValuesOnConditionCheckFailure, TransactWriteItem, UpdateItem, pause_after,
};
use trestle_expr::{Condition, RequestExpressions};
use trestle_item::{Item, Map};

use crate::draft::{Draft, Prepared, PreparedWrite, Presence};
use crate::handle::Handle;
use crate::{Error, Failed};

/// How often a write that others overtake is tried. Each time, one of them succeeded.
pub(crate) const ATTEMPTS_MAX: usize = 32;

const SHOW: Option<ReturnValuesOnConditionCheckFailure> = Some(ReturnValuesOnConditionCheckFailure::AllOld);

/// Sends a write. Returns the row: for an update as it is now, for a delete as it was.
pub(crate) async fn send(handle: Handle<'_>, draft: Draft) -> Result<Option<Item>, Error> {
    for attempt in 0..ATTEMPTS_MAX {
        match call(handle, draft.prepare(handle)?).await {
            Ok(answer) => return Ok(answer),
            Err(error) if error.taken_value().is_some() => return Err(error.into()),
            Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => {
                return Err(refusal(handle, &draft, error.item().cloned()));
            }
            Err(error) if error.kind() == ErrorKind::TransactionConflict => pause_after(attempt).await,
            Err(error) => return Err(error.into()),
        }
    }
    Err(Error::Contended(Box::new(failed(handle, &draft, None))))
}

pub(crate) fn failed(handle: Handle<'_>, draft: &Draft, found: Option<Item>) -> Failed {
    Failed {
        entity: draft.entity,
        key: draft.key(handle).unwrap_or_default(),
        found,
    }
}

fn refusal(handle: Handle<'_>, draft: &Draft, found: Option<Item>) -> Error {
    let missing = draft.presence == Presence::Present && found.is_none();
    let failed = Box::new(failed(handle, draft, found));
    if missing {
        Error::NotFound(failed)
    } else {
        Error::ConditionFailed(failed)
    }
}

/// The expressions of a write, and the names and values that they share.
struct Words {
    /// Nothing for an update that changes nothing.
    update_expression: Option<String>,
    condition_expression: Option<String>,
    expression_attribute_names: Option<BTreeMap<String, String>>,
    expression_attribute_values: Option<Map>,
}

impl Words {
    fn new(write: &PreparedWrite, condition: Option<Condition>) -> Self {
        let mut expressions = RequestExpressions::default();
        let condition_expression = condition.map(|condition| expressions.take(condition.print(), 'c'));
        let update_expression = match write {
            PreparedWrite::Update(update) if !update.is_empty() => {
                Some(expressions.take(update.print(), 'u'))
            }
            _ => None,
        };
        let (expression_attribute_names, expression_attribute_values) = expressions.split();
        Words {
            update_expression,
            condition_expression,
            expression_attribute_names,
            expression_attribute_values,
        }
    }
}

async fn call(handle: Handle<'_>, prepared: Prepared) -> Result<Option<Item>, trestle_api::Error> {
    let Prepared {
        table_name,
        key,
        write,
        condition,
    } = prepared;
    let Words {
        update_expression,
        condition_expression,
        expression_attribute_names,
        expression_attribute_values,
    } = Words::new(&write, condition);
    match write {
        PreparedWrite::Put(item) => {
            let request = PutItem {
                table_name,
                item,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure: SHOW,
                ..PutItem::default()
            };
            handle.database.put_item(request).await.map(|_| None)
        }
        PreparedWrite::Update(_) => {
            let request = UpdateItem {
                table_name,
                key,
                update_expression,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values: Some(ReturnValue::AllNew),
                return_values_on_condition_check_failure: SHOW,
                ..UpdateItem::default()
            };
            Ok(handle.database.update_item(request).await?.attributes)
        }
        // A check can only be a part of a transaction.
        PreparedWrite::Delete | PreparedWrite::Check => {
            let request = DeleteItem {
                table_name,
                key,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values: Some(ReturnValue::AllOld),
                return_values_on_condition_check_failure: SHOW,
                ..DeleteItem::default()
            };
            Ok(handle.database.delete_item(request).await?.attributes)
        }
    }
}

/// The write as a part of a transaction.
pub(crate) fn part(prepared: Prepared) -> TransactWriteItem {
    let Prepared {
        table_name,
        key,
        write,
        condition,
    } = prepared;
    let Words {
        update_expression,
        condition_expression,
        expression_attribute_names,
        expression_attribute_values,
    } = Words::new(&write, condition);
    let mut part = TransactWriteItem::default();
    match (write, update_expression) {
        (PreparedWrite::Put(item), _) => {
            part.put = Some(Box::new(trestle_api::Put {
                item,
                table_name,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure: SHOW,
            }));
        }
        (PreparedWrite::Update(_), Some(update_expression)) => {
            part.update = Some(Box::new(trestle_api::Update {
                key,
                update_expression,
                table_name,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure: SHOW,
            }));
        }
        (PreparedWrite::Delete, _) => {
            part.delete = Some(Box::new(trestle_api::Delete {
                key,
                table_name,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure: SHOW,
            }));
        }
        // An update that changes nothing becomes a check that the row exists and that the conditions hold.
        (PreparedWrite::Update(_) | PreparedWrite::Check, _) => {
            part.condition_check = Some(Box::new(ConditionCheck {
                key,
                table_name,
                condition_expression: condition_expression.unwrap_or_default(),
                expression_attribute_names,
                expression_attribute_values,
                return_values_on_condition_check_failure: SHOW,
            }));
        }
    }
    part
}
