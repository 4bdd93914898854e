//! What is true: counts at each stage, what is missing and why, and the ways to mend it.

use std::time::Duration;

use serde::Serialize;
use trestle::events::{RouteStatus, Selection};
use trestle::queue::Receive;
use trestle::typed::Page;

use crate::jobs::destinations_of;
use crate::model::{Record, Run, WorkKey};
use crate::pipeline::Pipeline;
use crate::source::{SOURCES, Source, SourcePayload};
use crate::{Catalogue, Error, Result, Running, segments, shards};

/// The most dead letters that are shown.
const LETTERS_MAX: usize = 1_000;

/// The queues of the reindexers, in the order of the way.
const REINDEXERS: [&str; 3] = [segments::QUEUE.0, shards::SHARD_QUEUE.0, shards::REQUEST_QUEUE.0];

/// How far a pipeline is.
#[derive(Debug, Serialize)]
pub struct Status {
    /// The pipeline.
    pub pipeline: String,
    /// The version of its transformers.
    pub transformer: i64,
    /// Counts for each source that it listens to.
    pub sources: Vec<Stages>,
    /// The queues on the way, in the order of the way.
    pub queues: Vec<QueueStatus>,
    /// The route from records to pipelines.
    pub route: Option<RouteStatus>,
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

/// What waits in a queue.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// The queue.
    pub queue: String,
    /// Messages that wait, also for their next attempt.
    pub waiting: usize,
    /// Messages at work.
    pub in_flight: usize,
    /// Its dead letters.
    pub dead: usize,
}

/// A record whose present version is not in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The record.
    pub id: String,
    /// Its source.
    pub source: Source,
    /// Its version.
    pub version: i64,
    /// The version that is in the index.
    pub indexed: Option<i64>,
    /// The stage that it has not passed: `transformer` or `ingestor`.
    #[serde(rename = "missingAt")]
    pub missing_at: &'static str,
}

/// A message that was given up.
#[derive(Debug, Serialize)]
pub struct DeadLetter {
    /// The message's id.
    pub message: String,
    /// The message.
    pub body: String,
    /// Why it was given up.
    pub reason: Option<String>,
}

/// A run, and how far it is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStatus {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// Its parts that are done.
    pub parts_done: usize,
    /// Records that were sent.
    pub sent: i64,
    /// Ids that no record has.
    pub unknown: Vec<String>,
    /// For shards: rows of the source, and those of them that have the version.
    pub at_version: Option<(usize, usize)>,
}

impl Running {
    /// How far a pipeline is, and which records are missing.
    pub async fn status(&self, name: &str) -> Result<(Status, Vec<Gap>)> {
        let pipeline = self.app.pipeline(name).await?;
        let mut queues = Vec::new();
        let own = [pipeline.transformer_queue(), pipeline.ingestor_queue()];
        for queue in REINDEXERS.map(str::to_owned).into_iter().chain(own) {
            queues.push(self.app.queue_status(queue).await?);
        }
        // After the queues: what has left an empty queue is in the index when that is looked at.
        let (sources, gaps) = self.app.survey(&pipeline).await?;
        let status = Status {
            pipeline: pipeline.name.clone(),
            transformer: pipeline.transformer,
            sources,
            queues,
            route: self.router.status().into_iter().next(),
        };
        Ok((status, gaps))
    }

    /// Whether the reindexers have done their part: every record was sent or touched, or is a dead letter.
    pub async fn is_sent(&self) -> Result<bool> {
        self.app.are_empty(&REINDEXERS.map(str::to_owned)).await
    }

    /// Whether nothing is under way: no change that was not published, no message that waits.
    pub async fn is_idle(&self) -> Result<bool> {
        let mut queues = Vec::new();
        for pipeline in self.app.pipelines.read().await.values() {
            queues.extend([pipeline.transformer_queue(), pipeline.ingestor_queue()]);
        }
        let is_done =
            |route: &RouteStatus| route.lag_records == 0 && route.parked == 0 && !route.lag_at_least;
        let is_published = || self.router.status().iter().all(is_done);
        // In the direction of the way: what has left one stage is in the next before that is looked at.
        Ok(self.is_sent().await? && is_published() && self.app.are_empty(&queues).await?)
    }

    /// Tries dead letters again: those of a queue, or those of the route to pipelines.
    pub async fn redrive(&self, queue: &str) -> Result<()> {
        match self
            .router
            .status()
            .into_iter()
            .find(|route| route.route == queue)
        {
            Some(route) => {
                let replayed = self.router.replay(Selection::Route(route.route)).await;
                replayed
                    .map(|_| ())
                    .map_err(|error| Error::Database(error.into()))
            }
            None => {
                let dead = format!("{queue}-dead");
                if !self.app.queues.exists(&dead).await? {
                    return Err(Error::NotFound(format!("queue {dead}")));
                }
                self.app.queues.start_move(&dead, None, None).await?;
                Ok(())
            }
        }
    }
}

impl Catalogue {
    async fn are_empty(&self, queues: &[String]) -> Result<bool> {
        for queue in queues {
            let counts = self.queues.counts(queue).await?;
            if counts.visible + counts.in_flight + counts.delayed > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks at every record of a pipeline's sources once.
    async fn survey(&self, pipeline: &Pipeline) -> Result<(Vec<Stages>, Vec<Gap>)> {
        let listens = |source: &Source| {
            let to = destinations_of(Some(*source));
            pipeline.destinations.iter().any(|one| to.contains(one.as_str()))
        };
        let stages = |source| Stages {
            source,
            rows: 0,
            transformed: 0,
            indexed: 0,
            gaps: 0,
            percent: 100.0,
        };
        let mut sources: Vec<_> = SOURCES.into_iter().filter(listens).map(stages).collect();
        let (mut gaps, mut after) = (Vec::new(), None);
        loop {
            let Page { rows, next, .. } = self.db.all_records().consistent().continued(after).page().await?;
            let before = gaps.len();
            self.survey_page(pipeline, &rows, &mut sources, &mut gaps).await?;
            debug_assert!(gaps.len() - before <= rows.len());
            after = next.map(|bookmark| bookmark.to_string());
            if after.is_none() {
                break;
            }
        }
        for stages in &mut sources {
            stages.gaps = stages.rows - stages.indexed;
            if stages.rows > 0 {
                stages.percent = 100.0 * stages.indexed as f64 / stages.rows as f64;
            }
        }
        Ok((sources, gaps))
    }

    async fn survey_page(
        &self,
        pipeline: &Pipeline,
        rows: &[Record],
        sources: &mut [Stages],
        gaps: &mut Vec<Gap>,
    ) -> Result<()> {
        let key = |row: &Record| WorkKey {
            pipeline: pipeline.name.clone(),
            id: row.id.clone(),
        };
        let keys: Vec<_> = rows.iter().map(key).collect();
        for (row, work) in rows.iter().zip(self.db.get_many(&keys).await?) {
            let Some(stages) = sources.iter_mut().find(|stages| stages.source == row.source_name) else {
                continue;
            };
            let indexed = pipeline.index.version(&row.id)?;
            let is_transformed = work.is_some_and(|work| work.version >= row.version);
            let is_indexed = indexed >= Some(row.version);
            stages.rows += 1;
            stages.transformed += usize::from(is_transformed);
            stages.indexed += usize::from(is_indexed);
            if !is_indexed {
                gaps.push(Gap {
                    id: row.id.clone(),
                    source: row.source_name,
                    version: row.version,
                    indexed,
                    missing_at: if is_transformed { "ingestor" } else { "transformer" },
                });
            }
        }
        Ok(())
    }

    /// Sends the records that a pipeline lacks to it once more, and to no other. Says how many.
    pub async fn resend(&self, name: &str) -> Result<usize> {
        let pipeline = self.pipeline(name).await?;
        let (_, gaps) = self.survey(&pipeline).await?;
        for some in gaps.chunks(100) {
            let mut records = Vec::new();
            for gap in some {
                records.push(SourcePayload::try_from(self.record(gap.source, &gap.id).await?)?);
            }
            self.send(&pipeline, &records).await?;
        }
        Ok(gaps.len())
    }

    async fn queue_status(&self, queue: String) -> Result<QueueStatus> {
        let (counts, dead) = (
            self.queues.counts(&queue).await?,
            self.queues.counts(&format!("{queue}-dead")).await?,
        );
        Ok(QueueStatus {
            queue,
            waiting: counts.visible + counts.delayed,
            in_flight: counts.in_flight,
            dead: dead.visible + dead.in_flight + dead.delayed,
        })
    }

    /// The dead letters of a queue. They stay where they are.
    pub async fn dead_letters(&self, queue: &str) -> Result<Vec<DeadLetter>> {
        let look = Receive {
            max: LETTERS_MAX,
            visibility: Some(Duration::ZERO),
            wait: Some(Duration::ZERO),
        };
        let letters = self.queues.receive(&format!("{queue}-dead"), look).await?;
        let letter = |letter: trestle::queue::Message| DeadLetter {
            message: letter.id,
            body: letter.body,
            reason: letter.dead_letter_reason,
        };
        Ok(letters.into_iter().map(letter).collect())
    }

    /// A run, and how far it is.
    pub async fn run(&self, name: &str) -> Result<RunStatus> {
        let found = self.db.run_with_parts(name).consistent().gather().await?;
        let run = found.run.ok_or_else(|| Error::NotFound(format!("run {name}")))?;
        let at_version = match run.desired_version {
            Some(version) => Some(self.at_version(&run.job_config_id, version).await?),
            None => None,
        };
        Ok(RunStatus {
            run,
            parts_done: found.part.len(),
            sent: found.part.iter().map(|part| part.sent).sum(),
            unknown: found.part.into_iter().flat_map(|part| part.unknown).collect(),
            at_version,
        })
    }

    async fn at_version(&self, job: &str, version: i64) -> Result<(usize, usize)> {
        let (source, _) = crate::jobs::job(job)?;
        let (mut rows, mut there, mut after) = (0, 0, None);
        loop {
            let page = self
                .db
                .records_of_source(source)
                .consistent()
                .continued(after)
                .page()
                .await?;
            rows += page.rows.len();
            there += page
                .rows
                .iter()
                .filter(|row| row.reindex_version >= Some(version))
                .count();
            after = page.next.map(|bookmark| bookmark.to_string());
            if after.is_none() {
                return Ok((rows, there));
            }
        }
    }
}
