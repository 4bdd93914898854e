//! Parses requests into writes. Mistakes are refused in DynamoDB's order.

use std::collections::BTreeMap;

use trestle_api::{
    DeleteItem, Error, PutItem, Request, ReturnValue, TransactWriteItem, TransactWriteItems, UpdateItem,
    WriteRequest,
};
use trestle_expr::{Condition, Kind, Parameters, Placeholders, Update, legacy};
use trestle_item::{Item, Map, size};

use crate::condition_parameters::{ConditionParameters, shows};
use crate::write::{Action, Write, check_size};

/// Items in one transaction.
pub const TRANSACTION_ITEMS_MAX: usize = 100;
/// Puts and deletes in one batch, over all tables.
pub const BATCH_WRITES_MAX: usize = 25;

impl Write {
    /// The write of a `PutItem`. Takes table and item out of the request.
    pub fn of_put(request: &mut PutItem) -> Result<Self, Error> {
        let parameters = ConditionParameters {
            expression: request.condition_expression.as_deref(),
            expected: request.expected.as_ref(),
            operator: request.conditional_operator,
            names: request.expression_attribute_names.as_ref(),
            values: request.expression_attribute_values.as_ref(),
        };
        parameters.check_mixture()?;
        check_return_values(request.return_values)?;
        let item = checked(std::mem::take(&mut request.item))?;
        let condition = parameters.parse()?;
        Ok(Write {
            table_name: std::mem::take(&mut request.table_name),
            action: Action::Put(item),
            condition,
            show_on_failure: shows(request.return_values_on_condition_check_failure),
        })
    }

    /// The write of a `DeleteItem`. Takes table and key out of the request.
    pub fn of_delete(request: &mut DeleteItem) -> Result<Self, Error> {
        let parameters = ConditionParameters {
            expression: request.condition_expression.as_deref(),
            expected: request.expected.as_ref(),
            operator: request.conditional_operator,
            names: request.expression_attribute_names.as_ref(),
            values: request.expression_attribute_values.as_ref(),
        };
        parameters.check_mixture()?;
        check_return_values(request.return_values)?;
        let condition = parameters.parse()?;
        Ok(Write {
            table_name: std::mem::take(&mut request.table_name),
            action: Action::Delete(std::mem::take(&mut request.key)),
            condition,
            show_on_failure: shows(request.return_values_on_condition_check_failure),
        })
    }

    /// The write of an `UpdateItem`. Takes table and key out of the request.
    pub fn of_update(request: &mut UpdateItem) -> Result<Self, Error> {
        Parameters {
            expressions: &[
                ("UpdateExpression", request.update_expression.is_some()),
                ("ConditionExpression", request.condition_expression.is_some()),
            ],
            legacy: &[
                ("AttributeUpdates", request.attribute_updates.is_some()),
                ("Expected", request.expected.is_some()),
                ("ConditionalOperator", request.conditional_operator.is_some()),
            ],
            names: request.expression_attribute_names.is_some(),
            values: request.expression_attribute_values.is_some(),
        }
        .check()?;
        let mut placeholders = Placeholders::new(
            request.expression_attribute_names.as_ref(),
            request.expression_attribute_values.as_ref(),
        );
        placeholders.check_syntax()?;
        let update = match (&request.update_expression, &request.attribute_updates) {
            (Some(text), _) => Some(Update::parse(text, &mut placeholders)?),
            (None, Some(updates)) => Some(legacy::attribute_updates(updates)?),
            (None, None) => None,
        };
        let condition = match &request.condition_expression {
            Some(text) => Some(Condition::parse(Kind::Condition, text, &mut placeholders)?),
            None => legacy::expected(request.expected.as_ref(), request.conditional_operator)?,
        };
        placeholders.finish()?;
        Ok(Write {
            table_name: std::mem::take(&mut request.table_name),
            action: Action::Update(std::mem::take(&mut request.key), update),
            condition,
            show_on_failure: shows(request.return_values_on_condition_check_failure),
        })
    }

    /// The write of a PutItem, UpdateItem or DeleteItem, to be previewed.
    pub fn of_previewed(request: Request) -> Result<Self, Error> {
        let write = match request {
            Request::PutItem(mut request) => Self::of_put(&mut request),
            Request::UpdateItem(mut request) => Self::of_update(&mut request),
            Request::DeleteItem(mut request) => Self::of_delete(&mut request),
            other => Err(Error::validation(format!(
                "PutItem, UpdateItem and DeleteItem can be previewed, not {}",
                other.operation().as_str()
            ))),
        };
        write.map_err(Error::of_request)
    }

    /// The writes of a `TransactWriteItems`, in its order.
    pub fn of_transaction(request: &TransactWriteItems) -> Result<Vec<Self>, Error> {
        if request.transact_items.len() > TRANSACTION_ITEMS_MAX {
            return Err(Error::validation(
                "Member must have length less than or equal to 100",
            ));
        }
        request.transact_items.iter().map(of_part).collect()
    }

    /// The write of one member of a `BatchWriteItem`.
    pub fn of_batch(table_name: &str, request: WriteRequest) -> Result<Self, Error> {
        let action = match (request.put_request, request.delete_request) {
            (Some(put), None) => Action::Put(checked(put.item)?),
            (None, Some(delete)) => Action::Delete(delete.key),
            _ => {
                return Err(Error::validation(
                    "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported \
                     datatypes",
                ));
            }
        };
        Ok(Write {
            table_name: table_name.to_owned(),
            action,
            condition: None,
            show_on_failure: false,
        })
    }
}

/// The item of a put, unless it is too large.
fn checked(item: Item) -> Result<Item, Error> {
    check_size(size::of_item(&item))?;
    Ok(item)
}

fn check_return_values(wanted: Option<ReturnValue>) -> Result<(), Error> {
    match wanted {
        None | Some(ReturnValue::None | ReturnValue::AllOld) => Ok(()),
        _ => Err(Error::validation("ReturnValues can only be ALL_OLD or NONE")),
    }
}

fn of_part(item: &TransactWriteItem) -> Result<Write, Error> {
    match (&item.condition_check, &item.put, &item.delete, &item.update) {
        (Some(check), None, None, None) => {
            let given = Given {
                condition: Some(&check.condition_expression),
                names: check.expression_attribute_names.as_ref(),
                values: check.expression_attribute_values.as_ref(),
                show: shows(check.return_values_on_condition_check_failure),
            };
            given.write(&check.table_name, |_| Ok(Action::Check(check.key.clone())))
        }
        (None, Some(put), None, None) => {
            let given = Given {
                condition: put.condition_expression.as_ref(),
                names: put.expression_attribute_names.as_ref(),
                values: put.expression_attribute_values.as_ref(),
                show: shows(put.return_values_on_condition_check_failure),
            };
            given.write(&put.table_name, |_| Ok(Action::Put(checked(put.item.clone())?)))
        }
        (None, None, Some(delete), None) => {
            let given = Given {
                condition: delete.condition_expression.as_ref(),
                names: delete.expression_attribute_names.as_ref(),
                values: delete.expression_attribute_values.as_ref(),
                show: shows(delete.return_values_on_condition_check_failure),
            };
            given.write(&delete.table_name, |_| Ok(Action::Delete(delete.key.clone())))
        }
        (None, None, None, Some(update)) => {
            let given = Given {
                condition: update.condition_expression.as_ref(),
                names: update.expression_attribute_names.as_ref(),
                values: update.expression_attribute_values.as_ref(),
                show: shows(update.return_values_on_condition_check_failure),
            };
            given.write(&update.table_name, |placeholders| {
                let parsed = Update::parse(&update.update_expression, placeholders)?;
                Ok(Action::Update(update.key.clone(), Some(parsed)))
            })
        }
        _ => Err(Error::validation(
            "TransactItems can only contain one of Check, Put, Update or Delete",
        )),
    }
}

/// The parameters that all four actions of a transaction have.
struct Given<'a> {
    condition: Option<&'a String>,
    names: Option<&'a BTreeMap<String, String>>,
    values: Option<&'a Map>,
    show: bool,
}

impl Given<'_> {
    fn write(
        self,
        table: &str,
        action: impl FnOnce(&mut Placeholders<'_>) -> Result<Action, Error>,
    ) -> Result<Write, Error> {
        let mut placeholders = Placeholders::new(self.names, self.values);
        placeholders.check_syntax()?;
        let action = action(&mut placeholders)?;
        let condition = match self.condition {
            Some(text) => Some(Condition::parse(Kind::Condition, text, &mut placeholders)?),
            None => None,
        };
        placeholders.finish()?;
        Ok(Write {
            table_name: table.to_owned(),
            action,
            condition,
            show_on_failure: self.show,
        })
    }
}
