//! The reindexes of a program at an endpoint.

use std::sync::{Arc, Weak};

use trestle_api::{Database, Error, TouchRows};
use trestle_events::{ModelTyper, RowSender, Typer};
use trestle_model::Model;
use trestle_reindex::{ReindexHost, ReindexSetup, Reindexer, Touch, TouchByUpdate, TouchFuture};

use super::{AtEndpoint, ModelsAt};

/// The reindexes that are stored in the table `PROGRAM.trestle-reindex`.
pub(super) fn of(there: &Arc<AtEndpoint>) -> Reindexer {
    let rows = there.shared_rows();
    Reindexer::new(ReindexSetup {
        state: Arc::new(there.remote.clone()),
        state_table: format!("{}.trestle-reindex", there.program),
        clock: Arc::clone(&there.clock),
        touch: Arc::new(ProgramHost(Arc::downgrade(there))),
        database: rows,
        host: Arc::new(ProgramHost(Arc::downgrade(there))),
        traffic: None,
        lease: ReindexSetup::LEASE,
        first_pause: ReindexSetup::FIRST_PAUSE,
        longest_pause: ReindexSetup::LONGEST_PAUSE,
    })
}

/// Raises the version of rows, each by a separate conditional write.
pub(super) fn touch(there: &AtEndpoint, rows: TouchRows) -> TouchFuture<'_> {
    let rows_there: Arc<dyn Database> = match &there.models {
        ModelsAt::Gateway(gateway) => Arc::new(gateway.touching()),
        ModelsAt::Server(_) => Arc::new(there.remote.clone()),
    };
    let by_update = TouchByUpdate::new(rows_there);
    Box::pin(async move { by_update.touch(rows).await })
}

/// The models in force, and the routes of the program's router. The reindexer does not keep the database
/// open.
struct ProgramHost(Weak<AtEndpoint>);

impl ProgramHost {
    fn there(&self) -> Result<Arc<AtEndpoint>, Error> {
        let closed = || Error::internal("the database was closed");
        self.0.upgrade().ok_or_else(closed)
    }
}

impl Touch for ProgramHost {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        Box::pin(async move { self.there()?.touch(rows).await })
    }
}

impl ReindexHost for ProgramHost {
    /// At an endpoint, a touch is an update like any other.
    fn touches_unheard(&self, _table: &str) -> Option<String> {
        None
    }

    fn sender(&self, route: &str) -> Result<RowSender, String> {
        let there = self.there().map_err(|error| error.to_string())?;
        let router = there.router();
        let router = router.ok_or("no routes are at work in this process; start them first")?;
        router.row_sender(route)
    }

    fn model(&self, table: &str) -> Option<(Arc<Model>, String)> {
        let there = self.there().ok()?;
        let models = there.models().ok()?;
        let mut names = models.list().into_iter().map(|summary| summary.name);
        names.find_map(|name| {
            let model = models.model(&name).ok()?;
            model.table(table)?;
            Some((model, models.text(&name).ok()?))
        })
    }

    fn begin(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        self.there()?.set_reindex_version(table, entity, version)
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        let versions = self.there().ok()?.model_versions().ok()?;
        Some(Arc::new(ModelTyper::new(versions)))
    }
}
