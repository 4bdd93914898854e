//! Shows the progress of applying a model on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use trestle_binding::Step;
use trestle_embedded::Watcher;

/// The time between two updates on a terminal.
const INTERVAL: Duration = Duration::from_millis(200);

/// Steps as lines, rows as a counter on a terminal.
pub(super) struct Progress {
    shows_rows: bool,
    last_shown: Instant,
}

impl Progress {
    pub(super) fn new() -> Self {
        Progress {
            shows_rows: io::stderr().is_terminal(),
            last_shown: Instant::now(),
        }
    }

    /// Clears the line for other output.
    pub(super) fn clear(&self) {
        if self.shows_rows {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

impl Watcher for Progress {
    fn step(&mut self, step: &Step) {
        self.clear();
        let _ = writeln!(io::stderr(), "{step}");
    }

    fn rows(&mut self, doing: &'static str, table: &str, rows: u64) {
        if self.shows_rows && self.last_shown.elapsed() >= INTERVAL {
            let _ = write!(io::stderr(), "\r\x1b[K{doing} of {table}: {rows}");
            self.last_shown = Instant::now();
        }
    }
}
