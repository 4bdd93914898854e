//! Makes writes fail at the limit on file sizes (`ulimit -f`), instead of killing the process.

/// By default, the system kills a process that writes past the limit. With a handler for the signal, the
/// write fails instead: the client gets an error, and reads continue.
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
