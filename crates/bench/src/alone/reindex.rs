//! The cost of a reindex for live traffic, and its speed: puts of clients without a reindex and during one
//! that yields, in turn; rows touched per second without and with clients, and by a serial client; memory of
//! the command. On disk with fsync.

mod beside;
mod command;
mod serial;

use super::routes::{TABLE, item, table};
use super::{Run, embedded};
use crate::error::{BenchError, Doing};
use crate::report::AloneFigure;
use crate::{Progress, thousands};
use std::path::Path;
use std::time::Instant;
use tokio::runtime::Runtime;
use trestle_api::{BatchWriteItem, PutRequest, Request, WriteRequest};
use trestle_embedded::{Durability, Embedded};
use trestle_reindex::{ReindexDestination, StartReindex};

/// Rows that are written in one request.
const BATCH: u64 = 25;

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    let rows = run.settings.reindex_rows.max(BATCH);
    let data = run.directory.join("data");
    progress.doing(&format!("reindex: loading {} rows", thousands(rows as f64)));
    fill(&data, rows)?;
    let mut figures = Figures {
        all: Vec::new(),
        progress,
    };
    let reindexing = Reindexing::open(&data)?;
    beside::measure(&reindexing, rows, run.settings.measured, &mut figures)?;
    let alone = alone(&reindexing, &mut figures)?;
    drop(reindexing);
    command::measure(run, &data, &mut figures)?;
    serial::measure(run, &data, alone, &mut figures)?;
    Ok(figures.all)
}

/// The figures, each shown as soon as it is known.
struct Figures<'a> {
    all: Vec<AloneFigure>,
    progress: &'a mut dyn Progress,
}

impl Figures<'_> {
    fn doing(&mut self, what: &str) {
        self.progress.doing(&format!("reindex: {what}"));
    }

    fn add(&mut self, name: impl Into<String>, value: f64, unit: &'static str) {
        let name = name.into();
        // Ratios are small numbers whose decimal places matter.
        let shown = match unit {
            "×" => format!("{value:.2}"),
            _ => thousands(value),
        };
        self.progress.done(format!("{name}: {shown} {unit}").trim_end());
        self.all.push(AloneFigure::new(name, value, unit));
    }
}

/// Rows of a table with a stream. Without fsync, which is only for the measurements.
fn fill(data: &Path, rows: u64) -> Result<(), BenchError> {
    let db = Embedded::open(data, embedded::kept(Durability::Buffered)).doing("cannot open a database")?;
    db.run(table()).doing("cannot create a table")?;
    let batches = (0..rows)
        .step_by(BATCH as usize)
        .map(|first| Ok(batch(first..rows.min(first + BATCH))));
    embedded::load(&db, batches)
}

fn batch(rows: std::ops::Range<u64>) -> Request {
    let write = |row| WriteRequest {
        put_request: Some(PutRequest { item: item(row, 0) }),
        ..WriteRequest::default()
    };
    Request::from(BatchWriteItem {
        request_items: [(TABLE.to_owned(), rows.map(write).collect())].into(),
        ..BatchWriteItem::default()
    })
}

/// A database whose rows are touched with one version after the other.
struct Reindexing {
    db: Embedded,
    runtime: Runtime,
}

impl Reindexing {
    fn open(data: &Path) -> Result<Self, BenchError> {
        Ok(Self {
            db: Embedded::open(data, embedded::kept(Durability::default()))
                .doing("cannot open a database")?,
            runtime: Runtime::new().doing("cannot start threads")?,
        })
    }

    /// Touches all rows with a version, unless stopped; returns how many were touched on finished pages.
    async fn touch_all(
        &self,
        version: u64,
        page_rows: u32,
        is_over: impl Future<Output = ()>,
    ) -> Result<u64, BenchError> {
        let reindexer = self.db.reindexer();
        let name = format!("to-{version}");
        let asked = StartReindex {
            name: Some(name.clone()),
            to: ReindexDestination::Stream {
                attribute: None,
                version: Some(version),
            },
            // Nothing reads the stream: only the reindex is measured.
            force: true,
            page_rows,
            ..StartReindex::touch(TABLE)
        };
        reindexer.start(asked).await.doing("cannot start a reindex")?;
        tokio::select! {
            worked = reindexer.work(&name) => worked.map(drop).doing("a reindex failed")?,
            () = is_over => reindexer.cancel(&name).await.map(drop).doing("cannot cancel a reindex")?,
        }
        let status = reindexer.status(&name).await.doing("cannot look at a reindex")?;
        Ok(status.counts.done)
    }
}

/// Rows touched per second while nothing else happens.
fn alone(reindexing: &Reindexing, figures: &mut Figures<'_>) -> Result<f64, BenchError> {
    figures.doing("alone");
    let began = Instant::now();
    let all = reindexing.touch_all(
        beside::VERSIONS_MAX,
        StartReindex::PAGE_ROWS,
        std::future::pending(),
    );
    let touched = reindexing.runtime.block_on(all)?;
    let rate = touched as f64 / began.elapsed().as_secs_f64().max(1e-9);
    figures.add("rows touched per second, alone", rate, "");
    Ok(rate)
}
