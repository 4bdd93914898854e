//! Creation and deletion of models' tables by clients.

use trestle_api::{Error, Request, table_name};
use trestle_engine::Completion;
use trestle_models::describe;

use crate::opened::Opened;

/// Refuses to delete a table or an index that an effect of a stored model needs.
pub(crate) fn refuse_changes(opened: &Opened, request: &Request) -> Result<(), Error> {
    match opened.models.objection(request) {
        Some(objection) => {
            let there = describe(&opened.engine, &objection.table)?;
            objection.hold_against(there.as_ref())
        }
        None => Ok(()),
    }
}

/// Starts a request that is allowed. Data about the rows of a table is deleted with the table.
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
