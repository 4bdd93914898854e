//! The reindexes of a server: it works on them itself, and goes on with those that were running when it starts.

use crate::administration::reindexes::Reindexes;
use tokio::runtime::Handle;
use trestle_admin::{AdminAnswer, AdminCall, AdminError};
use trestle_embedded::Embedded;
use trestle_reindex::ReindexWorkers;

/// Reindexes at work.
pub(super) struct ServerReindexes {
    workers: ReindexWorkers,
    runtime: Handle,
}

impl ServerReindexes {
    /// Goes on with what was running. Routes are at work already, so that rows can be sent to them. What is wrong with reindexes must not
    /// keep the data from being served.
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

    /// Answers a call about reindexes. Not for tasks.
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

    /// Stops the work at the pages that it is at.
    pub(super) async fn stop(&self) {
        self.workers.stop().await;
    }
}
