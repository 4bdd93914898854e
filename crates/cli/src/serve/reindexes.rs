//! The reindexes of a server: it works on them itself, and continues after a restart.

use crate::administration::reindexes::Reindexes;
use tokio::runtime::Handle;
use trestle_admin::{AdminAnswer, AdminCall, AdminError};
use trestle_embedded::Embedded;
use trestle_reindex::ReindexWorkers;

/// Running reindexes.
pub(super) struct ServerReindexes {
    workers: ReindexWorkers,
    runtime: Handle,
}

impl ServerReindexes {
    /// Continues running reindexes. Routes run already, so that rows can be sent to them. Errors of reindexes
    /// must not prevent the data from being served.
    pub(super) async fn open(db: &Embedded, runtime: &Handle) -> Self {
        let workers = ReindexWorkers::new(db.reindexer(), runtime.clone());
        match workers.resume().await {
            Ok(resumed) => {
                for job in resumed {
                    tracing::info!("reindex {} of table {} continues", job.name, job.table);
                }
            }
            Err(error) => tracing::error!("reindexes cannot continue: {error}"),
        }
        let runtime = runtime.clone();
        Self { workers, runtime }
    }

    /// Answers a call about reindexes. Not for asynchronous tasks.
    pub(super) fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let reindexes = Reindexes {
            reindexer: self.workers.reindexer(),
            workers: Some(&self.workers),
        };
        let name = call.info().name;
        let answered = self.runtime.block_on(reindexes.answer(call));
        let stray = || AdminError::failed(format!("internal error: {name} is no call about reindexes"));
        answered.unwrap_or_else(|| Err(stray()))
    }

    /// Stops the work after the current pages.
    pub(super) async fn stop(&self) {
        self.workers.stop().await;
    }
}
