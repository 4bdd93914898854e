//! The state after a failed write, until the store works again.

use crate::{ErrorKind, StoreError};
use std::time::Duration;
use trestle_env::{Clock, SystemClock, Timestamp};

const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The journal may end in half a batch, so nothing may be written until the engine has been reopened.
#[derive(Debug)]
pub(super) struct Trouble {
    reason: String,
    since: Timestamp,
    wait: Duration,
}

impl Trouble {
    pub(super) fn new(error: &StoreError) -> Self {
        Trouble {
            reason: error.to_string(),
            since: SystemClock::new().now(),
            wait: FIRST_WAIT,
        }
    }

    /// Whether it is time to try again. A clock that was set back does not delay the attempt.
    pub(super) fn is_due(&self) -> bool {
        let now = SystemClock::new().now();
        now < self.since || now.since(self.since) >= self.wait
    }

    /// Another attempt has failed: the next one waits longer.
    pub(super) fn goes_on(&mut self, error: &StoreError) {
        *self = Trouble {
            wait: (self.wait * 2).min(LONGEST_WAIT),
            ..Trouble::new(error)
        };
    }

    /// The error of writes that arrive meanwhile.
    pub(super) fn error(&self) -> StoreError {
        let message = format!(
            "the store refuses writes because one failed: {}. Reads still work. Free space or repair the disk; \
             writes then resume automatically",
            self.reason
        );
        StoreError::new(ErrorKind::Stopped, message)
    }
}
