//! What a reindex needs besides the tables: where rows go, and what is known of the table's model.

use std::sync::Arc;

use trestle_api::Error;
use trestle_events::{RowSender, Typer};
use trestle_model::Model;

/// What a reindex needs besides the tables.
pub trait ReindexHost: Send + Sync {
    /// Why nothing listens to touches of this table; `None` if something does.
    fn touches_unheard(&self, table: &str) -> Option<String>;

    /// Opens the target of a route; or says why rows cannot be sent there.
    fn sender(&self, route: &str) -> Result<RowSender, String>;

    /// The model of a table and its text, if one is known here.
    fn model(&self, table: &str) -> Option<(Arc<Model>, String)>;

    /// Rows are about to be touched with a version, all of a table or those of one entity: from now on, rows that are inserted
    /// get it by themselves, as far as the database can see to that.
    fn begin(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        let _ = (table, entity, version);
        Ok(())
    }

    /// Tells entities apart, where models change while a reindex runs.
    fn typer(&self) -> Option<Arc<dyn Typer>>;
}

/// A remote endpoint, of which nothing is known but its tables.
#[derive(Debug, Default)]
pub struct EndpointHost {
    /// The model and its text, if it was given.
    pub model: Option<(Arc<Model>, String)>,
}

impl ReindexHost for EndpointHost {
    fn touches_unheard(&self, _table: &str) -> Option<String> {
        None
    }

    fn sender(&self, route: &str) -> Result<RowSender, String> {
        Err(format!(
            "routes are stored with a Trestle database, and route {route} is not known for this endpoint; name the file it is in \
             with --routes, or reindex by touching rows"
        ))
    }

    fn model(&self, table: &str) -> Option<(Arc<Model>, String)> {
        self.model
            .clone()
            .filter(|(model, _)| model.table(table).is_some())
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        None
    }
}
