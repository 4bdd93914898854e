//! A runtime for callers without one.

use parking_lot::Mutex;
use std::future::Future;
use tokio::runtime::{Builder, Handle, Runtime};
use trestle_api::Error;

/// A thread that makes calls. It is started by the first call outside of any runtime, and ends when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct OwnThread {
    runtime: Mutex<Option<Runtime>>,
}

impl OwnThread {
    /// Runs a future there.
    pub(crate) async fn carry_out<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Error> {
        let handle = self
            .handle()
            .map_err(|error| Error::internal(format!("Cannot start a thread: {error}")))?;
        let done = handle.spawn(work).await;
        done.map_err(|_| Error::internal("The call was broken off"))
    }

    fn handle(&self) -> std::io::Result<Handle> {
        let mut runtime = self.runtime.lock();
        let runtime = match &mut *runtime {
            Some(runtime) => runtime,
            none => none.insert(
                Builder::new_multi_thread()
                    .worker_threads(1)
                    .thread_name("trestle-remote")
                    .enable_all()
                    .build()?,
            ),
        };
        Ok(runtime.handle().clone())
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        // It may be dropped in a task, which must not wait for a thread.
        if let Some(runtime) = self.runtime.get_mut().take() {
            runtime.shutdown_background();
        }
    }
}
