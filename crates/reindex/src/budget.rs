//! Limits the units used per second.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use trestle_env::{Alarm, Clock, Timestamp};

/// The rate is kept in each such part of a second, approximately.
const PARTS_PER_SECOND: f64 = 10.0;

/// Units that are granted at a rate to all tasks that share this: the budget of a process.
pub struct Units {
    clock: Arc<dyn Clock>,
    state: Mutex<Handed>,
}

struct Handed {
    /// In a second; `None` for no limit.
    rate: Option<f64>,
    /// When everything that was granted is paid for, in milliseconds since 1970.
    due: f64,
}

impl Units {
    /// So many per second by this clock; without a rate, there is no limit.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, rate: Option<f64>) -> Self {
        let state = Mutex::new(Handed { rate, due: 0.0 });
        Self { clock, state }
    }

    /// From now on, so many per second.
    pub(crate) fn set_rate(&self, rate: Option<f64>) {
        self.state.lock().rate = rate;
    }

    /// The most units that may be used at once, so that the rate holds in every second and not only on
    /// average; `None` for no limit.
    pub(crate) fn at_once(&self) -> Option<usize> {
        let rate = self.state.lock().rate?;
        Some((rate / PARTS_PER_SECOND).max(1.0) as usize)
    }

    /// Takes units and waits until they are due. Unused units are not saved.
    pub async fn take(&self, units: f64) {
        let alarm = Alarm::new(Arc::clone(&self.clock));
        let turn = self.reserve(units);
        if let Some(turn) = turn {
            let mut alarm = alarm;
            alarm.at(turn).await;
        }
    }

    /// Takes units that have been used already: later requests wait longer.
    pub(crate) fn owe(&self, units: f64) {
        self.reserve(units);
    }

    fn reserve(&self, units: f64) -> Option<Timestamp> {
        let mut state = self.state.lock();
        let rate = state.rate?.max(f64::MIN_POSITIVE);
        let now = self.clock.now().as_millis() as f64;
        let turn = state.due.max(now);
        state.due = turn + units / rate * 1000.0;
        Some(Timestamp::EPOCH.plus(Duration::from_millis(turn.ceil() as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trestle_env::VirtualClock;

    #[test]
    fn units_are_handed_out_at_the_rate_and_not_saved_up() {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(100)));
        let units = Units::new(clock.clone(), Some(10.0));
        let turns = |count: usize| -> Vec<u64> {
            let turn = |_| units.reserve(5.0).map_or(0, Timestamp::as_millis);
            (0..count).map(turn).collect()
        };
        assert_eq!(turns(3), [100_000, 100_500, 101_000]);
        clock.advance(Duration::from_secs(60));
        assert_eq!(turns(2), [160_000, 160_500]);
        units.set_rate(Some(5.0));
        assert_eq!(turns(2), [161_000, 162_000]);
        units.set_rate(None);
        assert_eq!(units.reserve(1.0), None);
    }

    #[test]
    fn a_tenth_of_a_second_is_used_at_once_and_one_unit_at_least() {
        let units = Units::new(Arc::new(VirtualClock::starting_at(Timestamp::EPOCH)), None);
        let at_once = [None, Some(0.5), Some(25.0), Some(5_000.0)].map(|rate| {
            units.set_rate(rate);
            units.at_once()
        });
        assert_eq!(at_once, [None, Some(1), Some(2), Some(500)]);
    }
}
