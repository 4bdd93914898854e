//! Work that is repeated on its own thread.

use crate::{Result, StoreError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use trestle_env::{Clock, Sleeper, SystemClock};

/// A thread that works until it is dropped. It follows the system's clock, never a virtual one: what it limits is real
/// time, such as how much a power cut can take.
pub(super) struct Repeated {
    clock: Arc<SystemClock>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Repeated {
    /// Waits for `interval`, works, and begins again.
    pub(super) fn start(
        name: &'static str,
        interval: Duration,
        mut work: impl FnMut() + Send + 'static,
    ) -> Result<Self> {
        let clock = Arc::new(SystemClock::new());
        let stop = Arc::new(AtomicBool::new(false));
        let mut sleeper = Sleeper::new(clock.clone());
        let (thread_clock, thread_stop) = (clock.clone(), stop.clone());
        let body = move || {
            while !thread_stop.load(Ordering::SeqCst) {
                sleeper.sleep_until(thread_clock.now().plus(interval), interval);
                work();
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(body);
        let thread =
            thread.map_err(|error| StoreError::io("cannot start the thread", Path::new(name), error))?;
        Ok(Repeated {
            clock,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Repeated {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.clock.signal().ring();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("a thread of the store panicked");
        }
    }
}
