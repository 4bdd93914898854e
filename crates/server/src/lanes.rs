//! One thread per processor, each with a runtime of its own, and every connection stays on one of them.
//!
//! A point read takes microseconds. On a runtime whose threads share their work, waking another thread for it costs more
//! than the read itself.

use std::future::Future;
use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;

/// How long connections that did not finish in time may hold up the end.
const CUT_WITHIN: Duration = Duration::from_secs(1);

/// The threads that serve connections.
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
}

struct Lane {
    handle: Handle,
    thread: JoinHandle<()>,
    guests: Arc<AtomicUsize>,
    stop: Arc<Notify>,
}

/// A place on a lane, free again when it is dropped.
pub(crate) struct Place(Arc<AtomicUsize>);

impl Lanes {
    /// As many as there are processors.
    pub(crate) fn start() -> io::Result<Self> {
        let count = std::thread::available_parallelism().map_or(1, NonZero::get);
        let lanes = (0..count).map(Lane::start).collect::<io::Result<_>>()?;
        Ok(Lanes { lanes })
    }

    /// Runs a connection to its end on the lane with the fewest of them.
    pub(crate) fn run<C: Future<Output = ()> + Send + 'static>(&self, connection: impl FnOnce(Place) -> C) {
        let quietest = self
            .lanes
            .iter()
            .min_by_key(|lane| lane.guests.load(Ordering::Relaxed));
        if let Some(lane) = quietest {
            lane.guests.fetch_add(1, Ordering::Relaxed);
            lane.handle.spawn(connection(Place(Arc::clone(&lane.guests))));
        }
    }
}

/// Ends the threads, and with them whatever still runs there.
impl Drop for Lanes {
    fn drop(&mut self) {
        for lane in &self.lanes {
            lane.stop.notify_one();
        }
        for lane in self.lanes.drain(..) {
            if lane.thread.join().is_err() {
                tracing::error!("a thread that served connections panicked");
            }
        }
    }
}

impl Lane {
    fn start(number: usize) -> io::Result<Self> {
        let stop = Arc::new(Notify::new());
        let stopping = Arc::clone(&stop);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let thread = std::thread::Builder::new()
            .name(format!("trestle-lane-{number}"))
            .spawn(move || {
                runtime.block_on(stopping.notified());
                runtime.shutdown_timeout(CUT_WITHIN);
            })?;
        Ok(Lane {
            handle,
            thread,
            guests: Arc::default(),
            stop,
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
