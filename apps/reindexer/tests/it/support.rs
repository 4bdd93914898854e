//! A catalogue in memory, with injectable faults in touches of rows and in its object store.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use reindexer::model::Record;
use reindexer::{Catalogue, NewReindex, Parameters, Setup, Source};
use tempfile::TempDir;
use testing::TestDatabase;
use trestle::api::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, ShardIteratorType, StreamRecord,
};
use trestle::app::Objects;
use trestle::queue::Message;
use trestle::reindex::{RowCounts, Touch, TouchFuture, TouchResult};
use trestle::{
    AttributeValue, DatabaseExt as _, ErrorKind, SystemClock, Timestamp, TouchRows, Touched, VirtualClock,
};

use crate::demo::{Samples, id};

/// Everything a test needs.
pub(crate) struct World {
    pub(crate) stored: TestDatabase,
    pub(crate) touches: Arc<Touches>,
    pub(crate) objects: Arc<Shelf>,
    app: Arc<Catalogue>,
    folder: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// With other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let stored = TestDatabase::new("reindexer", Arc::new(SystemClock::new()));
        Self::on(stored, tempfile::tempdir().unwrap(), change).await
    }

    /// With other settings, and with a clock that the test advances.
    pub(crate) async fn on_clock(clock: &Arc<VirtualClock>, change: impl FnOnce(&mut Setup)) -> Self {
        let stored = TestDatabase::new("reindexer", clock.clone());
        Self::on(stored, tempfile::tempdir().unwrap(), change).await
    }

    async fn on(stored: TestDatabase, folder: TempDir, change: impl FnOnce(&mut Setup)) -> Self {
        let touches = Arc::new(Touches {
            stored: stored.clone(),
            made: Mutex::default(),
            throttled: Mutex::default(),
            interruptions: Mutex::default(),
        });
        let Objects { name, store } = Objects::directory(&folder.path().join("objects")).unwrap();
        let objects = Arc::new(Shelf {
            store,
            lost: Mutex::default(),
        });
        let shelf = Objects {
            name,
            store: objects.clone(),
        };
        let mut setup = Setup {
            touch: touches.clone(),
            ..Setup::new(&stored, shelf, folder.path().join("indexes"))
        };
        setup.workers.first_retry = Duration::from_millis(2);
        change(&mut setup);
        let app = Catalogue::start(setup).await.unwrap();
        Self {
            stored,
            touches,
            objects,
            app,
            folder,
        }
    }

    /// The same database with other settings.
    pub(crate) async fn restarted_with(self, change: impl FnOnce(&mut Setup)) -> Self {
        self.app.stop().await;
        Self::on(self.stored, self.folder, change).await
    }

    pub(crate) fn app(&self) -> &Arc<Catalogue> {
        &self.app
    }

    /// Writes so many records of a source.
    pub(crate) async fn load(&self, source: Source, count: usize) -> Vec<String> {
        let samples = Samples::read().unwrap();
        let mut ids = Vec::new();
        for number in 0..count {
            ids.push(samples.write(self.app(), source, number, "").await.unwrap());
        }
        ids
    }

    /// A pipeline that listens to the catalogue.
    pub(crate) async fn add_pipeline(&self, name: &str) {
        let destinations = BTreeSet::from(["catalogue".to_owned()]);
        self.app().add_pipeline(name, 2, destinations).await.unwrap();
    }

    /// Waits until nothing is in progress.
    pub(crate) async fn settle(&self) {
        let settled = tokio::time::timeout(Duration::from_secs(120), self.app.settle());
        settled.await.expect("the pipelines do not come to rest").unwrap();
    }

    /// Waits until a pipeline lacks nothing.
    pub(crate) async fn until_full(&self, pipeline: &str) {
        let full = async {
            while !self.gaps(pipeline).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let full = tokio::time::timeout(Duration::from_secs(60), full).await;
        full.expect("the pipeline keeps its gaps");
    }

    pub(crate) async fn rows(&self) -> Vec<Record> {
        self.app().db.all_records().consistent().collect().await.unwrap()
    }

    /// How many records of this source the index of a pipeline has.
    pub(crate) async fn indexed(&self, pipeline: &str, source: Source) -> usize {
        self.app()
            .pipeline(pipeline)
            .await
            .unwrap()
            .index
            .count(source)
            .unwrap()
    }

    /// The ids that a pipeline lacks.
    pub(crate) async fn gaps(&self, pipeline: &str) -> Vec<String> {
        let (_, gaps) = self.app.status(pipeline).await.unwrap();
        gaps.into_iter().map(|gap| gap.id).collect()
    }

    /// How many messages a queue has, dead letters aside.
    pub(crate) async fn waiting(&self, queue: &str) -> usize {
        self.app().queues.counts(queue).await.unwrap().total()
    }

    /// The outcome of the records of a run.
    pub(crate) async fn counts(&self, run: &str) -> RowCounts {
        self.app().run(run).await.unwrap().sending.unwrap().counts
    }

    pub(crate) async fn dead_letters(&self, queue: &str) -> Vec<Message> {
        self.app().queues.given_up(queue, 100).await.unwrap()
    }

    /// Waits until a condition holds, and advances the clock meanwhile.
    pub(crate) async fn until(&self, is_true: impl AsyncFn() -> bool, mut meanwhile: impl FnMut()) {
        let waited = async {
            while !is_true().await {
                meanwhile();
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), waited).await;
        waited.expect("what the test waits for does not happen");
    }

    /// Every record of the stream of the source table.
    pub(crate) async fn stream(&self) -> Vec<StreamRecord> {
        let table_name = Some("source-data".to_owned());
        let streams = self.stored.list_streams(ListStreams {
            table_name,
            ..ListStreams::default()
        });
        let stream_arn = streams.await.unwrap().streams.remove(0).stream_arn;
        let described = self.stored.describe_stream(DescribeStream {
            stream_arn: stream_arn.clone(),
            ..DescribeStream::default()
        });
        let mut records = Vec::new();
        for shard in described.await.unwrap().stream_description.shards {
            let iterator = self.stored.get_shard_iterator(GetShardIterator {
                stream_arn: stream_arn.clone(),
                shard_id: shard.shard_id,
                shard_iterator_type: ShardIteratorType::TrimHorizon,
                ..GetShardIterator::default()
            });
            let mut next = iterator.await.unwrap().shard_iterator;
            while let Some(shard_iterator) = next {
                let page = self.stored.get_records(GetRecords {
                    shard_iterator,
                    ..GetRecords::default()
                });
                let page = page.await.unwrap();
                if page.records.is_empty() {
                    break;
                }
                records.extend(page.records.into_iter().map(|record| record.dynamodb));
                next = page.next_shard_iterator;
            }
        }
        records
    }
}

/// A reindex of a source into the catalogue.
pub(crate) fn reindex(source: &str, records: Parameters) -> NewReindex {
    let asked = serde_json::json!({ "source": source, "destination": "catalogue" });
    let mut asked: NewReindex = serde_json::from_value(asked).unwrap();
    match records {
        Parameters::Complete => {}
        Parameters::Partial { max_records } => asked.max_records = Some(max_records),
        Parameters::Specific { ids } => asked.ids = Some(ids),
    }
    asked
}

pub(crate) fn sierra(number: usize) -> String {
    id(Source::Sierra, number)
}

/// Touches by the database, with throttling for some rows and a record of each attempt.
pub(crate) struct Touches {
    stored: TestDatabase,
    made: Mutex<Vec<(String, Timestamp)>>,
    throttled: Mutex<BTreeSet<String>>,
    interruptions: Mutex<Vec<(String, BoxFuture<'static, ()>)>>,
}

impl Touches {
    /// From now on, touches of this record are throttled.
    pub(crate) fn throttle(&self, id: &str) {
        self.throttled.lock().unwrap().insert(id.to_owned());
    }

    /// Between the read of this record and its next touch, something else happens.
    pub(crate) fn interrupt(&self, id: &str, by: BoxFuture<'static, ()>) {
        self.interruptions.lock().unwrap().push((id.to_owned(), by));
    }

    pub(crate) fn repair(&self) {
        self.throttled.lock().unwrap().clear();
    }

    /// Attempts to touch records since the last call, by record.
    pub(crate) fn take(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (id, _) in self.made.lock().unwrap().drain(..) {
            *counts.entry(id).or_default() += 1;
        }
        counts
    }

    /// The time of each attempt since the last call.
    pub(crate) fn times(&self) -> Vec<Timestamp> {
        self.made.lock().unwrap().iter().map(|made| made.1).collect()
    }

    fn interruption_of(&self, id: &str) -> Option<BoxFuture<'static, ()>> {
        let mut waiting = self.interruptions.lock().unwrap();
        let due = waiting.iter().position(|(of, _)| of == id)?;
        Some(waiting.remove(due).1)
    }
}

impl Touch for Touches {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        let [key] = &rows.keys[..] else {
            panic!("the processor touches one row at a time");
        };
        let id = key.get("id").and_then(AttributeValue::as_s).unwrap().to_owned();
        let now = self.stored.clock().now();
        self.made.lock().unwrap().push((id.clone(), now));
        let interruption = self.interruption_of(&id);
        Box::pin(async move {
            if let Some(interruption) = interruption {
                interruption.await;
            }
            if self.throttled.lock().unwrap().contains(&id) {
                let error = trestle::Error::new(ErrorKind::ProvisionedThroughputExceeded, "too fast");
                return Ok(TouchResult {
                    rows: vec![Touched::Refused(error)],
                    write_units: 0.0,
                });
            }
            Touch::touch(&*self.stored, rows).await
        })
    }
}

/// The object store, with unreadable payloads.
#[derive(Debug)]
pub(crate) struct Shelf {
    store: Arc<dyn ObjectStore>,
    lost: Mutex<BTreeSet<String>>,
}

impl Shelf {
    /// From now on, payloads of this record cannot be read.
    pub(crate) fn lose(&self, id: &str) {
        self.lost.lock().unwrap().insert(id.to_owned());
    }

    pub(crate) fn find(&self) {
        self.lost.lock().unwrap().clear();
    }

    fn is_lost(&self, key: &Path) -> bool {
        let lost = self.lost.lock().unwrap();
        lost.iter().any(|id| key.as_ref().contains(id.as_str()))
    }
}

impl fmt::Display for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("shelf")
    }
}

#[async_trait]
impl ObjectStore for Shelf {
    async fn get_opts(&self, key: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        match self.is_lost(key) {
            true => Err(object_store::Error::Generic {
                store: "shelf",
                source: "the shelf is empty".into(),
            }),
            false => self.store.get_opts(key, options).await,
        }
    }

    async fn put_opts(
        &self,
        key: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.store.put_opts(key, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        key: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(key, options).await
    }

    fn delete_stream(
        &self,
        keys: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.store.delete_stream(keys)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}
