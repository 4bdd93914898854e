//! A catalogue in memory, with faults that can be had between it and its tables, and in its object store.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use reindexer::demo::{Samples, id, settle};
use reindexer::model::Record;
use reindexer::{Bucket, Catalogue, Location, Mode, NewReindex, Objects, Running, Setup, Source};
use tempfile::TempDir;
use trestle::api::{
    DescribeStream, GetRecords, GetShardIterator, ListStreams, Request, ResponseFuture, ShardIteratorType,
    StreamRecord,
};
use trestle::{AttributeValue, Database, DatabaseExt as _, Embedded, ErrorKind, Options};

/// Everything a test needs.
pub(crate) struct World {
    pub(crate) embedded: Embedded,
    pub(crate) tables: Arc<Tables>,
    pub(crate) objects: Arc<Shelf>,
    pub(crate) running: Arc<Running>,
    _folder: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with_shards_of(1_500).await
    }

    pub(crate) async fn with_shards_of(shard_size: u64) -> Self {
        let embedded = Embedded::in_memory(Options::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        Self::on(embedded, folder, shard_size).await
    }

    async fn on(embedded: Embedded, folder: TempDir, shard_size: u64) -> Self {
        let tables = Arc::new(Tables {
            embedded: embedded.clone(),
            updates: Mutex::default(),
            throttled: Mutex::default(),
            interruption: Mutex::default(),
        });
        let objects = Arc::new(Shelf {
            bucket: Bucket::directory(folder.path()).unwrap(),
            lost: Mutex::default(),
        });
        let running = Catalogue::start(Setup {
            database: tables.clone(),
            shard_size,
            first_retry: Duration::from_millis(2),
            ..Setup::new(&embedded, objects.clone())
        });
        let running = Arc::new(running.await.unwrap());
        Self {
            embedded,
            tables,
            objects,
            running,
            _folder: folder,
        }
    }

    /// The same database with other shards.
    pub(crate) async fn restarted_with_shards_of(self, shard_size: u64) -> Self {
        self.running.stop().await;
        Self::on(self.embedded, self._folder, shard_size).await
    }

    pub(crate) fn app(&self) -> &Arc<Catalogue> {
        &self.running.app
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

    /// Waits until nothing is under way.
    pub(crate) async fn settle(&self) {
        let settled = tokio::time::timeout(Duration::from_secs(120), settle(&self.running));
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
        let (_, gaps) = self.running.status(pipeline).await.unwrap();
        gaps.into_iter().map(|gap| gap.id).collect()
    }

    /// How many messages a queue has, dead letters aside.
    pub(crate) async fn waiting(&self, queue: &str) -> usize {
        let counts = self.app().queues.counts(queue).await.unwrap();
        counts.visible + counts.in_flight + counts.delayed
    }

    /// Every record of the stream of the source table.
    pub(crate) async fn stream(&self) -> Vec<StreamRecord> {
        let table_name = Some("source-data".to_owned());
        let streams = self.embedded.list_streams(ListStreams {
            table_name,
            ..ListStreams::default()
        });
        let stream_arn = streams.await.unwrap().streams.remove(0).stream_arn;
        let described = self.embedded.describe_stream(DescribeStream {
            stream_arn: stream_arn.clone(),
            ..DescribeStream::default()
        });
        let mut records = Vec::new();
        for shard in described.await.unwrap().stream_description.shards {
            let iterator = self.embedded.get_shard_iterator(GetShardIterator {
                stream_arn: stream_arn.clone(),
                shard_id: shard.shard_id,
                shard_iterator_type: ShardIteratorType::TrimHorizon,
                ..GetShardIterator::default()
            });
            let mut next = iterator.await.unwrap().shard_iterator;
            while let Some(shard_iterator) = next {
                let page = self.embedded.get_records(GetRecords {
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
pub(crate) fn reindex(source: &str, mode: Mode) -> NewReindex {
    NewReindex {
        source: source.to_owned(),
        destination: "catalogue".to_owned(),
        mode,
        design: reindexer::model::RunDesign::Segments,
        desired_version: None,
        force: false,
    }
}

pub(crate) fn sierra(number: usize) -> String {
    id(Source::Sierra, number)
}

/// The tables, with throttling for some rows and a count of updates.
pub(crate) struct Tables {
    embedded: Embedded,
    updates: Mutex<BTreeMap<String, usize>>,
    throttled: Mutex<BTreeSet<String>>,
    interruption: Mutex<Option<(String, BoxFuture<'static, ()>)>>,
}

impl Tables {
    /// From now on, updates of this record are throttled.
    pub(crate) fn throttle(&self, id: &str) {
        self.throttled.lock().unwrap().insert(id.to_owned());
    }

    /// Before this record is updated next, something else happens.
    pub(crate) fn interrupt(&self, id: &str, by: BoxFuture<'static, ()>) {
        *self.interruption.lock().unwrap() = Some((id.to_owned(), by));
    }

    pub(crate) fn repair(&self) {
        self.throttled.lock().unwrap().clear();
    }

    /// Attempts to update records since the last time, by record.
    pub(crate) fn take_updates(&self) -> BTreeMap<String, usize> {
        std::mem::take(&mut *self.updates.lock().unwrap())
    }
}

impl Database for Tables {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        if let Request::UpdateItem(update) = &request
            && let Some(id) = update.key.get("id").and_then(AttributeValue::as_s)
        {
            *self.updates.lock().unwrap().entry(id.to_owned()).or_default() += 1;
            if self.throttled.lock().unwrap().contains(id) {
                let error = trestle::Error::new(ErrorKind::ProvisionedThroughputExceeded, "too fast");
                return Box::pin(async move { Err(error) });
            }
            let due = |(of, _): &mut (String, _)| of == id;
            if let Some((_, interruption)) = self.interruption.lock().unwrap().take_if(due) {
                return Box::pin(async move {
                    interruption.await;
                    self.embedded.execute(request).await
                });
            }
        }
        self.embedded.execute(request)
    }
}

/// The object store, with payloads that cannot be read.
pub(crate) struct Shelf {
    bucket: Bucket,
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
}

#[async_trait]
impl Objects for Shelf {
    async fn put(&self, key: &str, payload: Vec<u8>) -> io::Result<Location> {
        self.bucket.put(key, payload).await
    }

    async fn get(&self, location: &Location) -> io::Result<Vec<u8>> {
        let is_lost = self
            .lost
            .lock()
            .unwrap()
            .iter()
            .any(|id| location.key.contains(id.as_str()));
        match is_lost {
            true => Err(io::Error::other("the shelf is empty")),
            false => self.bucket.get(location).await,
        }
    }
}
