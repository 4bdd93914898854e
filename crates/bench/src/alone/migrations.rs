//! The cost of a migration while it runs: the same reads and writes before it, during double reads, during
//! the sweep, and after all rows have moved; a scan of everything; and the sweep itself. In one process, on
//! disk with fsync.

mod clients;
mod orders;

use super::{Run, embedded};
use crate::compare::settle;
use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;
use crate::report::{AloneFigure, Stage};
use crate::settings::Settings;
use crate::{Progress, thousands};
use clients::{Act, work};
use orders::Layout;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trestle_api::Scan;
use trestle_binding::{MigrationState, MigrationStatus, Rate};
use trestle_embedded::{ApplyOptions, StartOptions, Unwatched};
use trestle_embedded::{Background, Durability, Embedded, Options};

/// Time to merge what was written, before the next measurement.
const SETTLE_WITHIN: Duration = Duration::from_secs(10);

pub(super) fn measure(
    run: &Run<'_>,
    progress: &mut dyn Progress,
) -> Result<(Vec<AloneFigure>, Vec<Stage>), BenchError> {
    let rows = Settings::whole_rows(run.settings.migration_rows);
    progress.doing(&format!("migrations: loading {} rows", thousands(rows as f64)));
    let data = run.directory.join("data");
    fill(&data, rows)?;
    let db = open(&data, Durability::default())?;
    let mut course = Course {
        db,
        rows,
        measured: run.settings.measured,
        figures: Vec::new(),
        stages: Vec::new(),
        progress,
    };
    course.run()?;
    Ok((course.figures, course.stages))
}

/// Rows in the former layout. Without fsync, which is only for the measurements.
fn fill(data: &Path, rows: u64) -> Result<(), BenchError> {
    let db = open(data, Durability::Buffered)?;
    db.models()
        .apply(&Layout::Former.text(), ApplyOptions::default(), &mut Unwatched)
        .doing("cannot apply a model")?;
    embedded::load(&db, orders::batches(rows).map(Ok))
}

/// Opens the database such that only the measurement moves rows.
fn open(data: &Path, durability: Durability) -> Result<Embedded, BenchError> {
    let options = Options {
        background: Background::Tables,
        ..embedded::kept(durability)
    };
    Embedded::open(data, options).doing("cannot open a database")
}

/// A migration from beginning to end, with measurements.
struct Course<'a> {
    db: Embedded,
    rows: u64,
    measured: Duration,
    figures: Vec<AloneFigure>,
    stages: Vec<Stage>,
    progress: &'a mut dyn Progress,
}

/// A scan of the whole table.
struct Scanned {
    all: Duration,
    slowest_page: Duration,
}

impl Course<'_> {
    fn run(&mut self) -> Result<(), BenchError> {
        let before = self.before()?;
        self.start()?;
        self.stage("both places read", Layout::Present)?;
        self.swept("swept at the usual rate", Rate::default())?;
        self.sweep_alone()?;
        self.stage("half of the rows moved", Layout::Present)?;
        let half = self.scan()?;
        self.swept("swept, no limit", Rate::UNLIMITED)?;
        self.finish_sweep()?;
        let after = self.after()?;
        self.scans([before, half, after]);
        Ok(())
    }

    fn before(&mut self) -> Result<Scanned, BenchError> {
        let scanned = self.scan()?;
        self.warm_up()?;
        self.stage("before", Layout::Former)?;
        Ok(scanned)
    }

    /// Reads before measuring, because the first reads of a new process would only be measured before the
    /// migration.
    fn warm_up(&self) -> Result<(), BenchError> {
        let began = Instant::now();
        let is_over = || began.elapsed() >= self.measured / 3;
        work(&self.db, Layout::Former, self.rows, is_over).map(drop)
    }

    /// Puts the new layout into effect, without a sweep.
    fn start(&mut self) -> Result<(), BenchError> {
        let options = StartOptions {
            paused: true,
            ..StartOptions::default()
        };
        let began = Instant::now();
        let plan = self
            .db
            .models()
            .start_migration(&Layout::Present.text(), options, &mut Unwatched)
            .doing("cannot start a migration")?;
        if plan.is_refused() {
            return Err(BenchError::new(format!("the migration is refused: {plan}")));
        }
        self.figure(
            "until the new layout is in effect",
            began.elapsed().as_secs_f64() * 1e3,
            "ms",
        );
        Ok(())
    }

    /// Measures clients while rows are swept at this rate.
    fn swept(&mut self, name: &'static str, rate: Rate) -> Result<(), BenchError> {
        settle(std::process::id(), SETTLE_WITHIN);
        let before = self.resume(rate)?;
        let began = Instant::now();
        let (db, over) = (self.db.clone(), AtomicBool::new(false));
        let is_at_rest = || {
            let status = db.models().migration_status(None);
            status.is_ok_and(|status| status.is_at_rest())
        };
        let is_swept = || {
            let mut goes_on = |_: &MigrationStatus| !over.load(Ordering::Relaxed);
            db.models().sweep(None, &mut goes_on)
        };
        let took = std::thread::scope(|scope| {
            let sweep = scope.spawn(is_swept);
            let worked = self.clients(name, Layout::Present, &is_at_rest);
            let took = began.elapsed();
            over.store(true, Ordering::Relaxed);
            let swept = sweep.join().map_err(|_| BenchError::new("the sweep panicked"))?;
            swept.doing("cannot sweep")?;
            worked.map(|_| took)
        })?;
        let after = self.status()?;
        self.sweep_rate(
            &format!("rows moved per second while clients work, {name}"),
            &before,
            &after,
            took,
        );
        Ok(())
    }

    /// Sweeps half of the table while nothing else runs.
    fn sweep_alone(&mut self) -> Result<(), BenchError> {
        self.progress.doing("migrations: sweeping half of the rows");
        settle(std::process::id(), SETTLE_WITHIN);
        let before = self.resume(Rate::UNLIMITED)?;
        let began = Instant::now();
        let after = self
            .db
            .models()
            .sweep(None, &mut |status| status.done < 0.5)
            .doing("cannot sweep")?;
        self.sweep_rate(
            "rows moved per second without other clients, no limit",
            &before,
            &after,
            began.elapsed(),
        );
        Ok(())
    }

    fn finish_sweep(&mut self) -> Result<(), BenchError> {
        self.progress.doing("migrations: sweeping the rest");
        let status = self
            .db
            .models()
            .sweep(None, &mut |_| true)
            .doing("cannot sweep")?;
        match status.state {
            MigrationState::Verified => Ok(()),
            state => Err(BenchError::new(format!("the migration ended {state}: {status}"))),
        }
    }

    /// Measures after the move, when all reads use one place again.
    fn after(&mut self) -> Result<Scanned, BenchError> {
        let before = self.status()?.double_reads;
        self.stage("all moved", Layout::Present)?;
        let scanned = self.scan()?;
        match self.status()?.double_reads - before {
            0 => {
                self.figure("reads of both places after all have moved", 0.0, "");
                Ok(scanned)
            }
            reads => Err(BenchError::new(format!(
                "{reads} reads looked into former places after all rows had moved"
            ))),
        }
    }

    fn resume(&self, rate: Rate) -> Result<MigrationStatus, BenchError> {
        let resumed = self.db.models().resume_migration(None, Some(rate));
        resumed.doing("cannot go on with a migration")
    }

    fn status(&self) -> Result<MigrationStatus, BenchError> {
        self.db
            .models()
            .migration_status(None)
            .doing("cannot see a migration")
    }

    fn sweep_rate(&mut self, name: &str, before: &MigrationStatus, after: &MigrationStatus, took: Duration) {
        let moved = after.rows_moved.saturating_sub(before.rows_moved);
        self.figure(name, moved as f64 / took.as_secs_f64().max(1e-9), "");
    }

    /// Waits until everything is idle, then runs clients for a while.
    fn stage(&mut self, name: &'static str, layout: Layout) -> Result<(), BenchError> {
        settle(std::process::id(), SETTLE_WITHIN);
        self.clients(name, layout, &|| false)
    }

    /// Runs clients for a while, or until `is_over`.
    fn clients(
        &mut self,
        name: &'static str,
        layout: Layout,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), BenchError> {
        self.progress.doing(&format!("migrations: {name}"));
        let began = Instant::now();
        let is_over = || began.elapsed() >= self.measured || is_over();
        let latencies = work(&self.db, layout, self.rows, is_over)?;
        for (act, seen) in Act::ALL.iter().zip(&latencies) {
            self.note(name, *act, seen);
        }
        Ok(())
    }

    fn note(&mut self, name: &'static str, act: Act, seen: &Histogram) {
        let stage = Stage {
            stage: name,
            operation: act.to_string(),
            operations: seen.count(),
            p50_us: seen.micros_at(0.5),
            p99_us: seen.micros_at(0.99),
            slowest_us: seen.micros_at(1.0),
        };
        self.progress.done(&format!(
            "{name}: {act}: p50 {:.1} µs, p99 {:.1} µs, slowest {:.0} µs of {}",
            stage.p50_us,
            stage.p99_us,
            stage.slowest_us,
            thousands(stage.operations as f64)
        ));
        self.stages.push(stage);
    }

    /// Reads the whole table, page after page.
    fn scan(&mut self) -> Result<Scanned, BenchError> {
        self.progress.doing("migrations: a scan");
        settle(std::process::id(), SETTLE_WITHIN);
        let began = Instant::now();
        let (mut found, mut bookmark, mut slowest_page) = (0, None, Duration::ZERO);
        loop {
            let page_began = Instant::now();
            let request = Scan {
                table_name: orders::TABLE.to_owned(),
                exclusive_start_key: bookmark,
                ..Scan::default()
            };
            let page = self.db.run(request).doing("a scan failed")?;
            slowest_page = slowest_page.max(page_began.elapsed());
            found += u64::from(page.count);
            bookmark = page.last_evaluated_key;
            if bookmark.is_none() {
                break;
            }
        }
        if found != self.rows {
            return Err(BenchError::new(format!(
                "a scan found {found} rows, and there are {}",
                self.rows
            )));
        }
        Ok(Scanned {
            all: began.elapsed(),
            slowest_page,
        })
    }

    fn scans(&mut self, scans: [Scanned; 3]) {
        let names = [
            "before",
            "when half of the rows have moved",
            "when all have moved",
        ];
        for (name, scanned) in names.into_iter().zip(scans) {
            let (all, page) = (scanned.all.as_secs_f64(), scanned.slowest_page.as_secs_f64());
            self.figure(&format!("scan of all rows {name}"), all * 1e3, "ms");
            self.figure(&format!("slowest page of a scan {name}"), page * 1e3, "ms");
        }
    }

    fn figure(&mut self, name: &str, value: f64, unit: &'static str) {
        let shown = format!("{name}: {} {unit}", thousands(value));
        self.progress.done(shown.trim_end());
        self.figures.push(AloneFigure::new(name, value, unit));
    }
}
