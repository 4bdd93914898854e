//! Tables whose rows get their version from the server: other clients cannot raise it.

use crate::administration::{RunningServer, START_ONE};
use crate::exit::Failure;
use crate::server_flags::ServerFlags;
use trestle_admin::{AdministrationExt, ListModels, ReadModel};
use trestle_model::Model;

/// Refuses to touch rows from this process if the endpoint is a Trestle server with a model that declares
/// their version. If the models cannot be read, each row shows it.
pub(super) fn refuse_to_touch(server: &ServerFlags, table: &str) -> Result<(), Failure> {
    let endpoint = &server.endpoint;
    let server = RunningServer::new(server, START_ONE)?;
    let models = server
        .ask(ListModels {})
        .map(|list| list.models)
        .unwrap_or_default();
    let names = models
        .into_iter()
        .filter(|model| model.tables.iter().any(|name| name == table));
    for name in names.map(|model| model.name) {
        let text = server.ask(ReadModel { name }).map(|model| model.text);
        let model = text.ok().and_then(|text| trestle_model::load(&text).model);
        if model.is_some_and(|model| declares_version(&model, table)) {
            return Err(Failure::usage(format!(
                "the model of table {table} declares `reindex_version`, which only its server writes; start it there: `trestle reindex start \
                 {table} --server {endpoint}`"
            )));
        }
    }
    Ok(())
}

fn declares_version(model: &Model, table: &str) -> bool {
    let entities = model.table(table).map(|table| model.entities_of(table));
    let mut entities = entities.into_iter().flatten();
    entities.any(|entity| entity.reindex_version().is_some())
}
