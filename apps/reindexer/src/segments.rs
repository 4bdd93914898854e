//! The design that replaced shards: the table is read in parallel segments, and rows are sent directly to the
//! destination. Nothing is written to them, so that there are no change records and no conflicts with an
//! application's changes.
//!
//! script → one message for each run → the database's reindexer → rows → route of the job → pipelines

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trestle::Item;
use trestle::queue::{Job, NewMessage};
use trestle::reindex::{ReindexError, ReindexScope, StartReindex};

use crate::jobs::job;
use crate::shards::TABLE;
use crate::source::Source;
use crate::{Catalogue, Result};

/// The queue of runs.
pub(crate) const QUEUE: &str = "reindex-worker-jobs";
/// The pause before a message checks again whether the table is free.
const BUSY_WAIT: Duration = Duration::from_secs(1);

/// A message to the reindex worker, in the original's form, and its run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReindexJob {
    /// The job's configuration id.
    pub job_config_id: String,
    /// Which records.
    pub parameters: Parameters,
    /// The run; by default that of the message's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// Which records are reindexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Parameters {
    /// All of them.
    #[serde(rename = "CompleteReindexParameters")]
    Complete,
    /// The first that come.
    #[serde(rename = "PartialReindexParameters")]
    Partial {
        /// The most records.
        max_records: u64,
    },
    /// These.
    #[serde(rename = "SpecificReindexParameters")]
    Specific {
        /// Their ids.
        ids: Vec<String>,
    },
}

impl Parameters {
    /// The name of its reindex in the database. All rows of the table are read, and the route of the job
    /// selects those of its source.
    fn scope(self, source: Source) -> ReindexScope {
        match self {
            Parameters::Complete => ReindexScope::Complete,
            Parameters::Specific { ids } => ReindexScope::Ids(ids),
            Parameters::Partial { max_records } => ReindexScope::Access {
                name: "records_of_source".to_owned(),
                parameters: Item::from([("source", source.as_str())]),
                first: Some(max_records),
            },
        }
    }
}

impl Catalogue {
    /// Sends the records of a run. An interrupted run continues at its last pages. If its start was
    /// interrupted, the database finishes it, or has removed it when this message is received again.
    ///
    /// *Invariant*: while a run holds the table, no message of a run uses up its receives. Only a kill leaves
    /// the table to a run whose message is not being handled. Then this message continues that run first; a
    /// message that was received before is sent again as a new one.
    pub(crate) async fn send_run(self: Arc<Self>, message: Job<ReindexJob>) -> Result<()> {
        let mut asked = message.body;
        let source = job(&asked.job_config_id)?.source;
        let run = asked.run.get_or_insert(message.id).clone();
        if let Some(begun) = self.reindexer.of_table(TABLE).await?
            && (message.receives > 1 || begun.name != run && !self.finish(&begun.name).await)
        {
            let anew = NewMessage::job(&asked)?.after(BUSY_WAIT);
            self.queues.send(QUEUE, anew).await?;
            return Ok(());
        }
        if let Err(ReindexError::Unknown(_)) = self.reindexer.get(&run).await {
            let start = StartReindex {
                name: Some(run.clone()),
                scope: asked.parameters.scope(source),
                budget: self.setup.budget,
                workers: self.setup.segments,
                ..StartReindex::send(TABLE, asked.job_config_id)
            };
            self.reindexer.start(start).await?;
        }
        self.reindexer.work(&run).await?;
        Ok(())
    }

    /// Continues an interrupted run; returns whether it is over then.
    async fn finish(&self, run: &str) -> bool {
        let worked = self.reindexer.work(run).await;
        if let Err(error) = &worked {
            tracing::warn!(%error, "run {run} has the table and cannot go on");
        }
        worked.is_ok_and(|job| job.state.is_over())
    }
}
