//! The speed of a backfill to a handler in the same process: on an idle database, and while clients write.

use super::Run;
use super::routes::{DataDirectory, PATIENCE, Routed, TABLE, item, put};
use crate::error::{BenchError, Doing};
use crate::report::AloneFigure;
use crate::{Progress, thousands};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trestle_api::{BatchWriteItem, PutRequest, WriteRequest};
use trestle_events::BackfillState;

/// Rows of the table.
const ROWS: u64 = 100_000;
/// Rows that are written in one request.
const BATCH: usize = 25;
/// The numbers of concurrent writers, in the order of the figures.
const WRITERS: [u64; 2] = [0, 16];

pub(super) fn measure(
    run: &Run<'_>,
    on_disk: bool,
    place: &str,
    progress: &mut dyn Progress,
) -> Result<Vec<AloneFigure>, BenchError> {
    let mut figures = Vec::new();
    for writers in WRITERS {
        progress.doing(&format!("routes {place}: backfill, {writers} writers"));
        let directory = DataDirectory::new(run, on_disk)?;
        let routed = Routed::start(&directory, 1)?;
        fill(&routed)?;
        let (rate, written) = backfill(&routed, writers)?;
        progress.done(&format!(
            "backfill {place}: {} rows per second to a handler, {} writes per second of {writers} writers meanwhile",
            thousands(rate),
            thousands(written)
        ));
        let while_writing = if writers > 0 { ", while 16 write" } else { "" };
        figures.push(AloneFigure::new(
            format!("rows per second of a backfill {place}{while_writing}"),
            rate,
            "",
        ));
        routed.runtime.block_on(routed.router.stop());
    }
    Ok(figures)
}

/// Writes all rows, and waits until the route has received them as changes.
fn fill(routed: &Routed) -> Result<(), BenchError> {
    let all: Vec<u64> = (0..ROWS).collect();
    let batch = |rows: &[u64]| BatchWriteItem {
        request_items: [(TABLE.to_owned(), rows.iter().map(|row| write(*row)).collect())].into(),
        ..BatchWriteItem::default()
    };
    // Several at a time, so that they share commits.
    for some in all.chunks(BATCH * 64) {
        let started: Vec<_> = some
            .chunks(BATCH)
            .map(|rows| routed.db.start(batch(rows).into()))
            .collect();
        for write in started {
            write.wait().doing("a write failed")?;
        }
    }
    routed.catch_up(ROWS).map(drop)
}

fn write(row: u64) -> WriteRequest {
    WriteRequest {
        put_request: Some(PutRequest { item: item(row, 0) }),
        ..WriteRequest::default()
    }
}

/// Rows per second until the backfill is done, and writes per second meanwhile.
fn backfill(routed: &Routed, writers: u64) -> Result<(f64, f64), BenchError> {
    let (ends, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let took = std::thread::scope(|scope| {
        for writer in 0..writers {
            let (db, ends, written) = (&routed.db, &ends, &written);
            scope.spawn(move || {
                let rows = (writer..ROWS)
                    .step_by(WRITERS.iter().sum::<u64>() as usize)
                    .cycle();
                for (version, row) in (1..).zip(rows) {
                    if ends.load(Ordering::Acquire) || db.start(put(row, version)).wait().is_err() {
                        return;
                    }
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let took = until_done(routed);
        ends.store(true, Ordering::Release);
        took
    })?;
    let seconds = took.as_secs_f64().max(1e-9);
    Ok((
        ROWS as f64 / seconds,
        written.load(Ordering::Relaxed) as f64 / seconds,
    ))
}

fn until_done(routed: &Routed) -> Result<Duration, BenchError> {
    let began = Instant::now();
    let backfill = routed.router.backfill("r0", None);
    routed
        .runtime
        .block_on(backfill)
        .doing("a backfill cannot begin")?;
    loop {
        let status = routed.router.status();
        let backfill = status.first().and_then(|route| route.backfill.as_ref());
        if backfill.is_some_and(|backfill| backfill.state == BackfillState::Done) {
            return Ok(began.elapsed());
        }
        if began.elapsed() > PATIENCE {
            return Err(BenchError::new("the backfill does not end"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
