//! Follows the changes of a table: a change only determines which row is read again at the source.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use trestle_api::{BatchGetItem, Database, DatabaseExt, KeysAndAttributes};
use trestle_env::{Clock, SystemClock, Timestamp};
use trestle_events::ChangedKeys;
use trestle_item::Item;
use trestle_reindex::Units;

use crate::key::RowKey;
use crate::patience::Patience;
use crate::under_way::PagesUnderWay;
use crate::write::{RowWrite, RowWriter};
use crate::{CopyError, CopyProgress, StateFile};

/// DynamoDB's limit.
const GET_ROWS: usize = 100;
/// The pause before keys that the endpoint did not process are requested again.
const UNPROCESSED_PAUSE: Duration = Duration::from_millis(50);
/// Times of records are rounded down, normally to the second.
const RECORD_TIME_UNIT: Duration = Duration::from_secs(1);

/// Reads rows by their keys.
#[derive(Clone)]
pub(crate) struct RowReader {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) table: String,
    pub(crate) key: RowKey,
    pub(crate) units: Arc<Units>,
    pub(crate) patience: Patience,
}

impl RowReader {
    /// The current rows with these keys, by the bytes of their keys.
    pub(crate) async fn rows(&self, keys: &[Item]) -> Result<HashMap<Vec<u8>, Item>, CopyError> {
        let what = format!("reading rows of table {} by their keys", self.table);
        let mut found = HashMap::new();
        for keys in keys.chunks(GET_ROWS) {
            self.units.take(keys.len() as f64).await;
            let mut left = keys.to_vec();
            while !left.is_empty() {
                let wanted = KeysAndAttributes {
                    keys: left,
                    consistent_read: Some(true),
                    ..KeysAndAttributes::default()
                };
                let request = BatchGetItem {
                    request_items: BTreeMap::from([(self.table.clone(), wanted)]),
                    ..BatchGetItem::default()
                };
                let get = || self.database.batch_get_item(request.clone());
                let mut answer = self.patience.ask(&what, get).await?;
                let rows = answer.responses.remove(&self.table).unwrap_or_default();
                let has_nothing = rows.is_empty();
                for row in rows {
                    found.insert(self.key.bytes(&row)?, row);
                }
                let unprocessed = answer.unprocessed_keys.remove(&self.table);
                left = unprocessed.map(|left| left.keys).unwrap_or_default();
                if has_nothing && !left.is_empty() {
                    // The endpoint throttles.
                    tokio::time::sleep(UNPROCESSED_PAUSE).await;
                }
            }
        }
        Ok(found)
    }

    /// Each key once, with its bytes.
    pub(crate) fn distinct(&self, keys: Vec<Item>) -> Result<BTreeMap<Vec<u8>, Item>, CopyError> {
        let keys = keys.into_iter().map(|key| Ok((self.key.bytes(&key)?, key)));
        keys.collect()
    }
}

/// The progress of the follower of a table, for other tasks.
pub(crate) struct Followed {
    /// The numbers of changed keys, while they are collected.
    changed: Mutex<Option<HashSet<u64>>>,
    /// How many rounds have begun.
    begun: AtomicU64,
    seen: watch::Sender<Seen>,
    wake: Notify,
    clock: SystemClock,
}

/// The results of the rounds of a follower.
#[derive(Clone, Copy)]
struct Seen {
    /// The last round that found nothing to read.
    all: u64,
    /// When the last change came.
    last_change: Instant,
    /// The last round, and the time at the source up to which it has read.
    read: (u64, Option<Timestamp>),
}

impl Followed {
    pub(crate) fn new() -> Self {
        Self {
            changed: Mutex::new(None),
            begun: AtomicU64::new(0),
            seen: watch::Sender::new(Seen {
                all: 0,
                last_change: Instant::now(),
                read: (0, None),
            }),
            wake: Notify::new(),
            clock: SystemClock::new(),
        }
    }

    /// Waits until everything that was written before this call is at the target, while other writes
    /// continue: until records arrive that are later by the clock, or no more arrive.
    pub(crate) async fn kept_up(&self) {
        let before = self.begun.load(Ordering::SeqCst);
        let now = self.clock.now().plus(RECORD_TIME_UNIT);
        let mut seen = self.seen.subscribe();
        self.wake.notify_one();
        let has_passed = |seen: &Seen| {
            let (round, read) = seen.read;
            seen.all > before || round > before && read.is_some_and(|read| read >= now)
        };
        let _ = seen.wait_for(has_passed).await;
    }

    /// Waits until all records from before this call have been followed. It may never return while others
    /// write.
    pub(crate) async fn caught_up(&self) {
        let before = self.begun.load(Ordering::SeqCst);
        let mut seen = self.seen.subscribe();
        self.wake.notify_one();
        // The sender belongs to `self`, so it cannot be closed.
        let _ = seen.wait_for(|seen| seen.all > before).await;
    }

    /// Waits until no change has arrived for this long.
    pub(crate) async fn quiet_for(&self, time: Duration) {
        let began = Instant::now();
        loop {
            self.caught_up().await;
            let last = self.seen.borrow().last_change.max(began);
            match time.checked_sub(last.elapsed()) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                _ => return,
            }
        }
    }

    /// Collects the keys that change from now on.
    pub(crate) fn collect(&self) {
        *self.changed.lock() = Some(HashSet::new());
    }

    pub(crate) fn has_changed(&self, key: u64) -> bool {
        let changed = self.changed.lock();
        changed.as_ref().is_some_and(|changed| changed.contains(&key))
    }

    pub(crate) fn stop_collecting(&self) {
        *self.changed.lock() = None;
    }
}

/// Follows the changes of one table.
pub(crate) struct Follower {
    pub(crate) changes: ChangedKeys,
    pub(crate) source: RowReader,
    pub(crate) writer: RowWriter,
    pub(crate) under_way: Arc<PagesUnderWay>,
    pub(crate) followed: Arc<Followed>,
    pub(crate) state: Arc<StateFile>,
    pub(crate) progress: Arc<CopyProgress>,
    pub(crate) patience: Patience,
    /// The pause between two reads while nothing changes.
    pub(crate) poll: Duration,
}

impl Follower {
    /// Follows changes until it is dropped, or an error occurs.
    pub(crate) async fn run(mut self) -> Result<(), CopyError> {
        loop {
            let had_changes = self.round().await?;
            if !had_changes {
                let _ = tokio::time::timeout(self.poll, self.followed.wake.notified()).await;
            }
        }
    }

    async fn round(&mut self) -> Result<bool, CopyError> {
        let round = self.followed.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let table = self.source.table.clone();
        let page = self.next().await?;
        if page.has_gap {
            return Err(CopyError::refused(format!(
                "changes of table {table} were trimmed from its stream before they were followed: the copy was away for longer than \
                 the stream keeps records. Remove the state file and the tables at the target, and copy again"
            )));
        }
        let had_changes = !page.keys.is_empty();
        if had_changes {
            self.progress
                .changes
                .fetch_add(page.keys.len() as u64, Ordering::Relaxed);
            self.renew(page.keys).await?;
        }
        let position = self.changes.position();
        self.state
            .change_table(&table, |table| table.position = Some(position));
        self.followed.seen.send_modify(|seen| {
            if page.is_all {
                seen.all = round;
            }
            if had_changes {
                seen.last_change = Instant::now();
            }
            seen.read = (round, page.read_up_to);
        });
        Ok(had_changes)
    }

    async fn next(&mut self) -> Result<trestle_events::KeyPage, CopyError> {
        let what = format!("reading the changes of table {}", self.source.table);
        let changes = tokio::sync::Mutex::new(&mut self.changes);
        let next = async || changes.lock().await.next().await;
        self.patience.ask(&what, next).await
    }

    /// Copies the current state of rows from the source to the target.
    async fn renew(&self, keys: Vec<Item>) -> Result<(), CopyError> {
        let mut keys = self.source.distinct(keys)?;
        if let Some(changed) = &mut *self.followed.changed.lock() {
            for key in keys.values() {
                changed.insert(self.source.key.number(key)?);
            }
        }
        // Pages that were read before these changes may have earlier states of the rows, so they are written
        // first.
        self.under_way.passed().await;
        let wanted: Vec<Item> = keys.values().cloned().collect();
        let found = self.source.rows(&wanted).await?;
        let mut writes: Vec<RowWrite> = Vec::with_capacity(keys.len());
        for (bytes, row) in found {
            if keys.remove(&bytes).is_some() {
                writes.push(RowWrite::Put(row));
            }
        }
        writes.extend(keys.into_values().map(RowWrite::Delete));
        self.writer.write(writes).await
    }
}
