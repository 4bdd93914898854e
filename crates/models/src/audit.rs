//! A model's audit over a view of the database: reads every row once, on all cores, and again where something
//! is wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use trestle_api::Error;
use trestle_binding::clearing::Leftovers;
use trestle_env::Timestamp;
use trestle_hook::{HostView, Met};
use trestle_hook::{RowQuery, Rows};
use trestle_item::Item;
use trestle_model::audit::{Audit, AuditOptions, Findings, Inquiry, Survey};
use trestle_model::{COUNTS_TABLE, Model};

/// The number of rows between progress reports.
const INTERVAL: Duration = Duration::from_millis(100);
/// Tables with fewer rows are walked on one thread.
const ROWS_FOR_THREADS: u64 = 10_000;
/// The number of parts of a table: enough that the threads finish at about the same time.
const PARTS: u32 = 64;
/// More threads than this would only wait for the disk.
const THREADS_MAX: usize = 8;

/// Receives the number of rows read. The audit ends with its error.
type Progress<'p> = dyn FnMut(u64) -> Result<(), Error> + 'p;

/// The result for one model's rows.
#[derive(Debug, Default)]
pub(crate) struct Audited {
    /// Rows looked at.
    pub(crate) rows: u64,
    /// Rows that a migration has still to move.
    pub(crate) to_move: u64,
    /// Rows of effects that were dropped.
    pub(crate) to_clear: u64,
    /// The findings.
    pub(crate) findings: Findings,
}

/// Audits all rows of a model. `progress` receives the number of rows read, and stops the audit by failing.
pub(crate) fn audit(
    view: &dyn HostView,
    model: &Model,
    now: Timestamp,
    options: AuditOptions,
    leftovers: Vec<Leftovers>,
    progress: &mut Progress<'_>,
) -> Result<Audited, Error> {
    let audit = Audit::new(model, now, options);
    let walk = AuditWalk::of(view, model, leftovers);
    let survey = walk.pass(&|| audit.survey(), progress)?.finish();
    let mut audited = Audited {
        rows: survey.rows,
        to_move: walk.to_move.load(Ordering::Relaxed),
        to_clear: walk.to_clear.load(Ordering::Relaxed),
        findings: survey.findings,
    };
    for suspects in &survey.suspects {
        let inquiry = walk.pass(&|| audit.inquiry(suspects), progress)?;
        audited.findings.merge(inquiry.finish());
    }
    Ok(audited)
}

/// The keys of heads that stand for an older row than they could.
pub(crate) fn heads_set_back(
    view: &dyn HostView,
    model: &Model,
    now: Timestamp,
) -> Result<Vec<Vec<u8>>, Error> {
    let options = AuditOptions {
        fill: true,
        ..AuditOptions::default()
    };
    let audit = Audit::new(model, now, options);
    let surveyed = AuditWalk::of(view, model, Vec::new())
        .pass(&|| audit.survey(), &mut |_| Ok(()))?
        .finish();
    let heads = surveyed.findings.kept.iter();
    let heads = heads.filter(|finding| finding.kind == trestle_model::audit::FindingKind::HeadBehind);
    Ok(heads.map(Audit::head_key).collect())
}

/// One pass over every row, by several threads.
trait Pass: Send {
    fn look(&mut self, table: &str, row: &Item, rows: &ViewRows<'_>) -> Result<(), Error>;
    fn merge(&mut self, other: Self);
}

impl Pass for Survey<'_> {
    fn look(&mut self, table: &str, row: &Item, rows: &ViewRows<'_>) -> Result<(), Error> {
        Survey::look(self, table, row, rows)
    }

    fn merge(&mut self, other: Self) {
        Survey::merge(self, other);
    }
}

impl Pass for Inquiry<'_> {
    fn look(&mut self, table: &str, row: &Item, rows: &ViewRows<'_>) -> Result<(), Error> {
        Inquiry::look(self, table, row, rows)
    }

    fn merge(&mut self, other: Self) {
        Inquiry::merge(self, other);
    }
}

/// The rows of a model's tables, in parts.
struct AuditWalk<'v> {
    view: &'v dyn HostView,
    model: &'v Model,
    leftovers: Vec<Leftovers>,
    parts: Vec<(String, (u32, u32))>,
    threads: usize,
    to_move: AtomicU64,
    to_clear: AtomicU64,
}

/// What the threads of a pass share.
#[derive(Default)]
struct PassState {
    /// The next part.
    next: AtomicUsize,
    rows: AtomicU64,
    is_stopped: AtomicBool,
}

impl PassState {
    fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    fn count_row(&self) -> Result<(), Error> {
        self.rows.fetch_add(1, Ordering::Relaxed);
        match self.is_stopped.load(Ordering::Relaxed) {
            true => Err(Error::internal("the audit was stopped")),
            false => Ok(()),
        }
    }
}

impl<'v> AuditWalk<'v> {
    fn of(view: &'v dyn HostView, model: &'v Model, leftovers: Vec<Leftovers>) -> Self {
        let tables = model.tables().iter().map(trestle_model::Table::table_name);
        // A part of a model's count may be an orphan count.
        let tables = tables.chain([COUNTS_TABLE]);
        let tables: Vec<&str> = tables.filter(|table| view.has_table(table)).collect();
        let mut parts = Vec::new();
        for table in &tables {
            let count = if view.row_count(table) < ROWS_FOR_THREADS {
                1
            } else {
                PARTS
            };
            parts.extend((0..count).map(|part| ((*table).to_owned(), (part, count))));
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        AuditWalk {
            view,
            model,
            leftovers,
            threads: if parts.len() > tables.len() {
                cores.clamp(1, THREADS_MAX)
            } else {
                1
            },
            parts,
            to_move: AtomicU64::new(0),
            to_clear: AtomicU64::new(0),
        }
    }

    fn pass<P: Pass>(&self, make: &(dyn Fn() -> P + Sync), progress: &mut Progress<'_>) -> Result<P, Error> {
        self.to_move.store(0, Ordering::Relaxed);
        self.to_clear.store(0, Ordering::Relaxed);
        let state = PassState::default();
        if self.threads == 1 {
            let mut pass = make();
            self.work(&mut pass, &state)?;
            progress(state.rows())?;
            return Ok(pass);
        }
        thread::scope(|scope| {
            let (done, is_done) = channel::<()>();
            let workers: Vec<_> = (0..self.threads)
                .map(|_| {
                    let (state, done) = (&state, done.clone());
                    scope.spawn(move || {
                        let mut pass = make();
                        let worked = self.work(&mut pass, state);
                        drop(done);
                        worked.map(|()| pass)
                    })
                })
                .collect();
            drop(done);
            while is_done.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if let Err(stopped) = progress(state.rows()) {
                    state.is_stopped.store(true, Ordering::Relaxed);
                    return Err(stopped);
                }
            }
            progress(state.rows())?;
            let mut all = make();
            for worker in workers {
                let pass = worker
                    .join()
                    .map_err(|_| Error::internal("an audit's thread failed"))?;
                all.merge(pass?);
            }
            Ok(all)
        })
    }

    fn is_left_behind(&self, table: &str, row: &Item) -> bool {
        let mut leftovers = self.leftovers.iter();
        leftovers.any(|leftovers| leftovers.has(self.model, table, row))
    }

    /// Takes parts until none is left, or the pass is stopped.
    fn work<P: Pass>(&self, pass: &mut P, state: &PassState) -> Result<(), Error> {
        let source = ViewRows(self.view);
        while let Some((table, part)) = self.parts.get(state.next.fetch_add(1, Ordering::Relaxed)) {
            self.view.walk(table, *part, &mut |met| {
                state.count_row()?;
                match met {
                    Met::Row(row) if self.is_left_behind(table, &row) => {
                        self.to_clear.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    }
                    Met::Row(row) => pass.look(table, &row, &source),
                    Met::ToMove(row) => {
                        self.to_move.fetch_add(1, Ordering::Relaxed);
                        pass.look(table, &row, &source)
                    }
                    Met::Stuck(..) => {
                        self.to_move.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    }
                    // Reported when storage is verified.
                    Met::Unreadable => Ok(()),
                }
            })?;
        }
        Ok(())
    }
}

/// The rows of a view, for the model.
struct ViewRows<'v>(&'v dyn HostView);

impl Rows for ViewRows<'_> {
    fn get(&self, table_name: &str, key: &Item) -> Result<Option<Arc<Item>>, Error> {
        if !self.0.has_table(table_name) {
            return Ok(None);
        }
        Ok(self.0.get(table_name, key)?.map(Arc::new))
    }

    fn query(&self, _: &RowQuery) -> Result<Vec<Item>, Error> {
        Err(Error::internal("an audit finds rows by their keys only"))
    }
}
