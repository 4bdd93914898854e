//! What a reindex needs besides the tables: targets of rows, and the table's model.

use std::sync::Arc;

use trestle_api::Error;
use trestle_events::{RowSender, Typer};
use trestle_model::Model;

/// What a reindex needs besides the tables.
pub trait ReindexHost: Send + Sync {
    /// Why no route or reader would receive touches of this table; `None` if one does.
    fn touches_unheard(&self, table: &str) -> Option<String>;

    /// Opens the target of a route; the error says why rows cannot be sent there.
    fn sender(&self, route: &str) -> Result<RowSender, String>;

    /// The model of a table and its text, if known here.
    fn model(&self, table: &str) -> Option<(Arc<Model>, String)>;

    /// Called before rows are touched with a version, all of a table or those of one entity: from now on
    /// inserted rows get the version, as far as the database supports it.
    fn begin(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        let _ = (table, entity, version);
        Ok(())
    }

    /// Distinguishes entities, where models change during a reindex.
    fn typer(&self) -> Option<Arc<dyn Typer>>;
}

/// A remote endpoint of which only the tables are known.
#[derive(Debug, Default)]
pub struct EndpointHost {
    /// The model and its text, if given.
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
