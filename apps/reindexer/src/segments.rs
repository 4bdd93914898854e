//! The design that replaced shards: the table is read in parallel segments, and rows go straight to the destination.
//! Nothing is written to them, so that no stream fires and no change of an application is in the way.
//!
//! script → one message for each run → the database's reindexer → rows → route of the job → pipelines

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle::Item;
use trestle::queue::Job;
use trestle::reindex::{ReindexError, ReindexScope, StartReindex};

use crate::jobs::job;
use crate::shards::TABLE;
use crate::source::Source;
use crate::{Catalogue, Result};

/// The queue of runs.
pub(crate) const QUEUE: &str = "reindex-worker-jobs";

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
    /// What the database calls it. All rows of the table are read, and the route of the job takes those of its source.
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
    /// Sends the records of a run. One that was cut off goes on at the pages where it was. If its start was cut off, the
    /// database finishes it, or has forgotten it when this message comes again.
    pub(crate) async fn send_run(self: Arc<Self>, message: Job<ReindexJob>) -> Result<()> {
        let asked = message.body;
        let source = job(&asked.job_config_id)?.source;
        let run = asked.run.unwrap_or(message.id);
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
}
