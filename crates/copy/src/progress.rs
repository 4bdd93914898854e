//! The progress of a copy, for observers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use serde::Serialize;

/// The progress of a copy. Shared by its tasks and observers.
pub struct CopyProgress {
    began: Instant,
    phase: Mutex<(&'static str, Option<String>)>,
    /// The approximate number of rows to copy.
    pub(crate) total: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) changes: AtomicU64,
    pub(crate) compared: AtomicU64,
    /// Rows that were copied before this run.
    pub(crate) rows_before: AtomicU64,
}

/// The progress of a copy at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyStatus {
    /// `planning`, `copying`, `catching-up`, `comparing`, `following`, `cutting-over` or `done`.
    pub phase: &'static str,
    /// Rows that were copied.
    pub rows: u64,
    /// The approximate number of rows to copy.
    pub total: u64,
    /// Rows per second in this run.
    pub rows_per_second: u64,
    /// Changes that were followed.
    pub changes: u64,
    /// Rows that were compared.
    pub compared: u64,
    /// What it waits for, if a database does not respond.
    pub waiting: Option<String>,
}

impl Default for CopyProgress {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            phase: Mutex::new(("planning", None)),
            total: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            compared: AtomicU64::new(0),
            rows_before: AtomicU64::new(0),
        }
    }
}

impl CopyProgress {
    /// The current progress.
    #[must_use]
    pub fn status(&self) -> CopyStatus {
        let (phase, waiting) = self.phase.lock().clone();
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let rows = read(&self.rows);
        let seconds = self.began.elapsed().as_secs_f64().max(0.001);
        CopyStatus {
            phase,
            rows,
            total: read(&self.total).max(rows),
            rows_per_second: (rows.saturating_sub(read(&self.rows_before)) as f64 / seconds) as u64,
            changes: read(&self.changes),
            compared: read(&self.compared),
            waiting,
        }
    }

    pub(crate) fn enter(&self, phase: &'static str) {
        *self.phase.lock() = (phase, None);
    }

    pub(crate) fn waits(&self, what: String) {
        self.phase.lock().1 = Some(what);
    }

    pub(crate) fn goes_on(&self) {
        self.phase.lock().1 = None;
    }
}
