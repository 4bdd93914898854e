//! GetItem in the same process: the cost for an application that uses Trestle as a library.

use super::Run;
use crate::Progress;
use crate::dataset::{self, Field, TABLE};
use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;
use crate::report::AloneFigure;
use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;
use trestle_api::{BatchWriteItem, CreateTable, GetItem, Operation, Request};
use trestle_embedded::{Durability, Embedded, Options, StoreSettings};
use trestle_item::{AttributeValue, Item};

/// Enough to fill caches and to see the 99th percentile.
const READS: u64 = 200_000;
const WARM_UP: u64 = 20_000;
/// Rows per batch while filling.
const BATCH: u64 = 25;

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    progress.doing("GetItem in process: loading");
    let data = run.directory.join("data");
    let db = fill(&data, run.settings.rows, true, &mut |_| ())?;
    progress.doing("GetItem in process: reading");
    let latencies = reads(&db, run.settings.rows)?;
    let (p50, p99) = (latencies.micros_at(0.5), latencies.micros_at(0.99));
    progress.done(&format!("GetItem in process: p50 {p50:.1} µs, p99 {p99:.1} µs"));
    Ok(vec![
        AloneFigure::new("GetItem in process, p50", p50, "µs"),
        AloneFigure::new("GetItem in process, p99", p99, "µs"),
    ])
}

fn reads(db: &Embedded, rows: u64) -> Result<Histogram, BenchError> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut latencies = Histogram::default();
    for turn in 0..WARM_UP + READS {
        let request = GetItem {
            table_name: TABLE.to_owned(),
            key: key(random.u64(..rows)),
            ..GetItem::default()
        };
        let began = Instant::now();
        let output = run_one(db, request)?;
        let took = began.elapsed();
        if output.item.is_none() {
            return Err(BenchError::new("a loaded item is missing"));
        }
        if turn >= WARM_UP {
            latencies.record(took);
        }
    }
    Ok(latencies)
}

/// The options for opening a directory with this durability.
pub(super) fn kept(durability: Durability) -> Options {
    Options {
        store: StoreSettings {
            durability,
            ..StoreSettings::default()
        },
        ..Options::default()
    }
}

/// Fills a directory through the library, which is faster than through HTTP. Without fsync, because nothing
/// has to survive here.
pub(super) fn fill(
    data: &Path,
    rows: u64,
    extras: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Embedded, BenchError> {
    fill_with(data, kept(Durability::Buffered), rows, extras, progress)
}

/// The same with the given options.
pub(super) fn fill_with(
    data: &Path,
    options: Options,
    rows: u64,
    extras: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<Embedded, BenchError> {
    let db = Embedded::open(data, options).doing("cannot open a database")?;
    let create: CreateTable = serde_json::from_slice(dataset::create_table(TABLE, extras, extras).as_bytes())
        .doing("cannot describe a table")?;
    run_one(&db, create)?;
    let batches = (0..rows).step_by(BATCH as usize).map(|first| {
        if first.is_multiple_of(100_000) {
            progress(first);
        }
        batch(first, rows.min(first + BATCH)).map(Operation::into_request)
    });
    load(&db, batches)?;
    Ok(db)
}

/// Executes writes, some concurrently, so that commits are groups; not all, because each holds its rows in
/// memory.
pub(super) fn load(
    db: &Embedded,
    writes: impl Iterator<Item = Result<Request, BenchError>>,
) -> Result<(), BenchError> {
    let mut waiting = VecDeque::new();
    for write in writes {
        waiting.push_back(db.start(write?));
        if waiting.len() > 32
            && let Some(oldest) = waiting.pop_front()
        {
            oldest.wait().doing("cannot load rows")?;
        }
    }
    for rest in waiting {
        rest.wait().doing("cannot load rows")?;
    }
    Ok(())
}

fn batch(first: u64, end: u64) -> Result<BatchWriteItem, BenchError> {
    let requests: Vec<String> = (first..end)
        .map(|row| format!(r#"{{"PutRequest":{{"Item":{}}}}}"#, dataset::item_json(row, row)))
        .collect();
    let json = format!(r#"{{"RequestItems":{{"{TABLE}":[{}]}}}}"#, requests.join(","));
    serde_json::from_slice(json.as_bytes()).doing("cannot make a batch")
}

pub(super) fn run_one<O: Operation>(db: &Embedded, operation: O) -> Result<O::Output, BenchError> {
    db.run(operation).doing(format!("{} failed", O::NAME))
}

pub(super) fn key(row: u64) -> Item {
    let mut key = Item::new();
    for field in [Field::Partition, Field::Sort] {
        let value = format!("{}{:010}", field.prefix(), field.of(row));
        key.insert(field.attribute(), AttributeValue::S(value));
    }
    key
}
