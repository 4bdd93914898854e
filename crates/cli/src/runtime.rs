//! Waiting for what is asynchronous, on this thread.

use crate::exit::Failure;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use trestle_server::termination;

/// Between the first two looks. What takes no time is seen at once.
const FIRST_INTERVAL: Duration = Duration::from_millis(25);
/// Between two looks later on.
const INTERVAL: Duration = Duration::from_secs(1);

/// A runtime that works while this thread waits in it.
pub(crate) fn on_this_thread() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
}

/// Looks every second, more often at first, until it was enough or the command is told to stop.
pub(crate) fn until_told_or(mut look: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let runtime = on_this_thread()?;
    let mut told_to_stop = std::pin::pin!(termination());
    let mut pause = Duration::ZERO;
    loop {
        let wait = async {
            tokio::select! {
                // First, so that a signal is heard from the beginning.
                biased;
                () = &mut told_to_stop => true,
                () = tokio::time::sleep(pause) => false,
            }
        };
        if runtime.block_on(wait) || look()? {
            return Ok(());
        }
        pause = (pause * 2).clamp(FIRST_INTERVAL, INTERVAL);
    }
}
