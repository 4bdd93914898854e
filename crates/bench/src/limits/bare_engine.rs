//! The storage engine without a database: threads hand the rows of a PutItem to one committer, which commits whatever
//! waits as one batch, with fsync. And gets, straight from the store.

use crate::dataset::{self, Field};
use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;
use crate::load::Measured;
use crate::report::Figures;
use crate::settings::Settings;
use crate::usage;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Instant;
use trestle_item::{Item, codec};
use trestle_store::{Batch, Bytes, FjallStore, Space, Store, StoreError};

/// As many as the database puts into one commit.
const GROUP_MAX: usize = 256;
const VARIANTS: u64 = 8;

/// A request: its row, and where to say that it is durable.
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
        let item: Item = serde_json::from_str(&json).doing("cannot make an item")?;
        let bytes = codec::encode(&item);
        Ok(Values {
            change: [bytes.as_slice(), bytes.as_slice()].concat().into(),
            item: bytes.into(),
        })
    }
}

/// Commits and gets per second from this many threads.
pub(crate) fn measure(
    data: &Path,
    threads: usize,
    settings: &Settings,
) -> Result<(Figures, Figures), BenchError> {
    let store = FjallStore::open(data, trestle_store::Settings::default()).doing("cannot open a store")?;
    let values: Vec<Values> = (0..VARIANTS).map(Values::of).collect::<Result<_, _>>()?;
    fill(&store, settings.rows, &values).doing("cannot fill a store")?;
    let commit = commits(&store, threads, settings, &values)?;
    let get = timed(threads, settings, |_| {
        let store = &store;
        move |random: &mut fastrand::Rng| {
            let key = item_key(random.u64(..settings.rows));
            store
                .get(Space::Items, &key)
                .map(|_| ())
                .map_err(|error| error.to_string())
        }
    })?;
    Ok((commit, get))
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

fn commits(
    store: &FjallStore,
    threads: usize,
    settings: &Settings,
    values: &[Values],
) -> Result<Figures, BenchError> {
    let (jobs, waiting) = channel::<Job>();
    thread::scope(|scope| {
        scope.spawn(move || commit_groups(store, &waiting));
        let figures = timed(threads, settings, |thread| {
            let jobs: Sender<Job> = jobs.clone();
            let (reply, answer) = sync_channel(1);
            let mut sequence = (thread as u64) << 40;
            move |random: &mut fastrand::Rng| {
                sequence += 1;
                let values = values.get(random.usize(..values.len().max(1)));
                if let Some(values) = values.cloned() {
                    let row = random.u64(..settings.rows);
                    let reply = reply.clone();
                    // A committer that is gone answers nothing, which the next line reports.
                    let _ = jobs.send(Job {
                        row,
                        sequence,
                        values,
                        reply,
                    });
                }
                answer.recv().unwrap_or(Ok(()))
            }
        });
        // The committer ends when nobody can send any more.
        drop(jobs);
        figures
    })
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
            // A thread that has stopped waiting has stopped for good.
            let _ = reply.send(outcome.clone());
        }
    }
}

/// Runs an operation on many threads, for the time of warming up and of measuring.
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
    let cpu_before = usage::own_cpu();
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
    // Includes the warm-up, so it is scaled to the time that is measured.
    let whole = (settings.warm_up() + settings.measured).as_secs_f64();
    let share = settings.measured.as_secs_f64() / whole.max(1e-9);
    let cpu = usage::own_cpu()
        .zip(cpu_before)
        .and_then(|(after, before)| after.checked_sub(before));
    Ok(Figures::of(&measured, cpu.map(|cpu| cpu.mul_f64(share)), None))
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

/// Keys as long as the database's own, and as spread.
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
