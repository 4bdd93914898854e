//! A pipeline: a version of the transformers and the index that it fills.
//!
//! Records come to the transformer's queue, from changes and from reindexing. What becomes of one is a row, written in one
//! commit with a message for the ingestor, which puts the work into the index. A later version of a record is never
//! replaced by an earlier one, so that messages may come late, and come again.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use trestle::events::{ChangeEvent, Changed, Concurrency, Maintenance, Route};
use trestle::queue::{self, Job, NewMessage, Workers};
use trestle::typed::Held as _;

use crate::index::SearchIndex;
use crate::jobs::destinations_of;
use crate::model::{self, NewPipeline, NewServing, NewWork, PipelineKey, Record, ServingKey, WorkKey};
use crate::source::{Source, SourcePayload};
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
    /// Its name, the version of its transformers, and the destinations that it listens to.
    pub row: model::Pipeline,
    /// What it fills.
    pub index: SearchIndex,
    pub(crate) workers: Workers,
    app: Arc<Catalogue>,
}

/// A message to the ingestor: this work has changed.
#[derive(Serialize, Deserialize)]
struct Ingest {
    id: String,
}

/// What the route of a job takes: new versions of records of its source, touches of the first design, and rows that the
/// second one sends. A new shard alone is none of these.
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
    /// The queue of records that are to be transformed, and that of works that are to be indexed.
    #[must_use]
    pub fn queues(&self) -> [String; 2] {
        ["transformer", "ingestor"].map(|stage| format!("{}-{stage}", self.row.name))
    }

    /// Whether it gets the records of a source.
    pub(crate) fn listens_for(&self, source: Source) -> bool {
        let mut destinations = destinations_of(Some(source)).into_iter();
        destinations.any(|destination| self.row.destinations.contains(destination))
    }

    /// The key of the work that it made of a record.
    pub(crate) fn key_of(&self, id: &str) -> WorkKey {
        let (pipeline, id) = (self.row.name.clone(), id.to_owned());
        WorkKey { pipeline, id }
    }

    async fn transform(self: Arc<Self>, job: Job<SourcePayload>) -> Result<()> {
        let record = job.body;
        let payload = self.app.setup.objects.get(&record.location).await?;
        let work = transform(self.row.transformer, &record, &payload)?;
        let row = NewWork {
            pipeline: self.row.name.clone(),
            id: work.id.clone(),
            version: work.version,
            body: serde_json::to_string(&work).map_err(Error::invalid)?,
        };
        let message = NewMessage::job(&Ingest { id: work.id })?;
        let ingest = self.app.queues.enlist(&self.queues()[1], vec![message]).await?;
        let is_newest = model::Work::VERSION
            .is_absent()
            .or(model::Work::VERSION.is_at_most(work.version));
        let writes = self
            .app
            .db
            .transaction()
            .with(self.app.db.put(&row).only_if(is_newest));
        // A later version is there already, and its message, too.
        queue::commit(writes, ingest).await.held()?;
        Ok(())
    }

    async fn ingest(self: Arc<Self>, job: Job<Ingest>) -> Result<()> {
        let key = self.key_of(&job.body.id);
        let row = self.app.db.get(key).consistent().await?;
        let row = row.ok_or_else(|| Error::not_found("such work"))?;
        let work: Work = serde_json::from_str(&row.body)?;
        self.index.put(work).await.map_err(Error::failed)
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
        check(name, transformer, &destinations)?;
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
        let directory = self.setup.indexes.as_ref().map(|root| root.join(&row.name));
        let index = SearchIndex::open(directory.as_deref()).map_err(Error::failed)?;
        let name = row.name.clone();
        let pipeline = Arc::new(Pipeline {
            row,
            index,
            workers: Workers::new(&self.queues),
            app: Arc::clone(self),
        });
        let [records, works] = pipeline.queues();
        let (workers, settings) = (&pipeline.workers, self.at_once(TRANSFORMS_MAX));
        workers
            .add(&records, RECEIVES_MAX, settings, &pipeline, Pipeline::transform)
            .await?;
        let settings = self.at_once(INGESTS_MAX);
        workers
            .add(&works, RECEIVES_MAX, settings, &pipeline, Pipeline::ingest)
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

    /// Searches of a destination are answered by this pipeline from now on.
    pub async fn serve_from(&self, destination: &str, name: &str) -> Result<()> {
        if !self.pipeline(name).await?.row.destinations.contains(destination) {
            let reason = format!("pipeline {name} does not listen to {destination}");
            return Err(Error::Invalid(reason));
        }
        let (destination, pipeline) = (destination.to_owned(), name.to_owned());
        let serving = NewServing {
            destination,
            pipeline,
        };
        let is_there = self.db.check(PipelineKey::new(name));
        let is_there = is_there.only_if(model::Pipeline::TRANSFORMER.exists());
        let writes = self.db.transaction().with(is_there).with(self.db.put(&serving));
        Ok(writes.commit().await?)
    }

    /// The pipeline that answers the searches of a destination.
    pub async fn serving(&self, destination: &str) -> Result<Arc<Pipeline>> {
        let row = self.db.get(ServingKey::new(destination)).consistent().await?;
        let row = row.ok_or_else(|| Error::not_found(format!("pipeline that serves {destination} yet")))?;
        self.pipeline(&row.pipeline).await
    }

    /// Called with each change of a record, each touch, and each row that is sent: every pipeline that listens gets it.
    pub(crate) async fn publish(self: Arc<Self>, destination: &str, change: Changed<Record>) -> Result<()> {
        for pipeline in self.listeners(destination).await {
            self.queues
                .send_jobs(&pipeline.queues()[0], change.new.as_ref())
                .await?;
        }
        Ok(())
    }
}

/// Refuses a pipeline that cannot be.
fn check(name: &str, transformer: i64, destinations: &BTreeSet<String>) -> Result<()> {
    let is_named = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let known = destinations_of(None);
    Err(Error::Invalid(
        if name.is_empty() || name.len() > 60 || !name.chars().all(is_named) {
            format!("{name:?} is no name of a pipeline: letters, digits, - and _, up to 60")
        } else if !TRANSFORMERS.contains(&transformer) {
            format!("there is no transformer {transformer}; there are {TRANSFORMERS:?}")
        } else if let Some(other) = destinations.iter().find(|name| !known.contains(name.as_str())) {
            format!("there is no destination {other}; there are {known:?}")
        } else {
            return Ok(());
        },
    ))
}
