//! The design that replaced shards: the table is read in parallel segments, and rows go straight to the destination.
//! Nothing is written to them, so that no stream fires and no change of an application is in the way.
//!
//! script → one message for each run → the database's reindexer → rows → route of the job → pipelines

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};
use trestle::queue::Job;
use trestle::reindex::{ReindexBudget, ReindexError, ReindexScope, ReindexState, StartReindex};

use crate::jobs::job;
use crate::pipeline::RECEIVES_MAX;
use crate::shards::TABLE;
use crate::source::Source;
use crate::{Catalogue, Error, Result};

/// The queue of runs, how often one is tried, and how many are at work at once: a table has one reindex at a time.
pub(crate) const QUEUE: (&str, u32, usize) = ("reindex-worker-jobs", RECEIVES_MAX, 1);

/// Segments that are sent at once. Each sends one record at a time, and those of all share commits.
pub(crate) const AT_ONCE: u32 = 16;

/// What a reindex may cost unless told otherwise. What it feeds writes to the same database: it would take that for live
/// traffic and rest all the time.
pub(crate) fn budget() -> ReindexBudget {
    let yields = false;
    ReindexBudget {
        yields,
        ..ReindexBudget::default()
    }
}

/// A message to the reindex worker, as the original has it; and the run that it is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReindexJob {
    /// The job's configuration id.
    pub job_config_id: String,
    /// Which records.
    pub parameters: Parameters,
    /// The run; that of the message's id unless given.
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
        /// How many at most.
        max_records: usize,
    },
    /// These.
    #[serde(rename = "SpecificReindexParameters")]
    Specific {
        /// Their ids.
        ids: Vec<String>,
    },
}

impl Catalogue {
    /// Sends the records of a run. One that was cut off goes on at the pages where it was.
    pub(crate) async fn send_run(self: Arc<Self>, message: Job<ReindexJob>) -> Result<()> {
        let asked = message.body;
        let (_, source, _) = job(&asked.job_config_id)?;
        let run = asked.run.unwrap_or(message.id);
        if let Err(ReindexError::Unknown(_)) = self.reindexer.get(&run).await {
            let start = StartReindex {
                name: Some(run.clone()),
                scope: match self.scope(source, asked.parameters).await? {
                    ReindexScope::Ids(ids) if ids.is_empty() => return Ok(()),
                    scope => scope,
                },
                budget: self.setup.budget,
                workers: self.setup.segments,
                ..StartReindex::send(TABLE, asked.job_config_id)
            };
            self.reindexer.start(start).await?;
        }
        // This finishes a start that was cut off, too, unless it was one by ids: that one is cancelled.
        match self.reindexer.work(&run).await?.state {
            ReindexState::Cancelled => {
                Err(Error::Conflict(format!("run {run} was cancelled; start another")))
            }
            _ => Ok(()),
        }
    }

    /// What the database calls it. The first of a source are looked up here: the database knows the first of a table.
    async fn scope(&self, source: Source, parameters: Parameters) -> Result<ReindexScope> {
        Ok(match parameters {
            Parameters::Complete => ReindexScope::Complete,
            Parameters::Specific { ids } => ReindexScope::Ids(ids),
            Parameters::Partial { max_records } => {
                let mut rows = self.db.records_of_source(source).consistent().stream();
                let mut ids = Vec::new();
                while ids.len() < max_records
                    && let Some(row) = rows.try_next().await?
                {
                    ids.push(row.id);
                }
                ReindexScope::Ids(ids)
            }
        })
    }
}
