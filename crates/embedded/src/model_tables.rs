//! Clients delete tables and indexes of a model only where all derived facts stay right.

use trestle_api::{Error, Request, TableDescription, UpdateTable, table_name};
use trestle_engine::Completion;
use trestle_model::Model;

use crate::opened::Opened;
use trestle_models::describe;

/// Refuses to delete a table or an index that an effect of a stored model needs. What is not there is the engine's to refuse.
pub(crate) fn refuse_changes(opened: &Opened, request: &Request) -> Result<(), Error> {
    match request {
        Request::DeleteTable(request) => refuse_deletion(opened, table_name(&request.table_name)),
        Request::UpdateTable(request) => refuse_index_deletion(opened, request),
        _ => Ok(()),
    }
}

/// Starts a request that is allowed. What is kept about the rows of a table goes with the table.
pub(crate) fn start(opened: &Opened, request: Request) -> Completion {
    let models = &opened.models;
    match request {
        Request::DeleteTable(request) => {
            let table = table_name(&request.table_name);
            match models.model_with(table) {
                None if !models.has_version_in_force(table) => opened.engine.start(request.into()),
                model => Completion::Ready(models.delete_table(model.as_deref(), request)),
            }
        }
        Request::CreateTable(request) => models.creating_table(|| opened.engine.start(request.into())),
        request => opened.engine.start(request),
    }
}

fn refuse_deletion(opened: &Opened, table: &str) -> Result<(), Error> {
    let Some(model) = opened.models.model_with(table) else {
        return Ok(());
    };
    let Some(across) = model.depends_across(table) else {
        return Ok(());
    };
    if describe(&opened.engine, table)?.is_none() {
        return Ok(());
    }
    let (name, effect, other) = (model.name(), across.effect, across.other_table);
    Err(Error::resource_in_use(format!(
        "Table {table} cannot be deleted: the {effect} in model {name} relates its rows to rows of table {other}. Remove the \
         model first (`trestle model remove {name}`), or apply a version of it without this effect."
    )))
}

fn refuse_index_deletion(opened: &Opened, request: &UpdateTable) -> Result<(), Error> {
    let mut deleted = deleted_indexes(request).peekable();
    let table = table_name(&request.table_name);
    let model = deleted.peek().and_then(|_| opened.models.model_with(table));
    let Some(model) = model else { return Ok(()) };
    let Some(there) = describe(&opened.engine, table)? else {
        return Ok(());
    };
    let mut deleted = deleted.filter(|index| has_index(&there, index));
    deleted.try_for_each(|index| refuse_index(&model, table, index))
}

fn refuse_index(model: &Model, table: &str, index: &str) -> Result<(), Error> {
    let Some(effect) = model.effect_through(table, index) else {
        return Ok(());
    };
    let name = model.name();
    Err(Error::resource_in_use(format!(
        "Index {index} of table {table} cannot be deleted: the {effect} in model {name} finds rows through it. Apply a version \
         of the model without this effect first."
    )))
}

fn deleted_indexes(request: &UpdateTable) -> impl Iterator<Item = &str> {
    let updates = request.global_secondary_index_updates.iter().flatten();
    updates.filter_map(|update| Some(update.delete.as_ref()?.index_name.as_str()))
}

fn has_index(there: &TableDescription, name: &str) -> bool {
    let mut indexes = there.global_secondary_indexes.iter().flatten();
    indexes.any(|index| index.index_name.as_str() == name)
}
