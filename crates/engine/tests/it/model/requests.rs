//! The oracle's writes and queries as requests to the engine.

use trestle_api::{
    ConditionCheck, Delete, DeleteItem, DeleteRequest, Error, Put, PutItem, PutRequest, Query,
    ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update, UpdateItem, WriteRequest,
};
use trestle_engine::Engine;
use trestle_item::Item;

use crate::oracle::condition::Writer;
use crate::oracle::query::Ask;
use crate::oracle::{Action, Write, update};

/// Runs the write as its own request; returns the attributes in the response.
pub(super) fn run(engine: &Engine, write: &Write) -> Result<Option<Item>, Error> {
    let Write {
        table,
        key,
        action,
        condition,
        returns,
        ..
    } = write.clone();
    let mut writer = Writer::default();
    let update = match &action {
        Action::Update(changes) => Some(update::write(changes, &mut writer)),
        _ => None,
    };
    let condition = condition.map(|condition| writer.condition(&condition));
    let show = write
        .show_on_failure
        .then_some(ReturnValuesOnConditionCheckFailure::AllOld);
    let (names, values) = (writer.names(), writer.values());
    match action {
        Action::Put(item) => engine
            .run(PutItem {
                table_name: table,
                item,
                condition_expression: condition,
                expression_attribute_names: names,
                expression_attribute_values: values,
                return_values: Some(returns),
                return_values_on_condition_check_failure: show,
                ..PutItem::default()
            })
            .map(|output| output.attributes),
        Action::Update(_) => engine
            .run(UpdateItem {
                table_name: table,
                key,
                update_expression: update,
                condition_expression: condition,
                expression_attribute_names: names,
                expression_attribute_values: values,
                return_values: Some(returns),
                return_values_on_condition_check_failure: show,
                ..UpdateItem::default()
            })
            .map(|output| output.attributes),
        Action::Delete => engine
            .run(DeleteItem {
                table_name: table,
                key,
                condition_expression: condition,
                expression_attribute_names: names,
                expression_attribute_values: values,
                return_values: Some(returns),
                return_values_on_condition_check_failure: show,
                ..DeleteItem::default()
            })
            .map(|output| output.attributes),
        Action::Check => panic!("a check is only for transactions"),
    }
}

/// A put or delete for a batch.
pub(super) fn in_batch(write: &Write) -> WriteRequest {
    match &write.action {
        Action::Put(item) => WriteRequest {
            put_request: Some(PutRequest { item: item.clone() }),
            ..WriteRequest::default()
        },
        Action::Delete => WriteRequest {
            delete_request: Some(DeleteRequest {
                key: write.key.clone(),
            }),
            ..WriteRequest::default()
        },
        other => panic!("not for a batch: {other:?}"),
    }
}

/// A part of a transaction.
pub(super) fn in_transaction(write: &Write) -> TransactWriteItem {
    let Write {
        table: table_name,
        key,
        action,
        condition,
        ..
    } = write.clone();
    let mut writer = Writer::default();
    let update_expression = match &action {
        Action::Update(changes) => update::write(changes, &mut writer),
        _ => String::new(),
    };
    let condition_expression = condition.map(|condition| writer.condition(&condition));
    let expression_attribute_names = writer.names();
    let expression_attribute_values = writer.values();
    let mut item = TransactWriteItem::default();
    match action {
        Action::Put(new) => {
            item.put = Some(Box::new(Put {
                item: new,
                table_name,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                ..Put::default()
            }));
        }
        Action::Update(_) => {
            item.update = Some(Box::new(Update {
                key,
                table_name,
                update_expression,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                ..Update::default()
            }));
        }
        Action::Delete => {
            item.delete = Some(Box::new(Delete {
                key,
                table_name,
                condition_expression,
                expression_attribute_names,
                expression_attribute_values,
                ..Delete::default()
            }));
        }
        Action::Check => {
            item.condition_check = Some(Box::new(ConditionCheck {
                key,
                table_name,
                condition_expression: condition_expression.unwrap(),
                expression_attribute_names,
                expression_attribute_values,
                ..ConditionCheck::default()
            }));
        }
    }
    item
}

pub(super) fn query(ask: &Ask, limit: Option<u32>) -> Query {
    let mut writer = Writer::default();
    let key_condition = ask.key_condition(&mut writer);
    let filter = ask.filter.as_ref().map(|filter| writer.condition(filter));
    let shown = ask.attributes.as_ref().map(|names| {
        let names: Vec<String> = names.iter().map(|name| writer.name(name)).collect();
        names.join(", ")
    });
    Query {
        table_name: ask.table.clone(),
        index_name: ask.index.clone(),
        key_condition_expression: Some(key_condition),
        filter_expression: filter,
        projection_expression: shown,
        expression_attribute_names: writer.names(),
        expression_attribute_values: writer.values(),
        scan_index_forward: Some(ask.forward),
        limit,
        ..Query::default()
    }
}
