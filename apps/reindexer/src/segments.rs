//! The design that replaced shards: the table is scanned in parallel segments, and rows go straight to the destination.
//! Nothing is written to them, so that no stream fires and no change of an application is in the way.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle::DatabaseExt as _;
use trestle::api::DescribeTable;
use trestle::queue::{Job, NewMessage};
use trestle::typed::Page;

use crate::jobs::job;
use crate::model::{NewPart, NewRun, Part, Record, RecordKey, RunDesign};
use crate::pipeline::RECEIVES_MAX;
use crate::source::{Source, SourcePayload};
use crate::{Catalogue, Error, Result};

/// The queue of parts, and how often one is tried.
pub(crate) const QUEUE: (&str, u32) = ("reindex-worker-jobs", RECEIVES_MAX);
/// Parts at work at once.
pub(crate) const AT_ONCE: usize = 3;

/// A message to the reindex worker, as the original has it; and the run that it is a part of.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReindexJob {
    /// The job's configuration id.
    pub job_config_id: String,
    /// Which records.
    pub parameters: Parameters,
    /// The run, and the number of this part in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<(String, i64)>,
}

/// Which records a part has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum Parameters {
    /// A segment of the table.
    #[serde(rename = "CompleteReindexParameters")]
    Complete {
        /// Which one.
        segment: u32,
        /// Of how many.
        total_segments: u32,
    },
    /// The first that come.
    #[serde(rename = "PartialReindexParameters")]
    Partial {
        /// How many at most.
        max_records: usize,
    },
    /// At most a hundred.
    #[serde(rename = "SpecificReindexParameters")]
    Specific {
        /// Their ids.
        ids: Vec<String>,
    },
}

/// What a part came to.
#[derive(Default)]
struct Sent {
    records: usize,
    unknown: BTreeSet<String>,
}

impl Catalogue {
    /// About how many rows the table of records has.
    pub(crate) async fn table_rows(&self) -> Result<u64> {
        let table_name = "source-data".to_owned();
        let described = self.database.describe_table(DescribeTable { table_name }).await;
        let described = described.map_err(|error| Error::Database(error.into()))?;
        Ok(described.table.item_count)
    }

    /// Puts the parts of a run into the queue.
    pub(crate) async fn start_segments(&self, id: &str, parts: &[Parameters]) -> Result<String> {
        let run = self.note_run(id, RunDesign::Segments, parts.len(), None).await?;
        let message = |(number, parameters): (i64, &Parameters)| {
            NewMessage::job(&ReindexJob {
                job_config_id: id.to_owned(),
                parameters: parameters.clone(),
                part: Some((run.clone(), number)),
            })
        };
        let messages: std::result::Result<Vec<_>, _> = (0..).zip(parts).map(message).collect();
        for sent in self.queues.send_batch(QUEUE.0, messages?).await? {
            sent?;
        }
        Ok(run)
    }

    /// Remembers a run under a new name.
    pub(crate) async fn note_run(
        &self,
        job: &str,
        design: RunDesign,
        parts: usize,
        desired_version: Option<i64>,
    ) -> Result<String> {
        let run = format!("{job}--{}", trestle::ids::uuid());
        let mut row = crate::model::Run::from(NewRun {
            run: run.clone(),
            job_config_id: job.to_owned(),
            design,
            parts: i64::try_from(parts).unwrap_or(i64::MAX),
            started: self.now(),
        });
        row.desired_version = desired_version;
        self.db.put(&row).if_not_exists().await?;
        Ok(run)
    }

    /// Sends the records of a part. A part that was cut off is sent again from its beginning; a segment is small.
    pub(crate) async fn send_part(self: Arc<Self>, message: Job<ReindexJob>) -> Result<()> {
        let ReindexJob {
            job_config_id,
            parameters,
            part,
        } = message.body;
        let (source, destination) = job(&job_config_id)?;
        let sent = match parameters {
            Parameters::Complete {
                segment,
                total_segments,
            } => {
                let place = Some((segment, total_segments));
                self.send_rows(source, destination, place, usize::MAX).await?
            }
            Parameters::Partial { max_records } => {
                self.send_rows(source, destination, None, max_records).await?
            }
            Parameters::Specific { ids } => self.send_ids(source, destination, &ids).await?,
        };
        let Some((run, number)) = part else {
            return Ok(());
        };
        let done = Part {
            unknown: sent.unknown,
            ..Part::from(NewPart {
                run,
                number,
                sent: i64::try_from(sent.records).unwrap_or(i64::MAX),
            })
        };
        Ok(self.db.put(&done).await?)
    }

    /// Sends rows page by page: a segment can be larger than the megabyte that one answer of a scan holds.
    async fn send_rows(
        &self,
        source: Source,
        to: &str,
        segment: Option<(u32, u32)>,
        most: usize,
    ) -> Result<Sent> {
        let mut sent = Sent::default();
        let mut after = None;
        loop {
            let page = self.page(source, segment, after).await?;
            let room = most - sent.records;
            sent.records += self.send_page(to, page.rows.into_iter().take(room)).await?;
            after = page.next.map(|bookmark| bookmark.to_string());
            if after.is_none() || sent.records == most {
                return Ok(sent);
            }
        }
    }

    async fn page(
        &self,
        source: Source,
        segment: Option<(u32, u32)>,
        after: Option<String>,
    ) -> Result<Page<Record>> {
        let rows = self.db.records_of_source(source).consistent();
        let rows = match segment {
            Some((segment, of)) => rows.segment(segment, of),
            None => rows,
        };
        Ok(rows.continued(after).page().await?)
    }

    async fn send_ids(&self, source: Source, to: &str, ids: &[String]) -> Result<Sent> {
        let keys: Vec<_> = ids.iter().map(RecordKey::new).collect();
        let (mut rows, mut unknown) = (Vec::new(), BTreeSet::new());
        for (id, found) in ids.iter().zip(self.db.get_many(&keys).await?) {
            match found.filter(|row| row.source_name == source) {
                Some(row) => rows.push(row),
                None => {
                    tracing::warn!(id, %source, "there is no such record; the others are sent");
                    unknown.insert(id.clone());
                }
            }
        }
        let records = self.send_page(to, rows).await?;
        Ok(Sent { records, unknown })
    }

    /// What a page of rows becomes: a message to every pipeline that listens to the destination.
    async fn send_page(&self, destination: &str, rows: impl IntoIterator<Item = Record>) -> Result<usize> {
        let records: Result<Vec<_>> = rows.into_iter().map(SourcePayload::try_from).collect();
        let records = records?;
        for pipeline in self.listeners(destination).await {
            self.send(&pipeline, &records).await?;
        }
        Ok(records.len())
    }
}
