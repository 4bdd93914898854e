//! `PutItem`.

use std::sync::Arc;

use trestle_api::{Error, PutItem, PutItemOutput, ReturnValue};

use crate::completion::Completion;
use crate::expressions::{self, ConditionParameters};
use crate::write_item::{Action, ItemWrite, check_item_size};
use crate::{Engine, collection, ops};

pub(crate) fn run(engine: &Engine, mut request: PutItem) -> Completion {
    let write = check(&mut request);
    ops::write_item(engine, write, move |outcome| PutItemOutput {
        attributes: match request.return_values {
            Some(ReturnValue::AllOld) => outcome.old.as_deref().cloned(),
            _ => None,
        },
        consumed_capacity: outcome
            .consumed
            .report(&outcome.table, request.return_consumed_capacity),
        item_collection_metrics: collection::metrics(
            &outcome.table,
            outcome.new.as_deref(),
            request.return_item_collection_metrics,
        ),
    })
}

fn check(request: &mut PutItem) -> Result<ItemWrite, Error> {
    let parameters = ConditionParameters {
        expression: request.condition_expression.as_deref(),
        expected: request.expected.as_ref(),
        operator: request.conditional_operator,
        names: request.expression_attribute_names.as_ref(),
        values: request.expression_attribute_values.as_ref(),
    };
    parameters.check_mixture()?;
    if !matches!(
        request.return_values,
        None | Some(ReturnValue::None | ReturnValue::AllOld)
    ) {
        return Err(Error::validation("ReturnValues can only be ALL_OLD or NONE"));
    }
    check_item_size(&request.item)?;
    let condition = parameters.parse()?;
    Ok(ItemWrite {
        table_name: std::mem::take(&mut request.table_name),
        action: Action::Put(Arc::new(std::mem::take(&mut request.item))),
        condition,
        show_on_failure: expressions::shows(request.return_values_on_condition_check_failure),
    })
}
