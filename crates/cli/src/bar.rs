//! The progress of a long operation: a bar on a terminal, lines in a log.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// The time between two updates of the bar.
const INTERVAL: Duration = Duration::from_millis(200);
/// The time between two lines in a log, unless the state changes.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
const WIDTH: usize = 30;

/// Shows the progress of an operation on standard error.
pub(crate) struct Bar {
    is_terminal: bool,
    shown: Option<(String, Instant)>,
}

impl Bar {
    pub(crate) fn new() -> Self {
        Bar {
            is_terminal: io::stderr().is_terminal(),
            shown: None,
        }
    }

    /// Shows the progress, if it has changed or was last shown long ago.
    pub(crate) fn show(&mut self, state: &str, line: impl FnOnce() -> String) {
        let interval = if self.is_terminal { INTERVAL } else { LINE_INTERVAL };
        let is_known = self
            .shown
            .as_ref()
            .is_some_and(|(shown, at)| shown == state && at.elapsed() < interval);
        if is_known {
            return;
        }
        self.shown = Some((state.to_owned(), Instant::now()));
        let line = line();
        let _ = if self.is_terminal {
            write!(io::stderr(), "\r\x1b[K{line}")
        } else {
            writeln!(io::stderr(), "{line}")
        };
    }

    /// Clears the line for other output.
    pub(crate) fn clear(&self) {
        if self.is_terminal {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// A bar made of characters.
pub(crate) fn drawn(done: f64) -> String {
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
