//! How far a sweep is: a bar on a terminal, lines in a log.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use trestle_binding::{MigrationState, MigrationStatus, counted};

/// Between two drawings of the bar.
const INTERVAL: Duration = Duration::from_millis(200);
/// Between two lines in a log, unless the state changes.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
const WIDTH: usize = 30;

/// Tells standard error how far a sweep is.
pub(super) struct Bar {
    is_terminal: bool,
    shown: Option<(MigrationState, Instant)>,
}

impl Bar {
    pub(super) fn new() -> Self {
        Bar {
            is_terminal: io::stderr().is_terminal(),
            shown: None,
        }
    }

    /// Shows how far it is, if there is something new or it was long ago.
    pub(super) fn show(&mut self, status: &MigrationStatus) {
        let interval = if self.is_terminal { INTERVAL } else { LINE_INTERVAL };
        let is_known = self
            .shown
            .is_some_and(|(state, at)| state == status.state && at.elapsed() < interval);
        if is_known {
            return;
        }
        self.shown = Some((status.state, Instant::now()));
        let line = line(status);
        let _ = if self.is_terminal {
            write!(io::stderr(), "\r\x1b[K{line}")
        } else {
            writeln!(io::stderr(), "{line}")
        };
    }

    /// Leaves the line to others.
    pub(super) fn clear(&self) {
        if self.is_terminal {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(status: &MigrationStatus) -> String {
    let mut line = format!(
        "{} {:5.1} %  {}, {} moved",
        drawn(status.done),
        status.done * 100.0,
        status.state,
        counted(status.rows_moved, "row", "rows")
    );
    if let Some(speed) = status.rows_per_second {
        line += &format!(", {speed:.0} rows/s looked at");
    }
    if let Some(left) = status.seconds_left {
        line += &format!(", {left:.0} s left");
    }
    line
}

/// A bar of signs.
pub(super) fn drawn(done: f64) -> String {
    let full = (done * WIDTH as f64).round() as usize;
    let full = full.min(WIDTH);
    format!("[{}{}]", "#".repeat(full), "-".repeat(WIDTH - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        assert_eq!(drawn(0.0), format!("[{}]", "-".repeat(30)));
        assert_eq!(drawn(0.5), format!("[{}{}]", "#".repeat(15), "-".repeat(15)));
        assert_eq!(drawn(1.0), format!("[{}]", "#".repeat(30)));
    }
}
