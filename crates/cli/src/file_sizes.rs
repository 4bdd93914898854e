//! Meeting the limit on file sizes (`ulimit -f`) without dying of it.

/// The system's default is to end a process that writes past the limit. Once the signal has a handler, the write fails instead:
/// the client is told, and reads go on.
#[cfg(unix)]
pub(crate) fn let_writes_fail() {
    use tokio::signal::unix::{SignalKind, signal};
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    let registered = crate::runtime::on_this_thread().map(|runtime| {
        let _inside = runtime.enter();
        // Stays registered for the life of the process.
        signal(kind).map(drop)
    });
    if !matches!(registered, Ok(Ok(()))) {
        tracing::warn!("a write past the limit on file sizes (ulimit -f) will end this process");
    }
}

#[cfg(not(unix))]
pub(crate) fn let_writes_fail() {}
