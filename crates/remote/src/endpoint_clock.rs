//! The clock of an endpoint, as far as the dates of its answers show it.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};
use trestle_env::Timestamp;

/// Dates of answers are in whole seconds, rounded down.
const DATE_UNIT_MILLIS: i64 = 1_000;

/// The result of an answer with a date. One answer in each unit of the date is enough.
#[derive(Debug, Default)]
pub(crate) struct EndpointClock {
    ahead: Mutex<Option<Ahead>>,
    /// When the answer was received, in milliseconds; 0 before there was one.
    received: AtomicU64,
}

/// How far the endpoint's clock is ahead of this one, in milliseconds: at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ahead {
    least: i64,
    most: i64,
}

impl EndpointClock {
    /// An answer had this date. It was created between the request and the receipt.
    pub(crate) fn told(&self, date: &str, asked: Timestamp, received: Timestamp) {
        let last = self.received.load(Ordering::Relaxed);
        if received.as_millis().abs_diff(last) < DATE_UNIT_MILLIS.unsigned_abs() {
            return;
        }
        let Some(date) = millis(date) else { return };
        self.received.store(received.as_millis(), Ordering::Relaxed);
        let ahead_of = |at: Timestamp| date - i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
        *self.ahead.lock() = Some(Ahead {
            least: ahead_of(received),
            most: ahead_of(asked) + DATE_UNIT_MILLIS,
        });
    }

    /// The earliest and the latest time that it may have shown when this clock showed `at`.
    pub(crate) fn span(&self, at: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let Ahead { least, most } = (*self.ahead.lock())?;
        let shifted = |by: i64| Timestamp::from_millis(at.as_millis().saturating_add_signed(by));
        Some((shifted(least), shifted(most)))
    }
}

/// An HTTP date, in milliseconds since 1970.
fn millis(date: &str) -> Option<i64> {
    let time = httpdate::parse_http_date(date).ok()?;
    let since: Duration = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_to_the_second_and_the_time_of_the_answer() {
        let clock = EndpointClock::default();
        let at = |millis: u64| Timestamp::from_millis(1_800_000_000_000 + millis);
        assert_eq!(clock.span(at(0)), None, "no answer yet");
        // 1800000000 is 08:00:00 on that day: the endpoint is about a minute ahead.
        clock.told("Fri, 15 Jan 2027 08:01:00 GMT", at(100), at(350));
        assert_eq!(clock.span(at(350)), Some((at(60_000), at(61_250))));
        assert_eq!(clock.span(at(10_000)), Some((at(69_650), at(70_900))));
        clock.told("yesterday", at(1_500), at(1_500));
        assert_eq!(clock.span(at(350)), Some((at(60_000), at(61_250))));
        clock.told("Fri, 15 Jan 2027 08:02:00 GMT", at(1_300), at(1_349));
        assert_eq!(
            clock.span(at(350)),
            Some((at(60_000), at(61_250))),
            "within the same second"
        );
        clock.told("Fri, 15 Jan 2027 08:02:00 GMT", at(1_300), at(1_350));
        assert_eq!(clock.span(at(1_350)), Some((at(120_000), at(121_050))));
    }
}
