//! Waiting for a time that may come sooner than expected.

use crate::{Clock, Timestamp};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A bell: counts its rings, so a ring just before a listener starts is not lost.
#[derive(Debug, Default)]
pub struct Signal {
    rings: Mutex<u64>,
    rung: Condvar,
    /// The waiters that are tasks.
    tasks: Notify,
}

impl Signal {
    /// A bell that has never rung.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wakes all listeners, and those that start to wait without having seen this ring.
    pub fn ring(&self) {
        let mut rings = self.rings.lock();
        *rings = rings.wrapping_add(1);
        self.rung.notify_all();
        self.tasks.notify_waiters();
    }

    /// How often the bell has rung.
    pub fn rings(&self) -> u64 {
        *self.rings.lock()
    }

    /// Waits until the bell has rung more often than `seen`; returns the number of rings. Read
    /// [`Signal::rings`] before the state that decides whether to wait: a ring between that reading and the
    /// wait is then not lost.
    pub async fn rung(&self, seen: u64) -> u64 {
        loop {
            // Listening before looking, so that a ring in between is not lost.
            let ring = self.tasks.notified();
            let rings = self.rings();
            if rings != seen {
                return rings;
            }
            ring.await;
        }
    }

    /// Waits until the bell has rung more often than `seen`, or `longest` has passed; returns the rings now.
    fn wait(&self, seen: u64, longest: Duration) -> u64 {
        let give_up = Instant::now().checked_add(longest);
        let mut rings = self.rings.lock();
        while *rings == seen {
            let timed_out = match give_up {
                Some(at) => self.rung.wait_until(&mut rings, at).timed_out(),
                None => {
                    self.rung.wait(&mut rings);
                    false
                }
            };
            if timed_out {
                break;
            }
        }
        *rings
    }
}

/// Lets one background thread wait on a clock.
///
/// Create it before reading the state that decides what to wait for: a ring between that reading and
/// [`Sleeper::sleep_until`] then ends the sleep at once.
#[derive(Debug)]
pub struct Sleeper {
    clock: Arc<dyn Clock>,
    seen: u64,
}

impl Sleeper {
    /// A sleeper that ignores all rings up to now.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let seen = clock.signal().rings();
        Sleeper { clock, seen }
    }

    /// Blocks until the clock shows `deadline`, its bell rings, or `max_real` of real time has passed,
    /// whichever comes first. Returns the time on the clock; the caller then checks again what there is to
    /// do.
    pub fn sleep_until(&mut self, deadline: Timestamp, max_real: Duration) -> Timestamp {
        let longest = self
            .clock
            .real_time_until(deadline)
            .map_or(max_real, |real| real.min(max_real));
        self.seen = self.clock.signal().wait(self.seen, longest);
        self.clock.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SystemClock, VirtualClock};

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn moving_virtual_time_wakes_a_sleeper() {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::EPOCH));
        let mut sleeper = Sleeper::new(clock.clone());
        let thread = std::thread::spawn(move || sleeper.sleep_until(Timestamp::from_secs(10), LONG));
        clock.advance(Duration::from_secs(10));
        assert_eq!(thread.join().unwrap(), Timestamp::from_secs(10));
    }

    #[test]
    fn a_ring_before_the_sleep_is_not_lost() {
        let clock = Arc::new(SystemClock::new());
        let mut sleeper = Sleeper::new(clock.clone());
        clock.signal().ring();
        let started = Instant::now();
        sleeper.sleep_until(Timestamp::MAX, LONG);
        assert!(started.elapsed() < LONG / 2);
    }

    #[test]
    fn a_sleep_ends_at_its_deadline_or_after_the_longest_real_time() {
        let real = Arc::new(SystemClock::new());
        let deadline = real.now().plus(Duration::from_millis(20));
        assert!(Sleeper::new(real).sleep_until(deadline, LONG) >= deadline);

        let still = Arc::new(VirtualClock::starting_at(Timestamp::EPOCH));
        let mut sleeper = Sleeper::new(still);
        assert_eq!(
            sleeper.sleep_until(Timestamp::MAX, Duration::from_millis(20)),
            Timestamp::EPOCH
        );
    }

    #[test]
    fn a_deadline_in_the_past_does_not_sleep() {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(9)));
        let started = Instant::now();
        Sleeper::new(clock).sleep_until(Timestamp::from_secs(9), LONG);
        assert!(started.elapsed() < LONG / 2);
    }
}
