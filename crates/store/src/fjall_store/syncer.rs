//! Forces buffered commits to the disk now and then.

use super::inner::Inner;
use crate::{Result, StoreError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use trestle_env::{Clock, Sleeper, SystemClock};

/// A thread that syncs until it is dropped. It follows the system's clock, never a virtual one: what it limits is
/// how much a real power cut can take.
pub(super) struct Syncer {
    clock: Arc<SystemClock>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(super) fn start(inner: Arc<Inner>, interval: Duration) -> Result<Self> {
        let clock = Arc::new(SystemClock::new());
        let stop = Arc::new(AtomicBool::new(false));
        let mut sleeper = Sleeper::new(clock.clone());
        let (thread_clock, thread_stop) = (clock.clone(), stop.clone());
        let work = move || {
            let mut is_failing = false;
            while !thread_stop.load(Ordering::SeqCst) {
                sleeper.sleep_until(thread_clock.now().plus(interval), interval);
                let synced = inner.sync();
                if let Err(error) = &synced
                    && !is_failing
                {
                    tracing::error!(%error, "could not force commits to the disk; trying again and again");
                }
                is_failing = synced.is_err();
            }
        };
        let thread = std::thread::Builder::new().name("store-sync".into()).spawn(work);
        let thread = thread
            .map_err(|error| StoreError::io("cannot start a thread for", Path::new("syncing"), error))?;
        Ok(Syncer {
            clock,
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.clock.signal().ring();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the syncing thread panicked");
        }
    }
}
