//! A pipeline: a version of the transformers and the index that it fills.
//!
//! Records arrive in the transformer's queue, from changes and from reindexing. The resulting work is a row,
//! written in one commit with a message for the ingestor, which adds the work to the index. A later version
//! of a record is never replaced by an earlier one, so that messages may be late or repeated.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use trestle::events::{ChangeEvent, Changed, Concurrency, Maintenance, Route};
use trestle::queue::{self, Job, NewMessage, Workers};
use trestle::typed::Held as _;

use crate::index::SearchIndex;
use crate::jobs::{DESTINATIONS, jobs, warned};
use crate::model::{self, NewPipeline, NewServing, NewWork, Record, ServingKey, WorkKey};
use crate::source::{Source, SourcePayload};
use crate::transform::{TRANSFORMERS, Work, transform};
use crate::{Catalogue, Error, Result};

/// How often a message is tried before it becomes a dead letter. Attempts that were interrupted by a kill of
/// the program count, too.
pub(crate) const RECEIVES_MAX: u32 = 8;
/// Records transformed at once.
const TRANSFORMS_MAX: usize = 100;
/// Works added to the index at once: they share a commit.
const INGESTS_MAX: usize = 2_000;
/// How many missing records a refused switch names.
const MISSING_NAMED: usize = 10;

/// A running pipeline.
pub struct Pipeline {
    /// Its name, the version of its transformers, and the destinations that it listens to.
    pub row: model::Pipeline,
    /// What it fills.
    pub index: SearchIndex,
    pub(crate) workers: Workers,
    app: Arc<Catalogue>,
}

/// The changes that the route of a job selects: new versions of records of its source, touches of the first
/// design, and rows that the second one sends. A new shard alone does not count.
pub(crate) fn narrow(all: Route, source: Source) -> Route {
    Route {
        events: vec![ChangeEvent::Insert, ChangeEvent::Modify, ChangeEvent::Backfill],
        changed: vec!["version".to_owned(), "reindexVersion".to_owned()],
        pattern: Some(json!({ "new": { "sourceName": [source] } })),
        include_maintenance: vec![Maintenance::Touch],
        concurrency: Some(Concurrency {
            most: TRANSFORMS_MAX,
            per: None,
        }),
        ..all
    }
}

impl Pipeline {
    /// The queue of records to be transformed, and that of works to be indexed.
    #[must_use]
    pub fn queues(&self) -> [String; 2] {
        ["transformer", "ingestor"].map(|stage| format!("{}-{stage}", self.row.name))
    }

    /// Whether it gets the records of a source.
    pub(crate) fn listens_for(&self, source: Source) -> bool {
        jobs().any(|job| job.source == source && self.row.destinations.contains(job.destination))
    }

    /// The key of the work of a record.
    pub(crate) fn key_of(&self, id: &str) -> WorkKey {
        let (pipeline, id) = (self.row.name.clone(), id.to_owned());
        WorkKey { pipeline, id }
    }

    async fn transform(self: Arc<Self>, job: Job<SourcePayload>) -> Result<()> {
        let (record, app) = (job.body, &self.app);
        let payload = app.setup.objects.get(&record.location).await?;
        let work = transform(self.row.transformer, &record, &payload)?;
        let message = NewMessage::job(&work)?;
        let row = NewWork {
            pipeline: self.row.name.clone(),
            id: work.id,
            version: work.version,
            body: message.body.clone(),
        };
        let ingest = app.queues.enlist(&self.queues()[1], vec![message]).await?;
        let version = model::Work::VERSION;
        let is_newest = version.is_absent().or(version.is_at_most(work.version));
        let put = app.db.put(&row).only_if(is_newest);
        // If a later version is already stored, its message was sent, too.
        queue::commit(app.db.transaction().with(put), ingest)
            .await
            .held()?;
        Ok(())
    }

    async fn ingest(self: Arc<Self>, jobs: Vec<Job<Work>>) -> Result<()> {
        let works = jobs.into_iter().map(|job| job.body).collect();
        let put = tokio::task::spawn_blocking(move || self.index.put(works));
        put.await.map_err(Error::failed)?.map_err(Error::failed)
    }
}

impl Catalogue {
    /// Adds a pipeline with an empty index. From now on it gets every change of the sources of its destinations.
    pub async fn add_pipeline(
        self: &Arc<Self>,
        name: &str,
        transformer: i64,
        destinations: BTreeSet<String>,
    ) -> Result<()> {
        let (known, versions) = (DESTINATIONS.map(|to| to.0), TRANSFORMERS);
        let unknown = destinations.iter().find(|to| !known.contains(&to.as_str()));
        if unknown.is_some() || !versions.contains(&transformer) {
            let reason = format!("there are the destinations {known:?} and the transformers {versions:?}");
            return Err(Error::Invalid(reason));
        }
        let row = model::Pipeline::from(NewPipeline {
            name: name.to_owned(),
            transformer,
            destinations,
        });
        if self.db.put(&row).if_not_exists().await.held()?.is_none() {
            let reason = format!("there is a pipeline {name} already; choose another name");
            return Err(Error::Conflict(reason));
        }
        self.open_pipeline(row).await
    }

    /// Opens the index of a pipeline and starts its workers.
    pub(crate) async fn open_pipeline(self: &Arc<Self>, row: model::Pipeline) -> Result<()> {
        let name = row.name.clone();
        let directory = self.setup.indexes.join(&name);
        let pipeline = Arc::new(Pipeline {
            row,
            index: SearchIndex::open(&directory).map_err(Error::failed)?,
            workers: Workers::new(&self.queues),
            app: Arc::clone(self),
        });
        let ([records, works], workers) = (pipeline.queues(), &pipeline.workers);
        let of = |at_once| (RECEIVES_MAX, self.setup.workers.at_once(at_once));
        let (most, settings) = of(TRANSFORMS_MAX);
        workers
            .add(&records, most, settings, &pipeline, Pipeline::transform)
            .await?;
        let (most, settings) = of(INGESTS_MAX);
        workers
            .add_in_batches(&works, most, settings, &pipeline, Pipeline::ingest)
            .await?;
        self.pipelines.write().await.insert(name, pipeline);
        Ok(())
    }

    /// A pipeline by its name.
    pub async fn pipeline(&self, name: &str) -> Result<Arc<Pipeline>> {
        let found = self.pipelines.read().await.get(name).cloned();
        found.ok_or_else(|| Error::not_found(format!("pipeline {name}")))
    }

    /// The pipelines that listen to a destination.
    pub async fn listeners(&self, destination: &str) -> Vec<Arc<Pipeline>> {
        let all = self.pipelines.read().await;
        let listens = |pipeline: &&Arc<Pipeline>| pipeline.row.destinations.contains(destination);
        all.values().filter(listens).cloned().collect()
    }

    /// From now on this pipeline answers the searches of a destination. If it lacks records, that is refused,
    /// unless it is forced; then it is a warning.
    pub async fn serve_from(&self, destination: &str, name: &str, force: bool) -> Result<Vec<String>> {
        let new = self.pipeline(name).await?;
        if !new.row.destinations.contains(destination) {
            let reason = format!("pipeline {name} does not listen to {destination}");
            return Err(Error::Invalid(reason));
        }
        let mut warnings = Vec::new();
        let (_, missing) = self.status(name).await?;
        if !missing.is_empty() {
            let first = missing.iter().take(MISSING_NAMED).map(|record| &*record.id);
            let (count, first) = (missing.len(), first.collect::<Vec<_>>().join(", "));
            let gaps = format!("pipeline {name} lacks {count} records, first {first}");
            let way_out = format!("reindex, or POST /pipelines/{name}/resend, or go on with ?force=true");
            warnings = warned(force, gaps, &way_out)?;
        }
        let serving = NewServing {
            destination: destination.to_owned(),
            pipeline: name.to_owned(),
        };
        self.db.put(&serving).await?;
        Ok(warnings)
    }

    /// The pipeline that answers the searches of a destination.
    pub async fn serving(&self, destination: &str) -> Result<Arc<Pipeline>> {
        let row = self.db.get(ServingKey::new(destination)).consistent().await?;
        let row = row.ok_or_else(|| Error::not_found(format!("pipeline that serves {destination} yet")))?;
        self.pipeline(&row.pipeline).await
    }

    /// Called with each change of a record, each touch, and each row that is sent: every listening pipeline
    /// gets it.
    pub(crate) async fn publish(self: Arc<Self>, destination: &str, change: Changed<Record>) -> Result<()> {
        for pipeline in self.listeners(destination).await {
            let (queue, row) = (&pipeline.queues()[0], change.new.as_ref());
            self.queues.send_jobs(queue, row).await?;
        }
        Ok(())
    }
}
