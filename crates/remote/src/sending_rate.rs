//! The rate of requests to an endpoint that throttles, as in the adaptive mode of AWS's SDKs: the rate falls
//! when the endpoint throttles, and grows again along a cubic curve, slowly near the rate at which it
//! throttled last.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The rate never falls below this, in requests per second.
const RATE_MIN: f64 = 0.5;
/// At least one request can be sent at once.
const CAPACITY_MIN: f64 = 1.0;
/// The weight of a new measurement against earlier ones.
const SMOOTH: f64 = 0.8;
/// The factor of the rate after a refusal.
const BETA: f64 = 0.7;
/// The steepness of the curve.
const SCALE: f64 = 0.4;
/// The rate is measured over so many seconds.
const BUCKET: f64 = 0.5;

/// Bounds the rate of requests, once the endpoint has throttled.
#[derive(Debug)]
pub(crate) struct SendingRate {
    began: Instant,
    state: Mutex<Rate>,
}

impl Default for SendingRate {
    fn default() -> Self {
        SendingRate {
            began: Instant::now(),
            state: Mutex::default(),
        }
    }
}

impl SendingRate {
    /// Waits until a request may be sent.
    pub(crate) async fn acquire(&self) {
        let pause = self.state.lock().take(self.now());
        if pause > 0.0 {
            tokio::time::sleep(Duration::from_secs_f64(pause)).await;
        }
    }

    /// Learns from an answer.
    pub(crate) fn learn(&self, was_throttled: bool) {
        self.state.lock().learn(was_throttled, self.now());
    }

    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

/// A token bucket. All times are in seconds.
#[derive(Debug, Default)]
struct Rate {
    /// Nothing is limited before the endpoint throttles for the first time.
    is_on: bool,
    fill_rate: f64,
    capacity: f64,
    tokens: f64,
    filled: f64,
    /// The measured requests per second.
    measured: f64,
    requests: u32,
    bucket: f64,
    /// The rate at which the endpoint last throttled, and when.
    rate_max: f64,
    throttled: f64,
    /// How long the curve takes to return to that rate.
    window: f64,
}

impl Rate {
    /// Takes a token; returns how long to wait for it.
    fn take(&mut self, now: f64) -> f64 {
        if !self.is_on {
            return 0.0;
        }
        self.fill(now);
        // Later requests wait behind this one.
        self.tokens -= 1.0;
        match self.tokens < 0.0 {
            true => -self.tokens / self.fill_rate,
            false => 0.0,
        }
    }

    fn fill(&mut self, now: f64) {
        let more = (now - self.filled).max(0.0) * self.fill_rate;
        self.tokens = (self.tokens + more).min(self.capacity);
        self.filled = now;
    }

    fn learn(&mut self, was_throttled: bool, now: f64) {
        self.measure(now);
        let rate = match was_throttled {
            true => {
                let rate = match self.is_on {
                    true => self.measured.min(self.fill_rate),
                    false => self.measured,
                };
                self.rate_max = rate;
                self.throttled = now;
                self.is_on = true;
                rate * BETA
            }
            false => SCALE * (now - self.throttled - self.window).powi(3) + self.rate_max,
        };
        self.window = (self.rate_max * (1.0 - BETA) / SCALE).cbrt();
        if self.is_on {
            self.set(rate.min(2.0 * self.measured), now);
        }
    }

    fn measure(&mut self, now: f64) {
        let bucket = (now / BUCKET).floor() * BUCKET;
        self.requests += 1;
        if bucket > self.bucket {
            let current = f64::from(self.requests) / (bucket - self.bucket);
            self.measured = current * SMOOTH + self.measured * (1.0 - SMOOTH);
            self.requests = 0;
            self.bucket = bucket;
        }
    }

    fn set(&mut self, rate: f64, now: f64) {
        self.fill(now);
        self.fill_rate = rate.max(RATE_MIN);
        self.capacity = rate.max(CAPACITY_MIN);
        self.tokens = self.tokens.min(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates a client that sends as fast as it may to an endpoint that accepts `limit` requests per
    /// second. Returns how many were accepted and refused in the second half of the time.
    fn run(limit: u32, seconds: u32, rate: &mut Rate) -> (u32, u32) {
        let (mut taken, mut refused) = (0, 0);
        let mut now = 0.0;
        for second in 0..seconds {
            if second == seconds / 2 {
                (taken, refused) = (0, 0);
            }
            let end = f64::from(second + 1);
            let mut of_second = 0;
            while now < end {
                // It could send a thousand per second.
                now += rate.take(now).max(0.001);
                let is_refused = of_second >= limit;
                match is_refused {
                    true => refused += 1,
                    false => (of_second, taken) = (of_second + 1, taken + 1),
                }
                rate.learn(is_refused, now);
            }
        }
        (taken, refused)
    }

    #[test]
    fn nothing_is_bounded_before_the_endpoint_throttles() {
        let mut rate = Rate::default();
        assert_eq!(run(u32::MAX, 5, &mut rate).1, 0);
        assert!((0..1000).all(|_| rate.take(5.0) == 0.0));
    }

    #[test]
    fn most_of_what_is_sent_is_taken() {
        // Without a limit, 950 of 1000 are refused.
        let (taken, refused) = run(50, 120, &mut Rate::default());
        assert!(taken > 60 * 15, "{taken} of 3000 in a minute");
        assert!(refused * 10 < taken, "{refused} refused, {taken} taken");
    }

    #[test]
    fn the_rate_grows_when_the_endpoint_takes_more() {
        let mut rate = Rate::default();
        run(20, 30, &mut rate);
        let before = rate.fill_rate;
        let mut now = 30.0;
        while now < 60.0 {
            now += rate.take(now).max(0.001);
            rate.learn(false, now);
        }
        assert!(rate.fill_rate > 2.0 * before, "{before} to {}", rate.fill_rate);
    }
}
