//! Rows that changed without a gateway: written at the endpoint directly, or expired there.
//!
//! One gateway of an endpoint reads the streams of modelled tables (`duty.rs`). Derived rows near each
//! changed row are repaired ([`Models::repair_near`]); after a write by a gateway they are already correct. A
//! wrong count cannot be detected near a row. So if a counted row changed without a gateway, all rows are
//! repaired; this can also be done periodically.
//!
//! *Invariants*: repairs depend on the current rows, not on the content of a record, so that a record may be
//! processed twice. A position is stored when everything before it is done, or together with the note that
//! all rows must be repaired.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};
use trestle_api::{Error, Record, TIME_TO_LIVE_PRINCIPAL, Wait};
use trestle_binding::{PastWritesStatus, RepairReport, Step, WrongFact};
use trestle_env::Timestamp;
use trestle_events::{ChangedKeys, KeyPosition};
use trestle_item::Item;
use trestle_models::{Models, NearRepair, RepairOptions, Watcher};

use crate::duty::{Duty, DutyHolder};
use crate::endpoint::Endpoint;

/// The time between two reads of the streams.
const LOOK: Duration = Duration::from_secs(1);
/// The time between two checks whether a table has a stream.
const LOOK_FOR_STREAM: Duration = Duration::from_secs(60);
/// Rows that are repaired in parallel.
const AT_ONCE: usize = 16;
/// The minimum pause after a failed repair of all rows, which may have read all of them.
const REPAIR_PAUSE: Duration = Duration::from_secs(60);
/// The minimum time between two writes of positions.
const STORE: Duration = Duration::from_secs(5);

/// Options of the search for rows that changed without a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastWritesOptions {
    /// Whether the streams of modelled tables are read.
    pub follow: bool,
    /// The minimum time between two repairs of all rows because counts may be wrong.
    pub recount: Duration,
    /// The time between two repairs of all rows that are done in any case.
    pub sweep: Option<Duration>,
}

impl Default for PastWritesOptions {
    fn default() -> Self {
        PastWritesOptions {
            follow: true,
            recount: Duration::from_secs(600),
            sweep: None,
        }
    }
}

/// A thread that searches for rows that changed without a gateway. It ends when this is dropped.
#[derive(Debug)]
pub struct PastWrites {
    stop: Arc<Stop>,
    status: Arc<Mutex<PastWritesStatus>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Stop {
    is_set: AtomicBool,
    lock: Mutex<()>,
    bell: Condvar,
}

impl PastWrites {
    pub(crate) fn start(
        endpoint: Arc<Endpoint>,
        models: Arc<Models>,
        options: PastWritesOptions,
    ) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        let status = Arc::new(Mutex::new(PastWritesStatus::default()));
        let mut search = Search {
            duty: Duty::of_past_writes(Arc::clone(&endpoint)),
            endpoint,
            models,
            options,
            stop: Arc::clone(&stop),
            status: Arc::clone(&status),
            epoch: None,
            readers: BTreeMap::new(),
            pending: VecDeque::new(),
            notes: Notes::default(),
            stored: (Notes::default(), None),
            failed: None,
        };
        let thread = std::thread::Builder::new()
            .name("trestle-past-writes".into())
            .spawn(move || search.run())?;
        Ok(PastWrites {
            stop,
            status,
            thread: Some(thread),
        })
    }

    /// The results so far.
    #[must_use]
    pub fn status(&self) -> PastWritesStatus {
        self.status.lock().clone()
    }
}

impl Drop for PastWrites {
    fn drop(&mut self) {
        self.stop.is_set.store(true, Ordering::Release);
        drop(self.stop.lock.lock());
        self.stop.bell.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The stored state, for the next gateway with the duty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Notes {
    /// How far the streams of tables have been read.
    positions: BTreeMap<String, KeyPosition>,
    /// All rows must be repaired, because counts may be wrong.
    is_due: bool,
    /// When all rows were last repaired.
    repaired: Option<u64>,
    /// When the search began.
    began: Option<u64>,
}

/// The stream of a table.
enum Reader {
    None(Instant),
    On(Box<ChangedKeys>),
}

struct Search {
    endpoint: Arc<Endpoint>,
    models: Arc<Models>,
    duty: Duty,
    options: PastWritesOptions,
    stop: Arc<Stop>,
    status: Arc<Mutex<PastWritesStatus>>,
    /// The epoch of the duty that this gateway has.
    epoch: Option<u64>,
    readers: BTreeMap<String, Reader>,
    /// Records that were read, with their tables. After an error, the rest stays for the next round.
    pending: VecDeque<(String, Record)>,
    notes: Notes,
    /// The notes as they are stored, and the time of the last write.
    stored: (Notes, Option<Instant>),
    /// When a repair of all rows failed, and why.
    failed: Option<(Instant, Error)>,
}

/// A row that changed, once or several times.
#[derive(Default)]
struct ChangedRow {
    table: String,
    key: Item,
    /// The row before each change, as far as the records contain it.
    earlier: Vec<Item>,
    records: u64,
    expired: u64,
    /// It expired, and its record does not contain the row.
    is_blind: bool,
}

/// The first rows of these records, and the number of records that concern them.
fn first_rows(records: &VecDeque<(String, Record)>) -> (Vec<ChangedRow>, usize) {
    let mut rows: Vec<ChangedRow> = Vec::new();
    for (at, (table, record)) in records.iter().enumerate() {
        let change = &record.dynamodb;
        let known = rows
            .iter()
            .position(|row| row.table == *table && row.key == change.keys);
        if known.is_none() && rows.len() == AT_ONCE {
            return (rows, at);
        }
        let mut row = match known {
            Some(known) => rows.remove(known),
            None => ChangedRow {
                table: table.clone(),
                key: change.keys.clone(),
                ..ChangedRow::default()
            },
        };
        row.records += 1;
        row.expired += u64::from(is_expiry(record));
        row.is_blind |= is_expiry(record) && change.old_image.is_none();
        row.earlier.extend(change.old_image.clone());
        rows.push(row);
    }
    (rows, records.len())
}

impl Search {
    fn run(&mut self) {
        while !self.is_over() {
            let looked = self.look();
            let mut status = self.status.lock();
            if let Err(error) = &looked
                && status.error.is_none()
            {
                tracing::warn!("rows that changed without a gateway cannot be looked for: {error}");
            }
            status.error = looked.err().map(|error| error.to_string());
            status.on_duty = self.epoch.is_some();
            status.is_due = self.notes.is_due;
            drop(status);
            let mut waiting = self.stop.lock.lock();
            if !self.is_over() {
                self.stop.bell.wait_for(&mut waiting, LOOK);
            }
        }
        if let Some(epoch) = self.epoch
            && let Err(error) = self.duty.give_up(epoch, None).wait()
        {
            tracing::debug!(%error, "another gateway looks for rows that changed when it sees that this one is over");
        }
    }

    fn is_over(&self) -> bool {
        self.stop.is_set.load(Ordering::Acquire)
    }

    fn look(&mut self) -> Result<(), Error> {
        let tables: BTreeSet<String> = self
            .models
            .list()
            .into_iter()
            .flat_map(|model| model.tables)
            .collect();
        if tables.is_empty() {
            return Ok(());
        }
        let epoch = match self.duty.look().wait()? {
            DutyHolder::This { epoch, .. } => epoch,
            DutyHolder::Other => {
                self.epoch = None;
                return Ok(());
            }
        };
        if self.epoch != Some(epoch) {
            self.begin(epoch)?;
        }
        if self.options.follow {
            // The rest of an earlier round.
            self.follow()?;
            self.readers.retain(|table, _| tables.contains(table));
            for table in tables {
                self.read(&table)?;
                self.follow()?;
            }
        }
        let repaired = self.repair_if_due();
        self.store(epoch)?;
        repaired
    }

    /// Continues where the previous gateway has stopped.
    fn begin(&mut self, epoch: u64) -> Result<(), Error> {
        self.epoch = None;
        self.readers.clear();
        self.pending.clear();
        self.notes = match self.duty.noted().wait()? {
            None => Notes::default(),
            // If the notes are of another version, all rows are repaired.
            Some(noted) => serde_json::from_str(&noted).unwrap_or_else(|_| Notes {
                is_due: true,
                ..Notes::default()
            }),
        };
        self.stored = (self.notes.clone(), None);
        self.epoch = Some(epoch);
        Ok(())
    }

    /// Continues to read the stream of a table.
    fn read(&mut self, table: &str) -> Result<(), Error> {
        let database = || Arc::clone(&self.endpoint.database);
        let is_unknown = match self.readers.get(table) {
            None => true,
            Some(Reader::None(looked)) => looked.elapsed() >= LOOK_FOR_STREAM,
            Some(Reader::On(_)) => false,
        };
        if is_unknown {
            let reader = match self.notes.positions.get(table) {
                Some(position) => Some(ChangedKeys::resume(database(), table, position, Timestamp::EPOCH)),
                None => ChangedKeys::begin(database(), table).wait()?,
            };
            let mut status = self.status.lock();
            let reader = match reader {
                Some(reader) => {
                    status.without_stream.remove(table);
                    Reader::On(Box::new(reader.with_records()))
                }
                None => {
                    if status.without_stream.insert(table.to_owned()) {
                        tracing::warn!(
                            "table {table} has no stream: rows of it that expire, or are written past the gateways, are found by \
                             `trestle model repair` only"
                        );
                    }
                    Reader::None(Instant::now())
                }
            };
            self.readers.insert(table.to_owned(), reader);
        }
        if let Some(Reader::On(reader)) = self.readers.get_mut(table) {
            let page = reader.next().wait()?;
            self.notes.is_due |= page.has_gap;
            let records = page.records.into_iter();
            self.pending
                .extend(records.map(|record| (table.to_owned(), record)));
            // Stored when all of it is done.
            self.notes.positions.insert(table.to_owned(), reader.position());
        }
        Ok(())
    }

    /// Repairs the rows derived from changed rows, several in parallel.
    fn follow(&mut self) -> Result<(), Error> {
        while !self.pending.is_empty() && !self.is_over() {
            let (rows, records) = first_rows(&self.pending);
            let near = |row: &ChangedRow| {
                let repaired = self.models.repair_near(&row.table, &row.key, &row.earlier);
                repaired.map_err(failed)
            };
            let repaired: Vec<Result<NearRepair, Error>> = std::thread::scope(|scope| {
                let near = &near;
                let working: Vec<_> = rows.iter().map(|row| scope.spawn(move || near(row))).collect();
                let done = working.into_iter().map(|work| work.join());
                done.map(|done| done.unwrap_or_else(|_| Err(Error::defect("a repair near a row panicked"))))
                    .collect()
            });
            // Completed repairs stay; the next round begins with the same records.
            let repaired: Vec<NearRepair> = repaired.into_iter().collect::<Result<_, _>>()?;
            self.pending.drain(..records);
            for (row, near) in rows.iter().zip(repaired) {
                self.took(row, near);
            }
        }
        Ok(())
    }

    /// Records the repair of the rows near a changed row.
    fn took(&mut self, row: &ChangedRow, near: NearRepair) {
        let is_expiry = row.expired > 0;
        let is_past = is_expiry || !near.mended.is_empty();
        self.notes.is_due |= near.needs_all || row.is_blind || is_past && near.is_counted;
        if !near.mended.is_empty() {
            tracing::info!(
                table = row.table,
                key = %serde_json::json!(row.key),
                mended = near.mended.values().sum::<u64>(),
                "{}",
                match is_expiry {
                    true => "a row expired at the endpoint: what followed from it was brought in line",
                    false => "a row was changed past the gateways: what follows from it was brought in line",
                }
            );
        }
        let mut status = self.status.lock();
        status.records += row.records;
        status.expired += row.expired;
        status.changed += u64::from(is_past && !is_expiry);
        for (kind, count) in near.mended {
            *status.mended.entry(kind.name().to_owned()).or_default() += count;
        }
        leave(&mut status, near.left);
    }

    /// Repairs all rows, if it is due.
    fn repair_if_due(&mut self) -> Result<(), Error> {
        let now = self.endpoint.clock.now().as_secs();
        let began = *self.notes.began.get_or_insert(now);
        let has_passed = |since: u64, pause: Duration| now.saturating_sub(since) >= pause.as_secs();
        let repaired = self.notes.repaired;
        let is_recount =
            self.notes.is_due && repaired.is_none_or(|repaired| has_passed(repaired, self.options.recount));
        let is_sweep = |pause| has_passed(repaired.unwrap_or(began), pause);
        let is_time = is_recount || self.options.sweep.is_some_and(is_sweep);
        if !is_time || self.is_over() {
            return Ok(());
        }
        if let Some((at, error)) = &self.failed
            && at.elapsed() < REPAIR_PAUSE.min(self.options.recount)
        {
            return Err(error.clone());
        }
        let report = self
            .models
            .repair(&RepairOptions::default(), &mut UntilStopped(&self.stop));
        let report = report.map_err(failed);
        self.failed = report.as_ref().err().map(|error| (Instant::now(), error.clone()));
        let report = report?;
        self.notes.is_due = false;
        self.notes.repaired = Some(now);
        self.say(&report, now);
        Ok(())
    }

    fn say(&self, report: &RepairReport, now: u64) {
        let mut status = self.status.lock();
        status.repaired = Some(now);
        for model in &report.models {
            for (kind, count) in &model.mended {
                *status.mended.entry(kind.name().to_owned()).or_default() += count;
            }
            status.left_total += model.left_total.saturating_sub(model.left.len() as u64);
            leave(&mut status, model.left.clone());
            let mended: u64 = model.mended.values().sum();
            if mended > 0 || model.left_total > 0 {
                let (model, left) = (&model.facts.model, model.left_total);
                tracing::warn!(
                    "model {model}: rows were changed without a gateway or expired: {mended} derived facts were corrected, {left} \
                     cannot be"
                );
            }
        }
    }

    /// Stores the progress.
    fn store(&mut self, epoch: u64) -> Result<(), Error> {
        let (stored, at) = &self.stored;
        let is_early = at.is_some_and(|at| at.elapsed() < STORE) && stored.is_due == self.notes.is_due;
        if is_early || !self.pending.is_empty() || *stored == self.notes {
            return Ok(());
        }
        let text = serde_json::to_string(&self.notes).map_err(|error| Error::internal(error.to_string()))?;
        if self.duty.note(epoch, &text).wait()? {
            self.stored = (self.notes.clone(), Some(Instant::now()));
        }
        Ok(())
    }
}

/// Adds wrong facts that no repair can correct to the status.
fn leave(status: &mut PastWritesStatus, left: Vec<WrongFact>) {
    for fact in left {
        tracing::warn!(
            "table {}, row {}: {} instead of {}; no repair can decide which is right",
            fact.table,
            fact.key,
            fact.there,
            fact.wanted
        );
        status.leave(fact);
    }
}

/// Whether the endpoint removed the row because its time to live was over.
fn is_expiry(record: &Record) -> bool {
    let identity = record.user_identity.as_ref();
    identity.is_some_and(|identity| identity.principal_id.as_deref() == Some(TIME_TO_LIVE_PRINCIPAL))
}

fn failed(error: trestle_binding::BindError) -> Error {
    match error {
        trestle_binding::BindError::Database(error) => error,
        other => Error::internal(other.to_string()),
    }
}

/// Ends a repair when the gateway ends.
struct UntilStopped<'s>(&'s Stop);

impl Watcher for UntilStopped<'_> {
    fn step(&mut self, _: &Step) {}

    fn rows(&mut self, _: &'static str, _: &str, _: u64) {}

    fn stops(&self) -> bool {
        self.0.is_set.load(Ordering::Acquire)
    }
}
