//! Waiting for what is asynchronous, on this thread.

use crate::exit::Failure;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use trestle_server::termination;

/// Between two looks, at least.
const SHORTEST: Duration = Duration::from_millis(10);
/// Between two looks, at most.
const LONGEST: Duration = Duration::from_secs(1);
/// A pause is this part of the time that has passed, so that the end of short work is seen with as little delay, for its length, as
/// the end of long work.
const PART: u32 = 16;

/// A runtime that works while this thread waits in it.
pub(crate) fn on_this_thread() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
}

/// Looks every second, more often at first, until there is nothing more to wait for or the command is told to stop.
pub(crate) fn until_told_or(mut look: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let runtime = on_this_thread()?;
    let mut told_to_stop = std::pin::pin!(termination());
    let began = Instant::now();
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
        pause = (began.elapsed() / PART).clamp(SHORTEST, LONGEST);
    }
}
