//! The true state: counts at each stage, what is missing and why, and how to repair it.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use serde::Serialize;
use trestle::events::{RouteStatus, Router, Selection};
use trestle::queue::Counts;
use trestle::reindex::{ReindexError, ReindexStatus};

use crate::jobs::job;
use crate::model::{RecordKey, Run};
use crate::pipeline::Pipeline;
use crate::segments::Parameters;
use crate::source::Source;
use crate::{Catalogue, Error, Result};

/// Rows whose works are looked up at once.
const ROWS_AT_ONCE: usize = 100;
/// How often to check whether everything is done, and how many checks have to agree. Real time, because
/// workers need it.
const LOOKS: (Duration, usize) = (Duration::from_millis(50), 6);

/// The progress of a pipeline.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Counts for each of its sources.
    pub sources: BTreeMap<Source, Stages>,
    /// Waiting messages in the queues; those that end in `-dead` have the dead letters of the others.
    pub queues: BTreeMap<String, Counts>,
    /// The routes from records to pipelines.
    pub routes: Vec<RouteStatus>,
}

/// How many records of a source have reached each stage, in their present version.
#[derive(Debug, Default, Serialize)]
pub struct Stages {
    /// Rows in the table.
    pub rows: usize,
    /// Those with a work.
    pub transformed: usize,
    /// Those whose work is in the index.
    pub indexed: usize,
    /// The others.
    pub gaps: usize,
    /// `indexed` of `rows`.
    pub percent: f64,
}

/// A record whose present version is not in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MissingRecord {
    /// The record.
    pub id: String,
    /// Its source.
    pub source: Source,
    /// Its version.
    pub version: i64,
    /// The version in the index.
    pub indexed: Option<i64>,
    /// The stage that it has not passed: `transformer` or `ingestor`.
    pub missing_at: &'static str,
}

/// A run, and its progress.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// For shards: rows of the source, and those of them that have the version.
    pub at_version: Option<(u64, u64)>,
    /// For segments: the database's status of it, once its turn has come.
    pub sending: Option<ReindexStatus>,
    /// For segments: records that were not sent, with the reason, such as an id that no row has.
    pub failed: BTreeMap<String, String>,
}

impl Catalogue {
    /// The progress of a pipeline, and its missing records.
    pub async fn status(&self, name: &str) -> Result<(Status, Vec<MissingRecord>)> {
        let pipeline = self.pipeline(name).await?;
        let mut queues = self.workers.counts().await?;
        queues.extend(pipeline.workers.counts().await?);
        // Read after the queues: a work that has left an empty queue is in the index when that is read.
        let (sources, missing) = self.survey(&pipeline).await?;
        let routes = self.routes();
        Ok((
            Status {
                sources,
                queues,
                routes,
            },
            missing,
        ))
    }

    fn routes(&self) -> Vec<RouteStatus> {
        self.router.get().map(Router::status).unwrap_or_default()
    }

    /// Whether nothing is in progress: no unpublished change, no waiting message.
    async fn is_idle(&self) -> Result<bool> {
        let pipelines: Vec<_> = self.pipelines.read().await.values().cloned().collect();
        let is_behind = |route: &RouteStatus| route.lag_records + route.parked > 0 || route.lag_at_least;
        // In the order of processing: what has left one stage is in the next before that is read.
        let mut is_idle = self.workers.are_idle().await? && !self.routes().iter().any(is_behind);
        for pipeline in pipelines {
            is_idle = is_idle && pipeline.workers.are_idle().await?;
        }
        Ok(is_idle)
    }

    /// Waits until nothing is in progress. Routes count unread changes a moment after they were written, so
    /// several successive checks have to agree.
    pub async fn settle(&self) -> Result<()> {
        let mut agreed = 0;
        while agreed < LOOKS.1 {
            tokio::time::sleep(LOOKS.0).await;
            agreed = if self.is_idle().await? { agreed + 1 } else { 0 };
        }
        Ok(())
    }

    /// Retries dead letters: of a queue, of the route of a job, or of a run.
    pub async fn redrive(&self, name: &str) -> Result<()> {
        let dead = format!("{name}-dead");
        if self.queues.exists(&dead).await? {
            self.queues.start_move(&dead, None, None).await?;
        } else if let Some(router) = self.router.get().filter(|_| job(name).is_ok()) {
            router.replay(Selection::Route(name.to_owned())).await?;
        } else {
            let run = self.run(name).await?.run;
            self.reindexer.replay(name).await?;
            // It has begun, so the parameters are ignored.
            self.queue_run(&run, Parameters::Complete).await?;
        }
        Ok(())
    }

    /// Reads every record of a pipeline's sources once.
    async fn survey(&self, pipeline: &Pipeline) -> Result<(BTreeMap<Source, Stages>, Vec<MissingRecord>)> {
        let listened = Source::ALL.iter().filter(|source| pipeline.listens_for(**source));
        let mut sources: BTreeMap<_, _> = listened.map(|source| (*source, Stages::default())).collect();
        let mut missing = Vec::new();
        let rows = self.db.all_records().consistent().stream();
        let mut pages = rows.try_chunks(ROWS_AT_ONCE);
        while let Some(rows) = pages.try_next().await.map_err(|cut_off| cut_off.1)? {
            let keys: Vec<_> = rows.iter().map(|row| pipeline.key_of(&row.id)).collect();
            let works = self.db.get_many(&keys).await?;
            for (row, work) in rows.into_iter().zip(works) {
                let (id, source, version) = (row.id, row.source_name, row.version);
                let Some(stages) = sources.get_mut(&source) else {
                    continue;
                };
                let indexed = pipeline.index.version(&id).map_err(Error::failed)?;
                let is_transformed = work.is_some_and(|work| work.version >= version);
                stages.rows += 1;
                stages.transformed += usize::from(is_transformed);
                stages.indexed += usize::from(indexed >= Some(version));
                if indexed < Some(version) {
                    let missing_at = if is_transformed { "ingestor" } else { "transformer" };
                    missing.push(MissingRecord {
                        id,
                        source,
                        version,
                        indexed,
                        missing_at,
                    });
                }
            }
        }
        for stages in sources.values_mut() {
            stages.gaps = stages.rows - stages.indexed;
            stages.percent = 100.0 - 100.0 * stages.gaps as f64 / stages.rows.max(1) as f64;
        }
        Ok((sources, missing))
    }

    /// Sends a pipeline the records that it lacks, and no other pipeline. Returns how many.
    pub async fn resend(&self, name: &str) -> Result<usize> {
        let pipeline = self.pipeline(name).await?;
        let (_, missing) = self.survey(&pipeline).await?;
        for some in missing.chunks(ROWS_AT_ONCE) {
            let keys: Vec<_> = some.iter().map(|record| RecordKey::new(&record.id)).collect();
            let rows = self.db.get_many(&keys).await?.into_iter().flatten();
            self.queues.send_jobs(&pipeline.queues()[0], rows).await?;
        }
        Ok(missing.len())
    }

    /// A run, and its progress.
    pub async fn run(&self, name: &str) -> Result<RunStatus> {
        let run = self.db.run(name).await?;
        let run = run.ok_or_else(|| Error::not_found(format!("run {name}")))?;
        let (mut at_version, mut failed) = (None, BTreeMap::new());
        if let Some(version) = run.desired_version {
            let source = job(&run.job_config_id)?.source;
            let rows = self.db.records_of_source(source).consistent().count().await?;
            let there = self.db.records_at_version(source, version).consistent();
            at_version = Some((rows, there.count().await?));
        }
        let sending = match self.reindexer.status(name).await {
            Err(ReindexError::Unknown(_)) => None,
            status => Some(status?),
        };
        if sending.is_some() {
            let (letters, _) = self.reindexer.dead_letters(name, None).await?;
            failed.extend(letters.into_iter().map(|letter| (letter.id(), letter.reason)));
        }
        Ok(RunStatus {
            run,
            at_version,
            sending,
            failed,
        })
    }
}
