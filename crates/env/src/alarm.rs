//! Waiting in tasks for a time that may come sooner than expected, like [`Sleeper`](crate::Sleeper) for
//! threads.

use crate::{Clock, Timestamp};
use std::sync::Arc;

/// Lets one task wait on a clock. Awaited inside a Tokio runtime with timers.
///
/// Create it before reading the state that decides what to wait for: a ring between that reading and
/// [`Alarm::until`] then ends the wait at once.
#[derive(Debug)]
pub struct Alarm {
    clock: Arc<dyn Clock>,
    seen: u64,
}

impl Alarm {
    /// An alarm that ignores all rings up to now.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let seen = clock.signal().rings();
        Alarm { clock, seen }
    }

    /// Waits until the clock shows `deadline` or its bell rings, whichever comes first. Returns the time on
    /// the clock; the caller then checks again what there is to do.
    pub async fn until(&mut self, deadline: Timestamp) -> Timestamp {
        let clock = &*self.clock;
        let rung = clock.signal().rung(self.seen);
        self.seen = match clock.real_time_until(deadline) {
            Some(real) => tokio::time::timeout(real, rung).await.unwrap_or(self.seen),
            None => rung.await,
        };
        self.clock.now()
    }

    /// Waits until the clock shows `deadline`, regardless of rings before.
    pub async fn at(&mut self, deadline: Timestamp) {
        while self.until(deadline).await < deadline {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SystemClock, VirtualClock};
    use std::time::Duration;

    fn in_runtime<F: Future>(task: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        runtime.unwrap().block_on(task)
    }

    #[test]
    fn moving_virtual_time_wakes_a_task() {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::EPOCH));
        let mut alarm = Alarm::new(clock.clone());
        let mover = std::thread::spawn(move || {
            clock.advance(Duration::from_secs(4));
            clock.advance(Duration::from_secs(6))
        });
        in_runtime(alarm.at(Timestamp::from_secs(10)));
        assert_eq!(mover.join().unwrap(), Timestamp::from_secs(10));
    }

    #[test]
    fn a_ring_before_the_wait_is_not_lost() {
        let clock = Arc::new(VirtualClock::starting_at(Timestamp::EPOCH));
        let mut alarm = Alarm::new(clock.clone());
        clock.signal().ring();
        assert_eq!(in_runtime(alarm.until(Timestamp::MAX)), Timestamp::EPOCH);
    }

    #[test]
    fn real_time_ends_a_wait() {
        let clock = Arc::new(SystemClock::new());
        let deadline = clock.now().plus(Duration::from_millis(20));
        in_runtime(Alarm::new(clock.clone()).at(deadline));
        assert!(clock.now() >= deadline);
    }
}
