//! One thread per processor, each with its own runtime; every connection stays on one thread.
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

/// How long connections that did not finish in time may delay the end.
const CUT_WITHIN: Duration = Duration::from_secs(1);

/// The threads that serve connections.
pub(crate) struct ConnectionThreads {
    threads: Vec<ConnectionThread>,
}

struct ConnectionThread {
    handle: Handle,
    thread: JoinHandle<()>,
    connections: Arc<AtomicUsize>,
    stop: Arc<Notify>,
}

/// A connection that is counted on its thread until it is dropped.
pub(crate) struct ConnectionSlot(Arc<AtomicUsize>);

impl ConnectionThreads {
    /// One thread for each processor.
    pub(crate) fn start() -> io::Result<Self> {
        let count = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = (0..count)
            .map(ConnectionThread::start)
            .collect::<io::Result<_>>()?;
        Ok(ConnectionThreads { threads })
    }

    /// Runs a connection to its end on the thread with the fewest of them.
    pub(crate) fn run<C: Future<Output = ()> + Send + 'static>(
        &self,
        connection: impl FnOnce(ConnectionSlot) -> C,
    ) {
        let quietest = self
            .threads
            .iter()
            .min_by_key(|thread| thread.connections.load(Ordering::Relaxed));
        if let Some(thread) = quietest {
            thread.connections.fetch_add(1, Ordering::Relaxed);
            thread
                .handle
                .spawn(connection(ConnectionSlot(Arc::clone(&thread.connections))));
        }
    }
}

/// Ends the threads, and with them whatever still runs there.
impl Drop for ConnectionThreads {
    fn drop(&mut self) {
        for thread in &self.threads {
            thread.stop.notify_one();
        }
        for thread in self.threads.drain(..) {
            if thread.thread.join().is_err() {
                tracing::error!("a thread that served connections panicked");
            }
        }
    }
}

impl ConnectionThread {
    fn start(number: usize) -> io::Result<Self> {
        let stop = Arc::new(Notify::new());
        let stopping = Arc::clone(&stop);
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let thread = std::thread::Builder::new()
            .name(format!("trestle-conn-{number}"))
            .spawn(move || {
                runtime.block_on(stopping.notified());
                runtime.shutdown_timeout(CUT_WITHIN);
            })?;
        Ok(ConnectionThread {
            handle,
            thread,
            connections: Arc::default(),
            stop,
        })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
