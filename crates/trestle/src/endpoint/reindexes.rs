//! The reindexes of a program at an endpoint.

use std::sync::{Arc, Weak};

use trestle_api::{Error, TouchRows};
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

/// Raises the version of rows in the process that has the models: in this one by a conditional write of each row, otherwise by a call to
/// the server.
pub(super) fn touch(there: &AtEndpoint, rows: TouchRows) -> TouchFuture<'_> {
    match &there.models {
        ModelsAt::Gateway(gateway) => {
            let by_update = TouchByUpdate::new(Arc::new(gateway.touching()));
            Box::pin(async move { by_update.touch(rows).await })
        }
        ModelsAt::Server(server) => server.touch(rows),
    }
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
        self.there().ok()?.model_of(table)
    }

    fn begin(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        self.there()?.set_reindex_version(table, entity, version)
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        let versions = self.there().ok()?.model_versions().ok()?;
        // If a server stores the models, this list is empty, and the model with which the reindex was started is used.
        (!versions.is_empty()).then(|| Arc::new(ModelTyper::new(versions)) as Arc<dyn Typer>)
    }
}
