//! No faster than the rate: how much to do at once, and when to go on.

use std::time::Duration;

use trestle_env::Timestamp;

use super::Rate;

/// Rows in one commit at most: others get their turn after so many.
const ROWS_AT_ONCE: u32 = 128;
/// Rows that are looked at cost this part of what rows cost that move.
const LOOKS_PER_MOVE: f64 = 10.0;
/// A rate is kept in each such part of a second.
const PARTS_PER_SECOND: u32 = 40;

/// When the next page is due.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    due: Timestamp,
}

impl Pace {
    /// When the next page is due.
    pub fn due(self) -> Timestamp {
        self.due
    }

    /// How many rows the next page may have.
    pub fn rows(rate: Rate) -> usize {
        let rows = rate
            .limit()
            .map_or(ROWS_AT_ONCE, |rows| rows.get() / PARTS_PER_SECOND);
        rows.clamp(1, ROWS_AT_ONCE) as usize
    }

    /// A page was done: the next one is due when this one's share of the rate has passed.
    pub fn page(&mut self, rate: Rate, looked_at: u64, moved: u64, now: Timestamp) {
        let Some(limit) = rate.limit() else {
            self.due = now;
            return;
        };
        let cost = moved as f64 + looked_at.saturating_sub(moved) as f64 / LOOKS_PER_MOVE;
        // In fractions of a millisecond it would be lost: what a page took less than its share is not saved up either.
        let share = Duration::from_secs_f64(cost / f64::from(limit.get()));
        self.due = self.due.max(now).plus(share.max(Duration::from_millis(1)));
    }

    /// Waits before anything else is tried.
    pub fn wait(&mut self, pause: Duration, now: Timestamp) {
        self.due = now.plus(pause);
    }

    /// Somebody wants it to go on now.
    pub fn hurry(&mut self) {
        self.due = Timestamp::EPOCH;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_move_take_their_share_of_a_second_and_others_a_tenth_of_it() {
        let (mut pace, now) = (Pace::default(), Timestamp::from_secs(1));
        let rate = Rate::default();
        assert_eq!(Pace::rows(rate), 50);
        pace.page(rate, 50, 50, now);
        assert_eq!(pace.due(), now.plus(Duration::from_millis(25)));
        pace.page(rate, 80, 0, pace.due());
        assert_eq!(pace.due(), now.plus(Duration::from_millis(29)));
    }

    #[test]
    fn a_slow_rate_is_kept_by_small_pages_and_no_rate_by_none() {
        let (mut pace, now) = (Pace::default(), Timestamp::from_secs(1));
        let slow = "2".parse().unwrap();
        assert_eq!(Pace::rows(slow), 1);
        pace.page(slow, 1, 1, now);
        assert_eq!(pace.due(), now.plus(Duration::from_millis(500)));
        assert_eq!(Pace::rows(Rate::UNLIMITED), 128);
        pace.page(Rate::UNLIMITED, 128, 128, now);
        assert_eq!(pace.due(), now);
    }
}
