//! The effect of the block size: reads of one row, of twenty neighbouring rows and of all, in the same
//! process, with a cache that holds all rows and with one that holds few.

use super::Run;
use super::embedded::{fill_with, kept, key, run_one};
use crate::Progress;
use crate::dataset::{COLLECTION, Field, TABLE};
use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;
use crate::report::AloneFigure;
use std::path::Path;
use std::time::{Duration, Instant};
use trestle_api::{GetItem, Query, Scan};
use trestle_embedded::{BlockSize, Durability, Embedded, Options, StoreSettings};

/// Enough rows that the small cache holds few of them.
const ROWS_MIN: u64 = 100_000;
const GETS: u64 = 20_000;
const QUERIES: u64 = 5_000;
const MIB: u64 = 1024 * 1024;
/// The name and the size of each cache.
const CACHES: [(&str, u64); 2] = [("rows in the cache", 512 * MIB), ("cache of 4 MiB", 4 * MIB)];
/// How long an idle store needs to merge its tables.
const REST: Duration = Duration::from_secs(10);

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    let rows = run.settings.rows.max(ROWS_MIN);
    let mut figures = Vec::new();
    for kib in BlockSize::CHOICES_KIB {
        let block_size = BlockSize::from_kib(kib).doing("cannot choose blocks")?;
        let data = run.directory.join(format!("blocks-{kib}"));
        progress.doing(&format!("blocks of {block_size}: loading"));
        let options = opened(block_size, 128 * MIB);
        let db = fill_with(&data, options, rows, false, &mut |_| ())?;
        std::thread::sleep(REST);
        drop(db);
        let bytes = size_of(&data).doing("cannot look at the files")?;
        let name = |what: &str| format!("blocks of {block_size}: {what}");
        figures.push(AloneFigure::new(name("files"), bytes as f64 / MIB as f64, "MiB"));
        for (cache, cache_bytes) in CACHES {
            progress.doing(&format!("blocks of {block_size}: reading, {cache}"));
            let db =
                Embedded::open(&data, opened(block_size, cache_bytes)).doing("cannot open a database")?;
            let read = Reads::of(&db, rows)?;
            progress.done(&format!("blocks of {block_size}, {cache}: {read}"));
            figures.extend(read.figures(|what| name(&format!("{cache}, {what}"))));
        }
    }
    Ok(figures)
}

fn opened(block_size: BlockSize, cache_bytes: u64) -> Options {
    let options = kept(Durability::Buffered);
    Options {
        store: StoreSettings {
            block_size: Some(block_size),
            cache_bytes,
            ..options.store
        },
        ..options
    }
}

/// The size of a directory, with everything in it.
fn size_of(directory: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let found = entry.metadata()?;
        bytes += match found.is_dir() {
            true => size_of(&entry.path())?,
            false => found.len(),
        };
    }
    Ok(bytes)
}

/// The results for one directory with one cache.
struct Reads {
    gets: Latencies,
    queries: Latencies,
    scan_ms: f64,
}

/// Latencies of one operation, and the blocks read from files for each.
struct Latencies {
    histogram: Histogram,
    blocks: f64,
}

impl Reads {
    fn of(db: &Embedded, rows: u64) -> Result<Self, BenchError> {
        // Fills a cache that is large enough, and opens files.
        scan(db)?;
        let mut random = fastrand::Rng::with_seed(1);
        let gets = Latencies::of(db, GETS, || get(db, random.u64(..rows)))?;
        let queries = Latencies::of(db, QUERIES, || query(db, random.u64(..rows / COLLECTION)))?;
        let began = Instant::now();
        scan(db)?;
        let scan_ms = began.elapsed().as_secs_f64() * 1_000.0;
        Ok(Reads {
            gets,
            queries,
            scan_ms,
        })
    }

    fn figures(&self, name: impl Fn(&str) -> String) -> Vec<AloneFigure> {
        let of = |what: &str, latencies: &Latencies| {
            let micros = |share| latencies.histogram.micros_at(share);
            [
                AloneFigure::new(name(&format!("{what}, p50")), micros(0.5), "µs"),
                AloneFigure::new(name(&format!("{what}, p99")), micros(0.99), "µs"),
                AloneFigure::new(name(&format!("{what}, blocks from files")), latencies.blocks, ""),
            ]
        };
        let mut figures = Vec::from(of("GetItem", &self.gets));
        figures.extend(of("Query of 20", &self.queries));
        figures.push(AloneFigure::new(name("Scan of all rows"), self.scan_ms, "ms"));
        figures
    }
}

impl std::fmt::Display for Reads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (gets, queries) = (&self.gets, &self.queries);
        let shown = |latencies: &Latencies| {
            let (p50, p99) = (
                latencies.histogram.micros_at(0.5),
                latencies.histogram.micros_at(0.99),
            );
            format!("{p50:.1} µs, p99 {p99:.1}, blocks {:.2}", latencies.blocks)
        };
        write!(
            f,
            "get {}; query {}; scan {:.0} ms",
            shown(gets),
            shown(queries),
            self.scan_ms
        )
    }
}

impl Latencies {
    fn of(
        db: &Embedded,
        times: u64,
        mut read: impl FnMut() -> Result<(), BenchError>,
    ) -> Result<Self, BenchError> {
        let mut histogram = Histogram::default();
        let before = db.storage_reads();
        for _ in 0..times {
            let began = Instant::now();
            read()?;
            histogram.record(began.elapsed());
        }
        let blocks = db.storage_reads().since(&before).total().blocks_from_disk;
        Ok(Latencies {
            histogram,
            blocks: blocks as f64 / times as f64,
        })
    }
}

fn get(db: &Embedded, row: u64) -> Result<(), BenchError> {
    let request = GetItem {
        table_name: TABLE.to_owned(),
        key: key(row),
        ..GetItem::default()
    };
    match run_one(db, request)?.item {
        Some(_) => Ok(()),
        None => Err(BenchError::new("a loaded item is missing")),
    }
}

fn query(db: &Embedded, customer: u64) -> Result<(), BenchError> {
    let partition = format!("{}{customer:010}", Field::Partition.prefix());
    let json = format!(
        r#"{{"TableName":"{TABLE}","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{{":p":{{"S":"{partition}"}}}}}}"#
    );
    let request: Query = serde_json::from_slice(json.as_bytes()).doing("cannot make a query")?;
    match run_one(db, request)?.items {
        Some(items) if items.len() as u64 == COLLECTION => Ok(()),
        _ => Err(BenchError::new("a query did not find twenty rows")),
    }
}

fn scan(db: &Embedded) -> Result<(), BenchError> {
    let mut start = None;
    loop {
        let request = Scan {
            table_name: TABLE.to_owned(),
            exclusive_start_key: start,
            ..Scan::default()
        };
        start = run_one(db, request)?.last_evaluated_key;
        if start.is_none() {
            return Ok(());
        }
    }
}
