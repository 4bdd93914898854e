//! Blocks this thread on asynchronous work.

use crate::exit::Failure;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use trestle_server::termination;

/// The shortest pause between two checks.
const SHORTEST: Duration = Duration::from_millis(10);
/// The longest pause between two checks.
const LONGEST: Duration = Duration::from_secs(1);
/// A pause is this fraction of the time that has passed, so that the delay at the end is proportional to the
/// length of the work.
const PART: u32 = 16;

/// A runtime that runs on this thread.
pub(crate) fn on_this_thread() -> Result<Runtime, Failure> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("cannot start threads: {error}")))
}

/// Calls `look` every second, more often at first, until it returns that the work is done or the command is
/// stopped.
pub(crate) fn until_told_or(mut look: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let runtime = on_this_thread()?;
    let mut told_to_stop = std::pin::pin!(termination());
    let began = Instant::now();
    let mut pause = Duration::ZERO;
    loop {
        let wait = async {
            tokio::select! {
                // First, so that no signal is missed.
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
