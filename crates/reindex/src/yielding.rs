//! Yielding to live traffic: small steps with pauses between them while others write, at the pace of
//! migrations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::MutexGuard;
use trestle_binding::Rate;
use trestle_binding::migration::{Pace, SweptPage};
use trestle_env::Timestamp;

/// The measure of live traffic.
pub trait LiveTraffic: Send + Sync {
    /// How many writes others than the reindex have made so far.
    fn other_writes(&self) -> u64;
}

/// A step that takes this many times as long as the fastest one of the same size shows that the database is
/// busy. Only steps of the same size are compared, because the time per row depends on how many rows are sent
/// at the same time.
const SLOW: f64 = 2.0;
/// The fastest step becomes outdated: for each step of its size, its time is raised by this factor.
const FORGETTING: f64 = 1.001;
/// Rows of a step if nothing yields.
const ROWS_AT_ONCE: usize = 128;

/// How a process that works on a reindex yields to live traffic.
pub(crate) struct Yielding {
    is_on: bool,
    traffic: Option<Arc<dyn LiveTraffic>>,
    state: Mutex<YieldState>,
    /// While others write, one worker at a time works, and pauses before it passes on the turn.
    turn: tokio::sync::Mutex<()>,
}

struct YieldState {
    pace: Pace,
    writes_seen: u64,
    /// Seconds of the fastest step, by its number of rows.
    fastest: BTreeMap<usize, f64>,
}

/// A step in progress.
pub(crate) struct Step<'y> {
    begun: Instant,
    turn: Option<MutexGuard<'y, ()>>,
}

impl Yielding {
    pub(crate) fn new(is_on: bool, traffic: Option<Arc<dyn LiveTraffic>>) -> Self {
        let writes_seen = traffic.as_ref().map_or(0, |traffic| traffic.other_writes());
        Self {
            is_on,
            traffic,
            state: Mutex::new(YieldState {
                pace: Pace::default(),
                writes_seen,
                fastest: BTreeMap::new(),
            }),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    /// How many rows the next step may have.
    pub(crate) fn rows(&self) -> usize {
        match self.is_on {
            true => self.state.lock().pace.rows(Rate::UNLIMITED, false),
            false => ROWS_AT_ONCE,
        }
    }

    /// Begins a step.
    pub(crate) async fn begin(&self) -> Step<'_> {
        let is_busy = self.is_on && self.state.lock().pace.rest() > Duration::ZERO;
        let turn = match is_busy {
            true => Some(self.turn.lock().await),
            false => None,
        };
        Step {
            begun: Instant::now(),
            turn,
        }
    }

    /// Ends a step with so many rows, and pauses if live traffic needs it. It is real time, like that of live
    /// traffic.
    pub(crate) async fn end(&self, step: Step<'_>, rows: usize) {
        if !self.is_on || rows == 0 {
            return;
        }
        let rest = self.rest(step.begun.elapsed(), rows);
        if rest > Duration::ZERO {
            tokio::time::sleep(rest).await;
        }
        drop(step.turn);
    }

    fn rest(&self, took: Duration, rows: usize) -> Duration {
        let mut state = self.state.lock();
        let other_writes = match &self.traffic {
            Some(traffic) => {
                // A count taken while the reindex writes can be slightly too low: it never decreases.
                let writes = traffic.other_writes().max(state.writes_seen);
                let seen = std::mem::replace(&mut state.writes_seen, writes);
                writes - seen
            }
            None => u64::from(state.is_slow(rows, took.as_secs_f64())),
        };
        let page = SweptPage {
            looked_at: rows as u64,
            moved: rows as u64,
            took,
            other_writes,
        };
        state.pace.page(Rate::UNLIMITED, page, Timestamp::EPOCH);
        state.pace.rest()
    }
}

impl YieldState {
    /// Whether a step took much longer than the fastest one with as many rows.
    fn is_slow(&mut self, rows: usize, took: f64) -> bool {
        let fastest = self.fastest.entry(rows).or_insert(f64::MAX);
        *fastest = took.min(*fastest * FORGETTING);
        took > *fastest * SLOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[derive(Default)]
    struct Counted(AtomicU64);

    impl LiveTraffic for Counted {
        fn other_writes(&self) -> u64 {
            self.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn it_rests_while_others_write_and_then_no_longer() {
        let traffic = Arc::new(Counted::default());
        let yielding = Yielding::new(true, Some(traffic.clone()));
        assert_eq!(yielding.rest(Duration::from_millis(10), 16), Duration::ZERO);
        traffic.0.store(3, Ordering::SeqCst);
        assert_eq!(
            yielding.rest(Duration::from_millis(10), 16),
            Duration::from_millis(20)
        );
        assert_eq!(yielding.rows(), 16);
        assert_eq!(yielding.rest(Duration::from_millis(10), 16), Duration::ZERO);
        assert_eq!(yielding.rows(), 32);
    }

    #[test]
    fn a_count_that_was_too_low_for_a_moment_is_no_traffic() {
        let traffic = Arc::new(Counted::default());
        traffic.0.store(50, Ordering::SeqCst);
        let yielding = Yielding::new(true, Some(traffic.clone()));
        for writes in [48, 50, 49, 50] {
            traffic.0.store(writes, Ordering::SeqCst);
            assert_eq!(yielding.rest(Duration::from_millis(10), 16), Duration::ZERO);
        }
    }

    #[test]
    fn without_a_look_at_others_it_rests_when_its_own_calls_become_slow() {
        let yielding = Yielding::new(true, None);
        let rests: Vec<u128> = [10, 15, 40, 11]
            .map(|millis| yielding.rest(Duration::from_millis(millis), 10).as_millis())
            .into();
        assert_eq!(rests, [0, 0, 80, 0]);
    }

    #[test]
    fn a_step_of_few_rows_is_not_slow_because_its_rows_share_no_round_trip() {
        let yielding = Yielding::new(true, None);
        // Up to 32 rows take one round trip of 10 ms, and more take several.
        for (rows, millis) in [
            (16, 10),
            (32, 10),
            (64, 20),
            (128, 40),
            (1, 10),
            (16, 12),
            (32, 11),
        ] {
            let rest = yielding.rest(Duration::from_millis(millis), rows);
            assert_eq!(rest, Duration::ZERO, "{rows} rows in {millis} ms");
        }
        assert!(yielding.rest(Duration::from_millis(90), 128) > Duration::ZERO);
        assert_eq!(yielding.rest(Duration::from_millis(12), 16), Duration::ZERO);
    }
}
