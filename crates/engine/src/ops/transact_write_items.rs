//! `TransactWriteItems`.

use std::collections::BTreeMap;

use trestle_api::{Error, TransactWriteItem, TransactWriteItems, TransactWriteItemsOutput};
use trestle_expr::{Condition, Kind, Placeholders, Update};
use trestle_item::Map;

use crate::completion::Completion;
use crate::shared::internal;
use crate::tokens::Token;
use crate::write_item::{Action, ItemWrite, image_to_put};
use crate::{Engine, collection, expressions, image, transact};

/// Items in one transaction.
pub(crate) const ITEMS_MAX: usize = 100;

pub(crate) fn run(engine: &Engine, request: TransactWriteItems) -> Completion {
    let prepared =
        check(&request).and_then(|(writes, token)| transact::prepare(engine.shared(), writes, token));
    let (prepared, hold) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Completion::Ready(Err(error)),
    };
    let (capacity, metrics) = (
        request.return_consumed_capacity,
        request.return_item_collection_metrics,
    );
    let work = move |transaction: &mut crate::transaction::Transaction<'_>| {
        let done = prepared.run(transaction)?;
        let mut collections: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for outcome in &done.outcomes {
            let image = image::item(outcome.new.as_ref().or(outcome.old.as_ref()));
            let image = image.or(outcome.removed.as_ref());
            if let Some(collection) = collection::metrics(&outcome.table, image, metrics) {
                collections
                    .entry(outcome.table.name.clone())
                    .or_default()
                    .push(collection);
            }
        }
        Ok(TransactWriteItemsOutput {
            consumed_capacity: done.report(capacity),
            item_collection_metrics: (!collections.is_empty()).then_some(collections),
        }
        .into())
    };
    engine.submit(Box::new(work), Some(hold))
}

fn check(request: &TransactWriteItems) -> Result<(Vec<ItemWrite>, Option<Token>), Error> {
    if request.transact_items.len() > ITEMS_MAX {
        return Err(Error::validation(
            "Member must have length less than or equal to 100",
        ));
    }
    let writes = request
        .transact_items
        .iter()
        .map(item_write)
        .collect::<Result<_, _>>()?;
    let token = match &request.client_request_token {
        Some(name) => {
            let request = serde_json::to_vec(&request.transact_items).map_err(internal)?;
            Some(Token::new(name.clone(), &request))
        }
        None => None,
    };
    Ok((writes, token))
}

fn item_write(item: &TransactWriteItem) -> Result<ItemWrite, Error> {
    match (&item.condition_check, &item.put, &item.delete, &item.update) {
        (Some(check), None, None, None) => {
            let given = Given {
                condition: Some(&check.condition_expression),
                names: check.expression_attribute_names.as_ref(),
                values: check.expression_attribute_values.as_ref(),
                show: expressions::shows(check.return_values_on_condition_check_failure),
            };
            given.write(&check.table_name, |_| Ok(Action::Check(check.key.clone())))
        }
        (None, Some(put), None, None) => {
            let given = Given {
                condition: put.condition_expression.as_ref(),
                names: put.expression_attribute_names.as_ref(),
                values: put.expression_attribute_values.as_ref(),
                show: expressions::shows(put.return_values_on_condition_check_failure),
            };
            given.write(&put.table_name, |_| {
                Ok(Action::Put(image_to_put(put.item.clone())?))
            })
        }
        (None, None, Some(delete), None) => {
            let given = Given {
                condition: delete.condition_expression.as_ref(),
                names: delete.expression_attribute_names.as_ref(),
                values: delete.expression_attribute_values.as_ref(),
                show: expressions::shows(delete.return_values_on_condition_check_failure),
            };
            given.write(&delete.table_name, |_| Ok(Action::Delete(delete.key.clone())))
        }
        (None, None, None, Some(update)) => {
            let given = Given {
                condition: update.condition_expression.as_ref(),
                names: update.expression_attribute_names.as_ref(),
                values: update.expression_attribute_values.as_ref(),
                show: expressions::shows(update.return_values_on_condition_check_failure),
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

/// The parameters that all four actions have.
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
    ) -> Result<ItemWrite, Error> {
        let mut placeholders = Placeholders::new(self.names, self.values);
        placeholders.check_syntax()?;
        let action = action(&mut placeholders)?;
        let condition = match self.condition {
            Some(text) => Some(Condition::parse(Kind::Condition, text, &mut placeholders)?),
            None => None,
        };
        placeholders.finish()?;
        Ok(ItemWrite {
            table_name: table.to_owned(),
            action,
            condition,
            show_on_failure: self.show,
        })
    }
}
