//! Waiting for what is asynchronous, on this thread.

use crate::exit::Failure;
use tokio::runtime::{Builder, Runtime};

/// A runtime that works while this thread waits in it.
pub(crate) fn on_this_thread() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
}
