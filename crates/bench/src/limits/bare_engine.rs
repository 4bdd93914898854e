//! The storage engine without a database: threads pass the rows of a PutItem to one committer, which commits
//! all waiting rows as one batch, with fsync. Also gets, directly from the store.

use crate::dataset::{self, Field};
use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;
use crate::load::Measured;
use crate::report::Figures;
use crate::settings::Settings;
use crate::usage::Clocks;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use trestle_item::{Item, codec};
use trestle_store::{Batch, Bytes, FjallStore, Space, Store, StoreError};

/// As many as the database puts into one commit.
const GROUP_MAX: usize = 256;
const VARIANTS: u64 = 8;

/// A request: its row, and the channel for its result.
struct Job {
    row: u64,
    sequence: u64,
    values: Values,
    reply: SyncSender<Result<(), String>>,
}

/// The values of a put: 1 KB in the table, 1 KB in the index, 2 KB in the change log.
#[derive(Clone)]
struct Values {
    item: Bytes,
    change: Bytes,
}

impl Values {
    fn of(variant: u64) -> Result<Self, BenchError> {
        let json = dataset::item_json(0, variant);
        let item: Item = serde_json::from_slice(json.as_bytes()).doing("cannot make an item")?;
        let bytes = codec::encode(&item);
        Ok(Values {
            change: [bytes.as_slice(), bytes.as_slice()].concat().into(),
            item: bytes.into(),
        })
    }
}

/// A store with the rows of the benchmark, and the values that are written to it.
pub(super) struct BareEngine {
    store: FjallStore,
    values: Vec<Values>,
    rows: u64,
}

impl BareEngine {
    pub(super) fn prepare(data: &Path, rows: u64) -> Result<Self, BenchError> {
        let store =
            FjallStore::open(data, trestle_store::Settings::default()).doing("cannot open a store")?;
        let values: Vec<Values> = (0..VARIANTS).map(Values::of).collect::<Result<_, _>>()?;
        fill(&store, rows, &values).doing("cannot fill a store")?;
        Ok(BareEngine { store, values, rows })
    }

    /// Rows read per second from this many threads.
    pub(super) fn gets(&self, threads: usize, settings: &Settings) -> Result<Figures, BenchError> {
        timed(threads, settings, |_| {
            move |random: &mut fastrand::Rng| {
                let key = item_key(random.u64(..self.rows));
                let found = self
                    .store
                    .get(Space::Items, &key)
                    .map_err(|error| error.to_string())?;
                found.map(|_| ()).ok_or_else(|| "a row is missing".to_owned())
            }
        })
    }

    /// Puts committed per second from this many threads.
    pub(super) fn commits(&self, threads: usize, settings: &Settings) -> Result<Figures, BenchError> {
        let (jobs, waiting) = channel::<Job>();
        thread::scope(|scope| {
            scope.spawn(move || commit_groups(&self.store, &waiting));
            let figures = timed(threads, settings, |thread| self.client(thread, jobs.clone()));
            // The committer ends when the last sender is dropped.
            drop(jobs);
            figures
        })
    }

    /// The loop of one thread: submits a put, and waits until it is durable.
    fn client(
        &self,
        thread: usize,
        jobs: Sender<Job>,
    ) -> impl FnMut(&mut fastrand::Rng) -> Result<(), String> + Send {
        let (reply, answer) = sync_channel(1);
        let mut sequence = (thread as u64) << 40;
        move |random| {
            sequence += 1;
            let values = random.choice(&self.values).ok_or("there are no values")?;
            let job = Job {
                row: random.u64(..self.rows),
                sequence,
                values: values.clone(),
                reply: reply.clone(),
            };
            jobs.send(job).map_err(|_| "the committer has ended")?;
            answer.recv().map_err(|_| "the committer has ended")?
        }
    }
}

fn fill(store: &FjallStore, rows: u64, values: &[Values]) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    for row in 0..rows {
        if let Some(values) = values.get((row % VARIANTS) as usize) {
            batch.put(Space::Items, item_key(row), values.item.clone());
            batch.put(Space::Index, index_key(row), values.item.clone());
        }
        if batch.len() >= 1_000 {
            store.commit(std::mem::take(&mut batch))?;
        }
    }
    store.commit(batch)
}

fn commit_groups(store: &FjallStore, waiting: &Receiver<Job>) {
    while let Ok(first) = waiting.recv() {
        let mut batch = Batch::new();
        let mut replies = Vec::with_capacity(GROUP_MAX);
        let mut next = Some(first);
        while let Some(job) = next {
            batch.put(Space::Items, item_key(job.row), job.values.item.clone());
            batch.put(Space::Index, index_key(job.row), job.values.item);
            batch.put(Space::Changes, change_key(job.sequence), job.values.change);
            replies.push(job.reply);
            next = if replies.len() < GROUP_MAX {
                waiting.try_recv().ok()
            } else {
                None
            };
        }
        let outcome = store.commit(batch).map_err(|error| error.to_string());
        for reply in replies {
            // A thread that does not wait any more has ended.
            let _ = reply.send(outcome.clone());
        }
    }
}

/// Runs an operation on many threads, for the warm-up and the measurement.
fn timed<O>(
    threads: usize,
    settings: &Settings,
    operation: impl Fn(usize) -> O,
) -> Result<Figures, BenchError>
where
    O: FnMut(&mut fastrand::Rng) -> Result<(), String> + Send,
{
    let begin = Instant::now() + settings.warm_up();
    let end = begin + settings.measured;
    let before = Clocks::read(None);
    let histograms = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|thread| {
                let operation = operation(thread);
                scope.spawn(move || repeat(operation, thread as u64, begin, end))
            })
            .collect();
        running
            .into_iter()
            .map(|thread| match thread.join() {
                Ok(histogram) => histogram.doing("the store failed"),
                Err(_) => Err(BenchError::new("a thread panicked")),
            })
            .collect::<Result<Vec<Histogram>, BenchError>>()
    })?;
    let mut measured = Measured {
        elapsed: settings.measured,
        ..Measured::default()
    };
    for histogram in &histograms {
        measured.latencies.add(histogram);
    }
    // Server and client are one process here; the times include the warm-up, so they are scaled.
    let whole = (settings.warm_up() + settings.measured).as_secs_f64();
    let share = settings.measured.as_secs_f64() / whole.max(1e-9);
    let used = Clocks::read(None).since(&before);
    let scaled = |time: Option<Duration>| time.map(|time| time.mul_f64(share));
    let mut figures = Figures::of(
        &measured,
        Clocks {
            server: None,
            generator: scaled(used.generator),
            all: scaled(used.all),
        },
    );
    figures.cpu = figures.generator_cpu.take();
    Ok(figures)
}

fn repeat(
    mut operation: impl FnMut(&mut fastrand::Rng) -> Result<(), String>,
    seed: u64,
    begin: Instant,
    end: Instant,
) -> Result<Histogram, String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut histogram = Histogram::default();
    let mut started = Instant::now();
    while started < end {
        operation(&mut random)?;
        let now = Instant::now();
        if started >= begin {
            histogram.record(now - started);
        }
        started = now;
    }
    Ok(histogram)
}

/// Keys of the same length and distribution as the database's own.
fn item_key(row: u64) -> Vec<u8> {
    spread_key(1, Field::Partition, Field::Sort, row)
}

fn index_key(row: u64) -> Vec<u8> {
    let mut key = spread_key(2, Field::IndexPartition, Field::IndexSort, row);
    key.extend_from_slice(&item_key(row));
    key
}

fn spread_key(table: u32, hash: Field, range: Field, row: u64) -> Vec<u8> {
    let hash = format!("{}{:010}", hash.prefix(), hash.of(row));
    let range = format!("{}{:010}", range.prefix(), range.of(row));
    let mut key = Vec::with_capacity(64);
    key.extend_from_slice(&table.to_be_bytes());
    key.extend_from_slice(&trestle_item::key::hash(hash.as_bytes()).to_be_bytes());
    key.extend_from_slice(hash.as_bytes());
    key.extend_from_slice(range.as_bytes());
    key
}

fn change_key(sequence: u64) -> Vec<u8> {
    let mut key = vec![0; 6];
    key.extend_from_slice(&sequence.to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_large_as_those_of_a_put() {
        let values = Values::of(1).unwrap();
        assert!((900..1_100).contains(&values.item.len()), "{}", values.item.len());
        assert_eq!(values.change.len(), 2 * values.item.len());
        assert!((35..70).contains(&item_key(123).len()));
    }
}
