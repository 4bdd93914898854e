//! How slow a client may be while it holds memory. The limits are stricter while other requests wait for
//! memory.

use std::time::Duration;
use tokio::time::Instant;

/// How often the progress of a slow body is checked.
pub(crate) const BODY_PERIOD: Duration = Duration::from_millis(500);
/// How much of a large body must arrive in a period while others wait.
const BODY_PERIOD_BYTES: usize = 32 * 1024;
/// How long a small body may make no progress while others wait.
const SMALL_BODY_STALL: Duration = Duration::from_secs(5);
/// How long any body may make no progress.
const STALL: Duration = Duration::from_secs(20);

/// How often a connection with unread answers is checked.
pub(super) const READER_PERIOD: Duration = Duration::from_secs(1);
/// How much a client must read in a period not to count as slow.
const READER_PERIOD_BYTES: u64 = 16 * 1024;
/// Successive slow periods after which a client counts as not reading.
const SLOW_PERIODS_MAX: u32 = 30;
/// The same while others wait.
const SLOW_PERIODS_MAX_WHEN_SHORT: u32 = 1;

/// The arrival of a body.
pub(crate) struct BodyPace {
    last_arrival: Instant,
    period_began: Instant,
    period_bytes: usize,
}

impl BodyPace {
    pub(crate) fn beginning(now: Instant) -> Self {
        BodyPace {
            last_arrival: now,
            period_began: now,
            period_bytes: 0,
        }
    }

    /// Notes bytes that arrived.
    pub(crate) fn arrived(&mut self, bytes: usize, now: Instant) {
        self.last_arrival = now;
        self.period_bytes += bytes;
    }

    /// Whether to disconnect the client. `others_wait` for the memory that it holds.
    pub(crate) fn is_too_slow(&mut self, now: Instant, is_large: bool, others_wait: bool) -> bool {
        let stalled = now - self.last_arrival;
        let too_little = self.ends_period(now) && is_large;
        match others_wait {
            false => stalled >= STALL,
            true => too_little || stalled >= SMALL_BODY_STALL,
        }
    }

    /// Whether a period ended in which too little arrived.
    fn ends_period(&mut self, now: Instant) -> bool {
        if now - self.period_began < BODY_PERIOD {
            return false;
        }
        let too_little = self.period_bytes < BODY_PERIOD_BYTES;
        self.period_began = now;
        self.period_bytes = 0;
        too_little
    }
}

/// The number of successive slow periods, after a period in which so many bytes were read.
pub(super) fn slow_periods(before: u32, bytes: u64) -> u32 {
    if bytes < READER_PERIOD_BYTES {
        before + 1
    } else {
        0
    }
}

pub(super) fn is_reader_too_slow(slow_for: u32, others_wait: bool) -> bool {
    let max = if others_wait {
        SLOW_PERIODS_MAX_WHEN_SHORT
    } else {
        SLOW_PERIODS_MAX
    };
    slow_for >= max
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_may_drip_while_memory_is_free() {
        let mut now = Instant::now();
        let mut pace = BodyPace::beginning(now);
        for _ in 0..50 {
            now += Duration::from_secs(1);
            pace.arrived(1, now);
            assert!(!pace.is_too_slow(now, true, false));
        }
        assert!(pace.is_too_slow(now + STALL, true, false));
    }

    #[test]
    fn a_large_body_that_drips_is_given_up_while_others_wait() {
        let began = Instant::now();
        let mut pace = BodyPace::beginning(began);
        let first = began + BODY_PERIOD;
        pace.arrived(BODY_PERIOD_BYTES, first);
        assert!(!pace.is_too_slow(first, true, true));
        let within = first + BODY_PERIOD / 2;
        pace.arrived(10, within);
        assert!(!pace.is_too_slow(within, true, true), "the period is not over");
        assert!(pace.is_too_slow(first + BODY_PERIOD, true, true));
    }

    #[test]
    fn a_small_body_has_longer() {
        let began = Instant::now();
        let mut pace = BodyPace::beginning(began);
        assert!(!pace.is_too_slow(began + BODY_PERIOD, false, true));
        assert!(pace.is_too_slow(began + SMALL_BODY_STALL, false, true));
    }

    #[test]
    fn a_reader_is_given_up_sooner_while_others_wait() {
        let one = slow_periods(0, READER_PERIOD_BYTES - 1);
        assert!(is_reader_too_slow(one, true));
        assert!(!is_reader_too_slow(one, false));
        assert_eq!(slow_periods(29, READER_PERIOD_BYTES), 0);
        assert!(is_reader_too_slow(slow_periods(29, 0), false));
    }
}
