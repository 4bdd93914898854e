//! A pipeline: a version of the transformers and the index that it fills.
//!
//! Records come to the transformer's queue, from changes and from reindexing. What becomes of one is a row, written in one
//! commit with a message for the ingestor, which puts the work into the index. A later version of a record is never
//! replaced by an earlier one, so that messages may come late, and come again.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use trestle::events::Changed;
use trestle::queue::{self, Job, NewMessage, Worker};
use trestle::typed::Held as _;

use crate::index::SearchIndex;
use crate::jobs::destinations_of;
use crate::model::{self, NewPipeline, NewServing, NewWork, PipelineKey, Record, WorkKey};
use crate::source::SourcePayload;
use crate::transform::{TRANSFORMERS, Work, transform};
use crate::{Catalogue, Error, Result};

/// How often a message is tried before it is a dead letter. Attempts that a kill of the program cut off count, too.
pub(crate) const RECEIVES_MAX: u32 = 8;
/// Records transformed at once.
const TRANSFORMS_MAX: usize = 100;
/// Works on their way into the index at once: they share commits.
const INGESTS_MAX: usize = 2_000;

/// A pipeline at work.
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// The version of its transformers.
    pub transformer: i64,
    /// The destinations that it listens to.
    pub destinations: BTreeSet<String>,
    /// What it fills.
    pub index: SearchIndex,
    workers: Mutex<Vec<Worker>>,
}

/// A message to the ingestor: this work has changed.
#[derive(Serialize, Deserialize)]
struct Ingest {
    id: String,
}

impl Pipeline {
    /// The queue of records that are to be transformed.
    #[must_use]
    pub fn transformer_queue(&self) -> String {
        format!("{}-transformer", self.name)
    }

    /// The queue of works that are to be indexed.
    #[must_use]
    pub fn ingestor_queue(&self) -> String {
        format!("{}-ingestor", self.name)
    }

    pub(crate) async fn stop(&self) {
        for worker in self.workers.lock().await.drain(..) {
            worker.stop().await;
        }
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
        let is_named = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 60 || !name.chars().all(is_named) {
            return Err(Error::Invalid(format!(
                "{name:?} is no name of a pipeline: letters, digits, - and _, up to 60"
            )));
        }
        if !TRANSFORMERS.contains(&transformer) {
            return Err(Error::Invalid(format!(
                "there is no transformer {transformer}; there are {TRANSFORMERS:?}"
            )));
        }
        let known = destinations_of(None);
        if let Some(other) = destinations.iter().find(|name| !known.contains(name.as_str())) {
            return Err(Error::Invalid(format!(
                "there is no destination {other}; there are {known:?}"
            )));
        }
        let row = model::Pipeline::from(NewPipeline {
            name: name.to_owned(),
            transformer,
            destinations,
        });
        match self.db.put(&row).if_not_exists().await.held()? {
            Some(()) => self.open_pipeline(row).await,
            None => Err(Error::Conflict(format!(
                "there is a pipeline {name} already; choose another name"
            ))),
        }
    }

    /// Opens the index of a pipeline and starts its workers.
    pub(crate) async fn open_pipeline(self: &Arc<Self>, row: model::Pipeline) -> Result<()> {
        let directory = self.indexes.as_ref().map(|root| root.join(&row.name));
        let pipeline = Arc::new(Pipeline {
            index: SearchIndex::open(directory.as_deref())?,
            name: row.name,
            transformer: row.transformer,
            destinations: row.destinations,
            workers: Mutex::default(),
        });
        let (records, works) = (pipeline.transformer_queue(), pipeline.ingestor_queue());
        for queue in [&records, &works] {
            self.queues.create_with_dead_letters(queue, RECEIVES_MAX).await?;
        }
        let (app, its) = (Arc::clone(self), Arc::clone(&pipeline));
        let transformer = self
            .queues
            .work(&records, self.at_once(TRANSFORMS_MAX), move |job| {
                Arc::clone(&app).transform(Arc::clone(&its), job)
            });
        let (app, its) = (Arc::clone(self), Arc::clone(&pipeline));
        let ingestor = self.queues.work(&works, self.at_once(INGESTS_MAX), move |job| {
            Arc::clone(&app).ingest(Arc::clone(&its), job)
        });
        pipeline.workers.lock().await.extend([transformer, ingestor]);
        self.pipelines
            .write()
            .await
            .insert(pipeline.name.clone(), pipeline);
        Ok(())
    }

    /// A pipeline by its name.
    pub async fn pipeline(&self, name: &str) -> Result<Arc<Pipeline>> {
        let found = self.pipelines.read().await.get(name).cloned();
        found.ok_or_else(|| Error::NotFound(format!("pipeline {name}")))
    }

    /// The pipelines that listen to a destination.
    pub async fn listeners(&self, destination: &str) -> Vec<Arc<Pipeline>> {
        let all = self.pipelines.read().await;
        let listening = all
            .values()
            .filter(|pipeline| pipeline.destinations.contains(destination));
        listening.cloned().collect()
    }

    /// Searches of a destination are answered by this pipeline from now on.
    pub async fn serve_from(&self, destination: &str, name: &str) -> Result<()> {
        let pipeline = self.pipeline(name).await?;
        if !pipeline.destinations.contains(destination) {
            return Err(Error::Invalid(format!(
                "pipeline {name} does not listen to {destination}"
            )));
        }
        let serving = NewServing {
            destination: destination.to_owned(),
            pipeline: name.to_owned(),
        };
        let is_there = self
            .db
            .check(PipelineKey::new(name))
            .only_if(model::Pipeline::TRANSFORMER.exists());
        let writes = self.db.transaction().with(is_there).with(self.db.put(&serving));
        Ok(writes.commit().await?)
    }

    /// The pipeline that answers the searches of a destination.
    pub async fn serving(&self, destination: &str) -> Result<Arc<Pipeline>> {
        let row = self
            .db
            .get(crate::model::ServingKey::new(destination))
            .consistent()
            .await?;
        let row = row.ok_or_else(|| Error::NotFound(format!("pipeline that serves {destination} yet")))?;
        self.pipeline(&row.pipeline).await
    }

    /// Called with each change of a record: every pipeline that listens for its source gets the new version.
    pub(crate) async fn publish(self: Arc<Self>, change: Changed<Record>) -> Result<()> {
        let Some(row) = change.new else {
            return Ok(());
        };
        let record = SourcePayload::try_from(row)?;
        let destinations = destinations_of(Some(record.source));
        let all: Vec<_> = self.pipelines.read().await.values().cloned().collect();
        for pipeline in all {
            if pipeline
                .destinations
                .iter()
                .any(|one| destinations.contains(one.as_str()))
            {
                self.send(&pipeline, std::slice::from_ref(&record)).await?;
            }
        }
        Ok(())
    }

    /// Sends records to a pipeline's transformer.
    pub(crate) async fn send(&self, pipeline: &Pipeline, records: &[SourcePayload]) -> Result<()> {
        let messages: std::result::Result<Vec<_>, _> = records.iter().map(NewMessage::job).collect();
        for sent in self
            .queues
            .send_batch(&pipeline.transformer_queue(), messages?)
            .await?
        {
            sent?;
        }
        Ok(())
    }

    async fn transform(self: Arc<Self>, pipeline: Arc<Pipeline>, job: Job<SourcePayload>) -> Result<()> {
        let record = job.body;
        let payload = self.objects.get(&record.location).await?;
        let work = transform(pipeline.transformer, &record, &payload)?;
        let row = NewWork {
            pipeline: pipeline.name.clone(),
            id: work.id.clone(),
            version: work.version,
            body: serde_json::to_string(&work).map_err(Error::invalid)?,
        };
        let ingest = NewMessage::job(&Ingest { id: work.id })?;
        let ingest = self
            .queues
            .enlist(&pipeline.ingestor_queue(), vec![ingest])
            .await?;
        let is_newest = model::Work::VERSION
            .is_absent()
            .or(model::Work::VERSION.is_at_most(work.version));
        let writes = self.db.transaction().with(self.db.put(&row).only_if(is_newest));
        // A later version is there already, and its message, too.
        queue::commit(writes, ingest).await.held()?;
        Ok(())
    }

    async fn ingest(self: Arc<Self>, pipeline: Arc<Pipeline>, job: Job<Ingest>) -> Result<()> {
        let key = WorkKey {
            pipeline: pipeline.name.clone(),
            id: job.body.id,
        };
        let Some(row) = self.db.get(key).consistent().await? else {
            return Err(Error::NotFound("such work".to_owned()));
        };
        let work: Work = serde_json::from_str(&row.body).map_err(|error| Error::Index(error.to_string()))?;
        pipeline.index.put(work).await
    }
}
