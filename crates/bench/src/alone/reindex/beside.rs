//! Puts of clients without a reindex and during one that yields, in turn.

use super::super::routes::put;
use super::{Figures, Reindexing};
use crate::compare::settle;
use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trestle_embedded::Embedded;

/// Few, as in the other measurements of the library, because there are few processors.
const CLIENTS: u64 = 4;
/// How often both are measured; the median of the ratios counts.
const TURNS: usize = 5;
/// Time to merge what was written, before the next measurement.
const SETTLE_WITHIN: Duration = Duration::from_secs(10);
/// The time between two checks whether it is over.
const GLANCE: Duration = Duration::from_millis(5);
/// Rows of a page: few, because rows of unfinished pages at the end of a turn are not counted.
const PAGE_ROWS: u32 = 128;
/// Greater than all versions used here.
pub(super) const VERSIONS_MAX: u64 = 1_000_000;

pub(super) fn measure(
    reindexing: &Reindexing,
    rows: u64,
    measured: Duration,
    figures: &mut Figures<'_>,
) -> Result<(), BenchError> {
    let mut turns = Vec::new();
    let mut version = 0;
    let (mut touched, mut seconds) = (0, 0.0);
    // The first puts of a new process would only be measured without a reindex.
    puts(&reindexing.db, rows, measured / 3)?;
    for turn in 1..=TURNS {
        figures.doing(&format!("puts without a reindex, turn {turn}"));
        settle(std::process::id(), SETTLE_WITHIN);
        let without = puts(&reindexing.db, rows, measured)?;
        figures.doing(&format!("puts beside a reindex, turn {turn}"));
        settle(std::process::id(), SETTLE_WITHIN);
        let began = Instant::now();
        let (with, done) = beside(reindexing, rows, measured, &mut version)?;
        touched += done;
        seconds += began.elapsed().as_secs_f64();
        turns.push(Turn { without, with });
    }
    report(&turns, figures);
    figures.add(
        "rows touched per second beside the puts",
        touched as f64 / f64::max(seconds, 1e-9),
        "",
    );
    Ok(())
}

/// Latencies of puts without a reindex, and during one.
struct Turn {
    without: Histogram,
    with: Histogram,
}

fn report(turns: &[Turn], figures: &mut Figures<'_>) {
    let micros = |seen: &dyn Fn(&Turn) -> f64| median(turns.iter().map(seen).collect());
    let p99 = |turn: &Turn| turn.with.micros_at(0.99) / turn.without.micros_at(0.99).max(1e-9);
    let ratios: Vec<f64> = turns.iter().map(p99).collect();
    for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
        figures.add(
            format!("put {name} without a reindex"),
            micros(&|turn| turn.without.micros_at(share)),
            "µs",
        );
        figures.add(
            format!("put {name} beside a reindex that yields"),
            micros(&|turn| turn.with.micros_at(share)),
            "µs",
        );
    }
    figures.add(
        "put p99 beside a reindex, of that without: median of the turns",
        median(ratios.clone()),
        "×",
    );
    let worst = ratios.into_iter().fold(0.0, f64::max);
    figures.add("the same, highest of the turns", worst, "×");
    let puts = |seen: &dyn Fn(&Turn) -> u64| turns.iter().map(seen).sum::<u64>() as f64;
    let kept = puts(&|turn| turn.with.count()) / puts(&|turn| turn.without.count()).max(1.0);
    figures.add(
        "puts per second beside a reindex, of those without",
        kept * 100.0,
        "%",
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Latencies of puts for a while during consecutive reindexes, and how many rows these touched.
fn beside(
    reindexing: &Reindexing,
    rows: u64,
    measured: Duration,
    version: &mut u64,
) -> Result<(Histogram, u64), BenchError> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reindexes = scope.spawn(|| {
            let mut touched = 0;
            while !over.load(Ordering::Relaxed) {
                *version += 1;
                let touch = reindexing.touch_all(*version, PAGE_ROWS, until(&over));
                touched += reindexing.runtime.block_on(touch)?;
            }
            Ok::<u64, BenchError>(touched)
        });
        let latencies = puts(&reindexing.db, rows, measured);
        over.store(true, Ordering::Relaxed);
        let touched = reindexes
            .join()
            .map_err(|_| BenchError::new("a reindex panicked"))??;
        Ok((latencies?, touched))
    })
}

async fn until(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        tokio::time::sleep(GLANCE).await;
    }
}

/// Latencies of puts of all clients, each sending one put after the other.
fn puts(db: &Embedded, rows: u64, measured: Duration) -> Result<Histogram, BenchError> {
    let over = AtomicBool::new(false);
    let client = |seed: u64| -> Result<Histogram, BenchError> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut latencies = Histogram::default();
        while !over.load(Ordering::Relaxed) {
            let request = put(random.u64(..rows), random.u64(..));
            let began = Instant::now();
            db.start(request).wait().doing("a put failed")?;
            latencies.record(began.elapsed());
        }
        Ok(latencies)
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|seed| scope.spawn(move || client(seed)))
            .collect();
        std::thread::sleep(measured);
        over.store(true, Ordering::Relaxed);
        let mut all = Histogram::default();
        for client in clients {
            let seen = client
                .join()
                .map_err(|_| BenchError::new("a client panicked"))??;
            all.add(&seen);
        }
        Ok(all)
    })
}
