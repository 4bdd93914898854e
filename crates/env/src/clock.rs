//! The system's clock, and one that is moved by calls.

use crate::{Signal, Timestamp};
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The current time, and a bell for waiters.
pub trait Clock: Send + Sync + Debug {
    /// The time now.
    fn now(&self) -> Timestamp;

    /// The real time that will pass until `deadline`, or `None` when only a call can move this clock.
    fn real_time_until(&self, deadline: Timestamp) -> Option<Duration>;

    /// The bell that wakes every [`Sleeper`](crate::Sleeper) on this clock. Ring it when there is something
    /// to do or to stop, at any time.
    fn signal(&self) -> &Signal;
}

/// The time of the operating system.
#[derive(Debug, Default)]
pub struct SystemClock {
    signal: Signal,
}

impl SystemClock {
    /// The system's clock with its own bell.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        system_now()
    }

    fn real_time_until(&self, deadline: Timestamp) -> Option<Duration> {
        Some(deadline.since(self.now()))
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }
}

/// A clock that stops until it is moved, and then wakes all waiters.
#[derive(Debug)]
pub struct VirtualClock {
    now_ms: AtomicU64,
    signal: Signal,
}

impl VirtualClock {
    /// A clock that shows the system's present time until it is moved.
    pub fn new() -> Self {
        Self::starting_at(system_now())
    }

    /// A clock that shows the given time until it is moved.
    pub fn starting_at(start: Timestamp) -> Self {
        VirtualClock {
            now_ms: AtomicU64::new(start.as_millis()),
            signal: Signal::new(),
        }
    }

    /// Moves the clock to `time`, earlier or later, and wakes the sleepers.
    pub fn set(&self, time: Timestamp) {
        self.now_ms.store(time.as_millis(), Ordering::SeqCst);
        self.signal.ring();
    }

    /// Advances the clock and wakes the sleepers; returns the new time.
    pub fn advance(&self, by: Duration) -> Timestamp {
        let step = |now| Some(Timestamp::from_millis(now).plus(by).as_millis());
        let before = self.now_ms.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step);
        self.signal.ring();
        Timestamp::from_millis(before.unwrap_or_else(|now| now)).plus(by)
    }
}

impl Default for VirtualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now_ms.load(Ordering::SeqCst))
    }

    fn real_time_until(&self, deadline: Timestamp) -> Option<Duration> {
        (self.now() >= deadline).then_some(Duration::ZERO)
    }

    fn signal(&self) -> &Signal {
        &self.signal
    }
}

/// A system clock set before 1970 is read as the epoch, which is wrong but harmless.
fn system_now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH.plus(since_epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_clock_moves_only_when_told() {
        let clock = VirtualClock::starting_at(Timestamp::from_secs(100));
        assert_eq!(clock.now().as_secs(), 100);
        assert_eq!(clock.advance(Duration::from_secs(5)).as_secs(), 105);
        assert_eq!(clock.now().as_secs(), 105);
        clock.set(Timestamp::from_secs(7));
        assert_eq!(clock.now().as_secs(), 7);
        clock.advance(Duration::MAX);
        assert_eq!(clock.now(), Timestamp::MAX);
    }

    #[test]
    fn a_virtual_clock_starts_at_the_real_time() {
        let before = SystemClock::new().now();
        let started = VirtualClock::new().now();
        assert!(started >= before && started.since(before) < Duration::from_secs(60));
    }
}
