//! Shows on a terminal that the server is still working: building an index may take any time.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The time between two updates.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs the work; meanwhile a terminal shows the elapsed time.
pub(super) fn shown<T>(endpoint: &str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, is_done) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || count(endpoint, &is_done));
        let result = work();
        drop(done);
        result
    })
}

/// Counts seconds until the other side is dropped.
fn count(endpoint: &str, is_done: &Receiver<()>) {
    let mut seconds = 0_u64;
    while is_done.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        seconds += 1;
        let _ = write!(io::stderr(), "\r\x1b[K{endpoint} is at work: {seconds} s");
    }
    if seconds > 0 {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}
