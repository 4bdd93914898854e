//! Waiting for an endpoint, also from a task.

/// Runs calls that wait for the endpoint on a thread without a runtime: a waiting task might block the one
/// that would answer.
pub(crate) fn blocking<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| match scope.spawn(work).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
