//! `UpdateItem`.

use trestle_api::{Error, ReturnValue, UpdateItem, UpdateItemOutput};
use trestle_expr::{Kind, Parameters, Placeholders, Update, legacy};
use trestle_item::Item;

use crate::completion::Completion;
use crate::expressions;
use crate::write_item::{Action, ItemWrite, Outcome};
use crate::{Engine, collection, image, ops};

pub(crate) fn run(engine: &Engine, mut request: UpdateItem) -> Completion {
    let write = check(&mut request);
    let update = match &write {
        Ok(ItemWrite {
            action: Action::Update(_, update),
            ..
        }) => update.clone(),
        _ => None,
    };
    ops::write_item(engine, write, move |outcome| UpdateItemOutput {
        attributes: attributes(request.return_values, update.as_ref(), &outcome),
        consumed_capacity: outcome
            .consumed
            .report(&outcome.table, request.return_consumed_capacity),
        item_collection_metrics: collection::metrics(
            &outcome.table,
            image::item(outcome.new.as_ref()).or(outcome.removed.as_ref()),
            request.return_item_collection_metrics,
        ),
    })
}

/// What the answer shows of the item.
fn attributes(wanted: Option<ReturnValue>, update: Option<&Update>, outcome: &Outcome) -> Option<Item> {
    let (old, new) = (
        image::item(outcome.old.as_ref()),
        image::item(outcome.new.as_ref()),
    );
    let touched = |image: Option<&Item>| {
        image
            .zip(update)
            .map(|(image, update)| update.updated(image))
            .filter(|touched| !touched.is_empty())
    };
    match wanted? {
        ReturnValue::None => None,
        ReturnValue::AllOld => old.cloned(),
        ReturnValue::AllNew => new.cloned(),
        ReturnValue::UpdatedOld => touched(old),
        ReturnValue::UpdatedNew => touched(new),
    }
}

fn check(request: &mut UpdateItem) -> Result<ItemWrite, Error> {
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
        Some(text) => Some(trestle_expr::Condition::parse(
            Kind::Condition,
            text,
            &mut placeholders,
        )?),
        None => legacy::expected(request.expected.as_ref(), request.conditional_operator)?,
    };
    placeholders.finish()?;
    Ok(ItemWrite {
        table_name: std::mem::take(&mut request.table_name),
        action: Action::Update(std::mem::take(&mut request.key), update),
        condition,
        show_on_failure: expressions::shows(request.return_values_on_condition_check_failure),
    })
}
