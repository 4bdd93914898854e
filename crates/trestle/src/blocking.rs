//! Waiting for an endpoint, also where a task calls.

/// Runs on a thread without a runtime what waits for the endpoint: a task that waits might hold up the one that would answer.
pub(crate) fn blocking<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
