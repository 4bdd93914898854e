//! Keeps the rate and yields to clients: how much to do at once, and when to continue.

use std::time::Duration;

use trestle_env::Timestamp;

use super::Rate;

/// The maximum number of rows in one commit.
const ROWS_AT_ONCE: u32 = 128;
/// The maximum number of rows in one commit while clients write, because they wait for it.
const ROWS_BESIDE_OTHERS: u32 = 16;
/// A row that is only checked costs this fraction of one that moves.
const LOOKS_PER_MOVE: f64 = 10.0;
/// A rate is enforced in each of this many parts of a second.
const PARTS_PER_SECOND: u32 = 40;
/// While clients write, the sweep rests this many times as long as a page took.
const RESTS_PER_PAGE: u32 = 2;
const SHORTEST_REST: Duration = Duration::from_millis(2);
const LONGEST_REST: Duration = Duration::from_millis(100);

/// How much to do at once, and when to continue.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    due: Timestamp,
    rows: u32,
    rest: Duration,
}

/// A page that was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweptPage {
    /// Rows looked at.
    pub looked_at: u64,
    /// Those of them that were moved.
    pub moved: u64,
    /// How long it took.
    pub took: Duration,
    /// Writes by others since the previous page.
    pub other_writes: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            due: Timestamp::default(),
            rows: ROWS_BESIDE_OTHERS,
            rest: Duration::ZERO,
        }
    }
}

impl Pace {
    /// When the next page is due.
    pub fn due(self) -> Timestamp {
        self.due
    }

    /// How long to rest before the next page, in real time.
    pub fn rest(self) -> Duration {
        self.rest
    }

    /// How many rows the next page may have. A page that is only read delays no client.
    pub fn rows(self, rate: Rate, looks_only: bool) -> usize {
        let at_once = if looks_only { ROWS_AT_ONCE } else { self.rows };
        let rows = rate.limit().map_or(at_once, |rows| rows.get() / PARTS_PER_SECOND);
        rows.clamp(1, at_once) as usize
    }

    /// Records a page: the next one is due when this one's share of the rate has passed. While others write,
    /// pages are small and infrequent; when they stop, pages grow again.
    pub fn page(&mut self, rate: Rate, page: SweptPage, now: Timestamp) {
        if page.other_writes > 0 {
            self.rows = ROWS_BESIDE_OTHERS;
            self.rest = (page.took * RESTS_PER_PAGE).clamp(SHORTEST_REST, LONGEST_REST);
        } else {
            self.rows = (self.rows * 2).min(ROWS_AT_ONCE);
            self.rest = Duration::ZERO;
        }
        let Some(limit) = rate.limit() else {
            self.due = now;
            return;
        };
        let looked_at = page.looked_at.saturating_sub(page.moved);
        let cost = page.moved as f64 + looked_at as f64 / LOOKS_PER_MOVE;
        // Fractions of a millisecond would be lost; unused time of a page is not saved for later either.
        let share = Duration::from_secs_f64(cost / f64::from(limit.get()));
        self.due = self.due.max(now).plus(share.max(Duration::from_millis(1)));
    }

    /// Waits before the next attempt.
    pub fn wait(&mut self, pause: Duration, now: Timestamp) {
        self.due = now.plus(pause);
    }

    /// Continues now, on command.
    pub fn hurry(&mut self) {
        self.due = Timestamp::EPOCH;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(looked_at: u64, moved: u64) -> SweptPage {
        SweptPage {
            looked_at,
            moved,
            ..SweptPage::default()
        }
    }

    #[test]
    fn rows_that_move_take_their_share_of_a_second_and_others_a_tenth_of_it() {
        let (mut pace, now) = (Pace::default(), Timestamp::from_secs(1));
        let rate = Rate::default();
        pace.page(rate, page(50, 50), now);
        assert_eq!(pace.due(), now.plus(Duration::from_millis(25)));
        pace.page(rate, page(80, 0), pace.due());
        assert_eq!(pace.due(), now.plus(Duration::from_millis(29)));
        assert_eq!((pace.rows(rate, false), pace.rows(rate, true)), (50, 50));
    }

    #[test]
    fn a_slow_rate_is_kept_by_small_pages_and_no_rate_by_none() {
        let (mut pace, now) = (Pace::default(), Timestamp::from_secs(1));
        let slow = "2".parse().unwrap();
        assert_eq!(pace.rows(slow, false), 1);
        pace.page(slow, page(1, 1), now);
        assert_eq!(pace.due(), now.plus(Duration::from_millis(500)));
        pace.page(Rate::UNLIMITED, page(128, 128), now);
        assert_eq!(pace.due(), now);
    }

    #[test]
    fn while_others_write_pages_are_small_and_far_between_and_afterwards_they_grow_again() {
        let (mut pace, now) = (Pace::default(), Timestamp::from_secs(1));
        let rows = |pace: Pace| pace.rows(Rate::UNLIMITED, false);
        for expected in [16, 32, 64, 128, 128] {
            assert_eq!((rows(pace), pace.rest()), (expected, Duration::ZERO));
            pace.page(Rate::UNLIMITED, page(16, 16), now);
        }
        let took = |millis| SweptPage {
            took: Duration::from_millis(millis),
            other_writes: 1,
            ..page(128, 128)
        };
        for (millis, rest) in [(0, 2), (7, 14), (9_000, 100)] {
            pace.page(Rate::UNLIMITED, took(millis), now);
            assert_eq!((rows(pace), pace.rest()), (16, Duration::from_millis(rest)));
            assert_eq!(pace.rows(Rate::UNLIMITED, true), 128);
        }
        pace.page(Rate::UNLIMITED, page(16, 16), now);
        assert_eq!((rows(pace), pace.rest()), (32, Duration::ZERO));
    }
}
