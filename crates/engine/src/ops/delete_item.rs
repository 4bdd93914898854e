//! `DeleteItem`.

use trestle_api::{DeleteItem, DeleteItemOutput, Error, ReturnValue};

use crate::completion::Completion;
use crate::expressions::{self, ConditionParameters};
use crate::write_item::{Action, ItemWrite};
use crate::{Engine, collection, image, ops};

pub(crate) fn run(engine: &Engine, mut request: DeleteItem) -> Completion {
    let write = check(&mut request);
    ops::write_item(engine, write, move |outcome| DeleteItemOutput {
        attributes: match request.return_values {
            Some(ReturnValue::AllOld) => image::item(outcome.old.as_ref()).cloned(),
            _ => None,
        },
        consumed_capacity: outcome
            .consumed
            .report(&outcome.table, request.return_consumed_capacity),
        item_collection_metrics: collection::metrics(
            &outcome.table,
            outcome.removed.as_ref(),
            request.return_item_collection_metrics,
        ),
    })
}

fn check(request: &mut DeleteItem) -> Result<ItemWrite, Error> {
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
    let condition = parameters.parse()?;
    Ok(ItemWrite {
        table_name: std::mem::take(&mut request.table_name),
        action: Action::Delete(std::mem::take(&mut request.key)),
        condition,
        show_on_failure: expressions::shows(request.return_values_on_condition_check_failure),
    })
}
