//! How many attempts to make, and how long to wait between them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use trestle_api::{Error, ErrorKind};
use trestle_env::ids::random_u64;

/// The most attempts of one request, by default.
pub(crate) const TRIES_MAX: u32 = 4;

const FIRST_PAUSE_MAX: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The pause after so many attempts: up to twice as long each time, and random, so that clients that were
/// refused together do not retry together.
pub(crate) fn pause(tries: u32) -> Duration {
    pause_of(tries, random_u64())
}

fn pause_of(tries: u32, chance: u64) -> Duration {
    let doubled =
        FIRST_PAUSE_MAX.saturating_mul(1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX));
    let most = doubled.min(PAUSE_MAX);
    let micros = u64::try_from(most.as_micros()).unwrap_or(u64::MAX).max(1);
    Duration::from_micros(chance % micros)
}

/// The budget of retries for an endpoint, counted as in the standard mode of AWS's SDKs: while most requests
/// fail, none is repeated, so that an overloaded endpoint does not get four times as many.
#[derive(Debug)]
pub(crate) struct RetryQuota(AtomicU32);

impl RetryQuota {
    const MOST: u32 = 500;
    /// Of another try.
    pub(crate) const PRICE: u32 = 5;
    /// The cost of a retry after no answer, which often means a longer outage.
    pub(crate) const PRICE_AFTER_SILENCE: u32 = 10;
    /// The gain of an answer to the first attempt.
    const FOR_AN_ANSWER: u32 = 1;

    /// Whether the budget is enough for a retry; if so, its cost is deducted.
    pub(crate) fn take(&self, price: u32) -> bool {
        let taken = |left: u32| left.checked_sub(price);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
        taken.is_ok()
    }

    /// There was an answer: the cost of its attempt is returned.
    pub(crate) fn give_back(&self, paid: Option<u32>) {
        let more = paid.unwrap_or(Self::FOR_AN_ANSWER);
        // While nothing fails, which is the usual case, nothing is written.
        if self.0.load(Ordering::Relaxed) < Self::MOST {
            let given = |left: u32| Some(left.saturating_add(more).min(Self::MOST));
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, given);
        }
    }
}

impl Default for RetryQuota {
    fn default() -> Self {
        RetryQuota(AtomicU32::new(Self::MOST))
    }
}

/// Whether the endpoint was overloaded: it did nothing, and the client should wait.
pub(crate) fn is_throttled(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ProvisionedThroughputExceeded | ErrorKind::RequestLimitExceeded | ErrorKind::Throttling
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_most_requests_fail_none_is_tried_again() {
        let quota = RetryQuota::default();
        let tries = (0..1000).filter(|_| quota.take(RetryQuota::PRICE)).count();
        assert_eq!(tries, 100);
        (0..4).for_each(|_| quota.give_back(None));
        assert!(!quota.take(RetryQuota::PRICE));
        quota.give_back(None);
        assert!(quota.take(RetryQuota::PRICE), "five answers are worth a try");
        quota.give_back(Some(RetryQuota::PRICE_AFTER_SILENCE));
        assert!(quota.take(RetryQuota::PRICE_AFTER_SILENCE));
        (0..1000).for_each(|_| quota.give_back(None));
        assert!(
            quota.take(RetryQuota::MOST) && !quota.take(1),
            "it does not grow beyond that"
        );
    }

    #[test]
    fn pauses_grow_and_end() {
        let longest = |tries| pause_of(tries, 99_999);
        assert_eq!(pause_of(1, 100_000), Duration::ZERO);
        assert_eq!(longest(1), Duration::from_micros(99_999));
        assert_eq!(pause_of(2, 199_999), Duration::from_micros(199_999));
        assert!((1..200).all(|tries| pause(tries) < PAUSE_MAX));
    }
}
