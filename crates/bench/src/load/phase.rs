//! Warm-up, measurement, and waiting for the last responses.

use super::Moment;
use std::time::{Duration, Instant};

/// A slow server gets more time, up to this many times the given one, to finish one operation per connection.
const PATIENCE: u32 = 4;

/// The state of a run.
#[derive(Debug)]
pub(super) struct Phase {
    warm_up: Duration,
    wanted: Duration,
    /// Operations that must end before measuring does.
    enough: u64,
    ended: u64,
    start: Option<Instant>,
    begin: Option<Instant>,
    end: Option<Instant>,
}

impl Phase {
    pub(super) fn new(warm_up: Duration, wanted: Duration, enough: u64) -> Self {
        Phase {
            warm_up,
            wanted,
            enough,
            ended: 0,
            start: None,
            begin: None,
            end: None,
        }
    }

    pub(super) fn start(&mut self, now: Instant) {
        self.start = Some(now);
    }

    fn elapsed(&self, now: Instant) -> Duration {
        self.start.map_or(Duration::ZERO, |start| now - start)
    }

    /// Records that an operation ended; returns whether it counts.
    pub(super) fn ended_one(&mut self, now: Instant, moment: &mut dyn FnMut(Moment)) -> bool {
        if self.end.is_some() {
            return false;
        }
        let Some(begin) = self.begin else {
            if self.elapsed(now) >= self.warm_up {
                self.begin = Some(now);
                moment(Moment::Begin);
            }
            return false;
        };
        self.ended += 1;
        let measured = now - begin;
        if measured >= self.wanted && (self.ended >= self.enough || measured >= self.wanted * PATIENCE) {
            self.end = Some(now);
            moment(Moment::End);
        }
        true
    }

    /// Whether no further operation should begin.
    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    /// Ends a run without remaining operations.
    pub(super) fn finish(&mut self, now: Instant, moment: &mut dyn FnMut(Moment)) {
        if self.begin.is_some() && self.end.is_none() {
            self.end = Some(now);
            moment(Moment::End);
        }
    }

    pub(super) fn measured_for(&self) -> Duration {
        match (self.begin, self.end) {
            (Some(begin), Some(end)) => end - begin,
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[test]
    fn only_what_ends_between_the_two_moments_counts() {
        let mut phase = Phase::new(Duration::from_millis(10), Duration::from_millis(20), 1);
        let start = Instant::now();
        let mut moments = Vec::new();
        phase.start(start);
        let counted: Vec<bool> = [5, 12, 20, 33, 40]
            .into_iter()
            .map(|millis| phase.ended_one(at(start, millis), &mut |moment| moments.push((millis, moment))))
            .collect();
        assert_eq!(counted, [false, false, true, true, false]);
        assert_eq!(moments, [(12, Moment::Begin), (33, Moment::End)]);
        assert_eq!(phase.measured_for(), Duration::from_millis(21));
    }

    #[test]
    fn a_slow_server_gets_more_time_but_not_for_ever() {
        let mut phase = Phase::new(Duration::ZERO, Duration::from_millis(10), 3);
        let start = Instant::now();
        phase.start(start);
        for millis in [0, 15, 30] {
            phase.ended_one(at(start, millis), &mut |_| ());
            assert!(!phase.is_over());
        }
        phase.ended_one(at(start, 41), &mut |_| ());
        assert!(phase.is_over());
    }

    #[test]
    fn running_out_of_work_ends_the_measuring() {
        let mut phase = Phase::new(Duration::ZERO, Duration::from_secs(9), 1);
        let start = Instant::now();
        phase.start(start);
        phase.ended_one(start, &mut |_| ());
        phase.finish(at(start, 30), &mut |_| ());
        assert_eq!(phase.measured_for(), Duration::from_millis(30));
    }
}
