//! What is true: counts at each stage, what is missing and why, and the ways to mend it.

use std::collections::BTreeMap;

use futures_util::TryStreamExt as _;
use serde::Serialize;
use trestle::events::{RouteStatus, Selection};
use trestle::queue::Counts;
use trestle::reindex::{ReindexError, ReindexStatus};

use crate::model::{Record, RecordKey, Run};
use crate::pipeline::Pipeline;
use crate::segments::Parameters;
use crate::source::{SOURCES, Source};
use crate::{Catalogue, Error, Result, Running};

/// Rows whose works are looked up at once.
const ROWS_AT_ONCE: usize = 100;

/// How far a pipeline is.
#[derive(Debug, Serialize)]
pub struct Status {
    /// Counts for each source that it listens to.
    pub sources: Vec<Stages>,
    /// What waits in the queues on the way; those that end in `-dead` have the dead letters of the others.
    pub queues: BTreeMap<String, Counts>,
    /// The routes from records to pipelines.
    pub routes: Vec<RouteStatus>,
}

/// How many records of a source have come how far, in their present version.
#[derive(Debug, Serialize)]
pub struct Stages {
    /// The source.
    pub source: Source,
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
    /// The version that is in the index.
    pub indexed: Option<i64>,
    /// The stage that it has not passed: `transformer` or `ingestor`.
    pub missing_at: &'static str,
}

/// A run, and how far it is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// For shards: rows of the source, and those of them that have the version.
    pub at_version: Option<(usize, usize)>,
    /// For segments: what the database says of it, once its turn has come.
    pub sending: Option<ReindexStatus>,
    /// For segments: records that were not sent, with the reason, such as an id that no row has.
    pub failed: BTreeMap<String, String>,
}

impl Stages {
    fn new(source: Source, [rows, transformed, indexed]: [usize; 3]) -> Self {
        Self {
            source,
            rows,
            transformed,
            indexed,
            gaps: rows - indexed,
            percent: if rows == 0 {
                100.0
            } else {
                100.0 * indexed as f64 / rows as f64
            },
        }
    }
}

impl Running {
    /// How far a pipeline is, and which records are missing.
    pub async fn status(&self, name: &str) -> Result<(Status, Vec<MissingRecord>)> {
        let pipeline = self.app.pipeline(name).await?;
        let mut queues = self.workers.counts().await?;
        queues.extend(pipeline.workers.counts().await?);
        // After the queues: what has left an empty queue is in the index when that is looked at.
        let (sources, missing) = self.app.survey(&pipeline).await?;
        let status = Status {
            sources,
            queues,
            routes: self.router.status(),
        };
        Ok((status, missing))
    }

    /// Whether the reindexers have done their part: every record was sent or touched, or is a dead letter.
    pub async fn is_sent(&self) -> Result<bool> {
        Ok(self.workers.are_idle().await?)
    }

    /// Whether nothing is under way: no change that was not published, no message that waits.
    pub async fn is_idle(&self) -> Result<bool> {
        let pipelines: Vec<_> = self.app.pipelines.read().await.values().cloned().collect();
        let is_behind = |route: &RouteStatus| route.lag_records + route.parked > 0 || route.lag_at_least;
        // In the direction of the way: what has left one stage is in the next before that is looked at.
        let mut is_idle = self.is_sent().await? && !self.router.status().iter().any(is_behind);
        for pipeline in pipelines {
            is_idle = is_idle && pipeline.workers.are_idle().await?;
        }
        Ok(is_idle)
    }

    /// Tries again what was given up: dead letters of a queue, of the route of a job, or of a run.
    pub async fn redrive(&self, name: &str) -> Result<()> {
        let dead = format!("{name}-dead");
        if self.app.queues.exists(&dead).await? {
            self.app.queues.start_move(&dead, None, None).await?;
        } else if self.router.status().iter().any(|route| route.route == name) {
            self.router.replay(Selection::Route(name.to_owned())).await?;
        } else {
            let job = self.app.run(name).await?.run.job_config_id;
            self.app.reindexer.replay(name).await?;
            // It has begun, so the parameters are not looked at.
            self.app.queue_run(&job, name, Parameters::Complete).await?;
        }
        Ok(())
    }
}

impl Catalogue {
    /// Looks at every record of a pipeline's sources once.
    async fn survey(&self, pipeline: &Pipeline) -> Result<(Vec<Stages>, Vec<MissingRecord>)> {
        let sources = SOURCES.into_iter().filter(|source| pipeline.listens_for(*source));
        let mut sources: Vec<_> = sources.map(|source| (source, [0; 3])).collect();
        let mut missing = Vec::new();
        let rows = self.db.all_records().consistent().stream();
        let mut pages = rows.try_chunks(ROWS_AT_ONCE);
        while let Some(rows) = pages.try_next().await.map_err(|cut_off| cut_off.1)? {
            let keys: Vec<_> = rows.iter().map(|row| pipeline.key_of(&row.id)).collect();
            let works = self.db.get_many(&keys).await?;
            for (row, work) in rows.into_iter().zip(works) {
                let (id, source, version) = (row.id, row.source_name, row.version);
                let Some((_, counts)) = sources.iter_mut().find(|(name, _)| *name == source) else {
                    continue;
                };
                let indexed = pipeline.index.version(&id).map_err(Error::failed)?;
                let is_transformed = work.is_some_and(|work| work.version >= version);
                let passed = [true, is_transformed, indexed >= Some(version)];
                *counts = std::array::from_fn(|stage| counts[stage] + usize::from(passed[stage]));
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
        let stages = sources
            .into_iter()
            .map(|(source, counts)| Stages::new(source, counts));
        Ok((stages.collect(), missing))
    }

    /// Sends the records that a pipeline lacks to it once more, and to no other. Says how many.
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

    /// A run, and how far it is.
    pub async fn run(&self, name: &str) -> Result<RunStatus> {
        let run = self.db.run(name).await?;
        let run = run.ok_or_else(|| Error::not_found(format!("run {name}")))?;
        let at_version = match run.desired_version {
            Some(version) => Some(self.at_version(&run.job_config_id, version).await?),
            None => None,
        };
        let mut failed = BTreeMap::new();
        let sending = match self.reindexer.status(name).await {
            Err(ReindexError::Unknown(_)) => None,
            status => {
                let reindex = self.reindexer.get(name).await?;
                let (letters, _) = self.reindexer.dead_letters(name, None).await?;
                let letters = letters.into_iter();
                failed.extend(letters.map(|letter| (reindex.id_of_key(&letter.key), letter.reason)));
                Some(status?)
            }
        };
        Ok(RunStatus {
            run,
            at_version,
            sending,
            failed,
        })
    }

    async fn at_version(&self, job: &str, version: i64) -> Result<(usize, usize)> {
        let source = crate::jobs::job(job)?.1;
        let rows = self.db.records_of_source(source).consistent().stream();
        let count = async |(rows, there), row: Record| {
            Ok((
                rows + 1,
                there + usize::from(row.reindex_version >= Some(version)),
            ))
        };
        Ok(rows.try_fold((0, 0), count).await?)
    }
}
