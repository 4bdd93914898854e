//! An endpoint whose server may have models. The server raises version attributes that models declare, because clients may not write
//! them.

use crate::exit::Failure;
use crate::known::{self, KnownModel};
use crate::runtime;
use crate::server_flags::ServerFlags;
use std::sync::Arc;
use trestle_admin::{AdminClient, TouchByServer};
use trestle_api::{Database, Error, TouchRows};
use trestle_events::{RowSender, Typer};
use trestle_model::Model;
use trestle_reindex::{EndpointHost, ReindexHost, Touch, TouchByUpdate, TouchFuture};

/// An endpoint, and the models of its server if it is a Trestle server.
pub(super) struct ServerModels {
    endpoint: EndpointHost,
    models: Vec<KnownModel>,
    by_server: TouchByServer,
    by_update: TouchByUpdate,
}

impl ServerModels {
    pub(super) fn read(
        server: &ServerFlags,
        database: Arc<dyn Database>,
        endpoint: EndpointHost,
    ) -> Result<Self, Failure> {
        let client = AdminClient::new(server.settings()).map_err(Failure::usage)?;
        Ok(Self {
            endpoint,
            models: known::models(server)?,
            by_server: TouchByServer::new(Arc::new(client)),
            by_update: TouchByUpdate::new(database),
        })
    }

    fn of_server(&self, table: &str) -> Option<&KnownModel> {
        let mut models = self.models.iter();
        models.find(|known| known.model.table(table).is_some())
    }

    fn declares_version(&self, table: &str) -> bool {
        let model = self.of_server(table).map(|known| &known.model);
        let entities = model.and_then(|model| Some(model.entities_of(model.table(table)?)));
        let mut entities = entities.into_iter().flatten();
        entities.any(|entity| entity.reindex_version().is_some())
    }
}

impl Touch for ServerModels {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        match self.declares_version(&rows.table) {
            true => self.by_server.touch(rows),
            false => self.by_update.touch(rows),
        }
    }
}

impl ReindexHost for ServerModels {
    fn touches_unheard(&self, table: &str) -> Option<String> {
        self.endpoint.touches_unheard(table)
    }

    fn sender(&self, route: &str) -> Result<RowSender, String> {
        self.endpoint.sender(route)
    }

    /// The model that was given as a file, or that of the server.
    fn model(&self, table: &str) -> Option<(Arc<Model>, String)> {
        let known = || self.of_server(table);
        let of_server = || known().map(|known| (Arc::clone(&known.model), known.text.clone()));
        self.endpoint.model(table).or_else(of_server)
    }

    fn begin(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        if !self.declares_version(table) {
            return Ok(());
        }
        let set = || {
            let runtime = runtime::on_this_thread().map_err(|failure| Error::internal(failure.message))?;
            runtime.block_on(self.by_server.set_reindex_version(table, entity, version))
        };
        // The caller runs in a runtime, and another runtime cannot block on the same thread.
        std::thread::scope(|scope| {
            let asked = scope.spawn(set).join();
            asked.unwrap_or_else(|_| Err(Error::internal("the call failed")))
        })
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        self.endpoint.typer()
    }
}
