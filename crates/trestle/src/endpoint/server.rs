//! An endpoint that has models itself: a Trestle server, or a gateway.

use std::sync::Arc;

use tokio::runtime::{Builder, Handle};
use trestle_admin::{
    AdminClient, AdminError, ApplyModel, Call, ListModels, ReadModel, RemoveModel, TouchByServer,
};
use trestle_api::{Error, TouchRows};
use trestle_binding::Report;
use trestle_model::Model;
use trestle_models::ApplyOptions;
use trestle_reindex::{Touch as _, TouchFuture};
use trestle_remote::{BadSettings, Settings};

use crate::ApplyError;
use crate::blocking::blocking;

/// The server that stores the models there and applies them to writes.
pub(super) struct ModelServer {
    admin: Arc<AdminClient>,
    touch: TouchByServer,
}

impl ModelServer {
    pub(super) fn new(settings: Settings) -> Result<Self, BadSettings> {
        let admin = Arc::new(AdminClient::new(settings)?);
        Ok(Self {
            touch: TouchByServer::new(Arc::clone(&admin)),
            admin,
        })
    }

    /// Lets the server apply a model. It blocks.
    pub(super) fn apply(&self, text: &str, options: ApplyOptions) -> Result<Report, ApplyError> {
        let call = ApplyModel {
            text: text.to_owned(),
            dry_run: options.dry_run,
            fill: options.fill,
            delete_indexes: options.delete_indexes,
            adopt: options.adopt,
        };
        self.ask(call).map_err(|error| match error.found() {
            Some(report) => ApplyError::Refused(Box::new(report)),
            None => ApplyError::Server(error.to_string()),
        })
    }

    /// Lets the server remove a model. It blocks.
    pub(super) fn remove(&self, name: &str) -> Result<(), ApplyError> {
        let name = name.to_owned();
        let removed = self.ask(RemoveModel { name });
        removed
            .map(drop)
            .map_err(|error| ApplyError::Server(error.to_string()))
    }

    /// The model of a table and its text, as the server has it now; `None` if it has none, or the call fails. It blocks.
    pub(super) fn model_of(&self, table: &str) -> Option<(Arc<Model>, String)> {
        let list = self.ask(ListModels {}).ok()?.models;
        let has_table = |tables: &[String]| tables.iter().any(|name| name == table);
        let name = list.into_iter().find(|model| has_table(&model.tables))?.name;
        let text = self.ask(ReadModel { name }).ok()?.text;
        Some((Arc::new(trestle_model::load(&text).model?), text))
    }

    /// Sets the version that inserted rows get from now on. It blocks.
    pub(super) fn set_reindex_version(
        &self,
        table: &str,
        entity: Option<&str>,
        version: u64,
    ) -> Result<(), Error> {
        wait(self.touch.set_reindex_version(table, entity, version)).map_err(no_runtime)?
    }

    /// Lets the server raise versions, because clients may not write version attributes that models declare.
    pub(super) fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        Box::pin(async move {
            match Handle::try_current() {
                Ok(_) => self.touch.touch(rows).await,
                Err(_) => wait(self.touch.touch(rows)).map_err(no_runtime)?,
            }
        })
    }

    pub(super) fn ask<C: Call + Send>(&self, call: C) -> Result<C::Answer, AdminError>
    where
        C::Answer: Send,
    {
        wait(self.admin.ask(call)).map_err(AdminError::failed)?
    }
}

/// Waits for the server on a thread without a runtime.
fn wait<T: Send>(asking: impl Future<Output = T> + Send) -> std::io::Result<T> {
    blocking(|| {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(asking))
    })
}

fn no_runtime(error: std::io::Error) -> Error {
    Error::internal(format!("the runtime cannot start: {error}"))
}
