//! Times: as text that sorts, and as seconds.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use trestle_item::{AttributeValue, Number};
use trestle_model::{Attribute, AttributeKind, Precision, timestamp_text};

use super::{Ordered, Text, Value};

/// A time in the form of the model's `timestamp`: text in UTC, such as `2019-12-30T19:32:14Z`.
///
/// The text stays as it was written, with or without a fraction, and is compared as the database compares it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(String);

/// A text that is not a timestamp in UTC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a timestamp in UTC, such as 2019-12-30T19:32:14Z")]
pub struct NotATimestamp(pub String);

impl Timestamp {
    /// Reads `2019-12-30T19:32:14Z`, with or without a fraction.
    pub fn parse(text: impl Into<String>) -> Result<Self, NotATimestamp> {
        let text = text.into();
        let checked = Attribute::new("", AttributeKind::Timestamp).check(&AttributeValue::S(text.clone()));
        match checked {
            Ok(()) => Ok(Timestamp(text)),
            Err(_) => Err(NotATimestamp(text)),
        }
    }

    /// The time this many milliseconds after 1970, written to the millisecond.
    #[must_use]
    pub fn from_millis(millis: u64) -> Self {
        Timestamp(timestamp_text(millis))
    }

    /// The same time in another precision; excess digits are cut off. An attribute of a key has one
    /// precision: milliseconds, unless the model says otherwise.
    #[must_use]
    pub fn in_precision(&self, precision: Precision) -> Self {
        Timestamp(precision.cut(&self.0))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The time to the millisecond, for calculations. A time before 1970 becomes 1970.
    #[must_use]
    pub fn moment(&self) -> trestle_env::Timestamp {
        trestle_env::parse_iso_8601(&self.0).unwrap_or_default()
    }
}

impl From<trestle_env::Timestamp> for Timestamp {
    fn from(at: trestle_env::Timestamp) -> Self {
        Timestamp::from_millis(at.as_millis())
    }
}

impl From<SystemTime> for Timestamp {
    fn from(at: SystemTime) -> Self {
        Timestamp::from_millis(u64::try_from(since_1970(at).as_millis()).unwrap_or(u64::MAX))
    }
}

impl FromStr for Timestamp {
    type Err = NotATimestamp;

    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        Timestamp::parse(text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Value for Timestamp {
    fn to_value(&self) -> AttributeValue {
        AttributeValue::S(self.0.clone())
    }

    fn from_value(value: AttributeValue) -> Result<Self, AttributeValue> {
        match value {
            AttributeValue::S(text) => Timestamp::parse(text).map_err(|error| AttributeValue::S(error.0)),
            other => Err(other),
        }
    }
}

impl Ordered for Timestamp {}
impl Text for Timestamp {}

/// A time in the form of the model's `epoch-seconds`: whole seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EpochSeconds(pub u64);

impl From<trestle_env::Timestamp> for EpochSeconds {
    fn from(at: trestle_env::Timestamp) -> Self {
        EpochSeconds(at.as_secs())
    }
}

impl From<SystemTime> for EpochSeconds {
    fn from(at: SystemTime) -> Self {
        EpochSeconds(since_1970(at).as_secs())
    }
}

/// There are no times before 1970.
fn since_1970(at: SystemTime) -> Duration {
    at.duration_since(UNIX_EPOCH).unwrap_or_default()
}

impl Value for EpochSeconds {
    fn to_value(&self) -> AttributeValue {
        AttributeValue::N(Number::from(self.0))
    }

    fn from_value(value: AttributeValue) -> Result<Self, AttributeValue> {
        let seconds = value.as_n().and_then(Number::to_i64);
        match seconds.and_then(|seconds| u64::try_from(seconds).ok()) {
            Some(seconds) => Ok(EpochSeconds(seconds)),
            None => Err(value),
        }
    }
}

impl Ordered for EpochSeconds {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_keeps_the_text_it_was_read_from() {
        let kept = Timestamp::parse("2019-12-30T19:32:14Z").unwrap();
        assert_eq!(kept.to_value(), AttributeValue::from("2019-12-30T19:32:14Z"));
        assert_eq!(Timestamp::from_millis(1).as_str(), "1970-01-01T00:00:00.001Z");
        assert_eq!(kept.moment().as_millis(), 1_577_734_334_000);
        let early = Timestamp::parse("1950-01-01T00:00:00Z").unwrap();
        assert_eq!(early.moment().as_millis(), 0, "the clock begins in 1970");
        assert_eq!(
            Timestamp::from_millis(1_600_000_000_250).moment().as_millis(),
            1_600_000_000_250
        );
    }

    #[test]
    fn a_moment_is_written_in_any_precision() {
        let millis = Timestamp::from_millis(1_600_000_000_250);
        for (precision, text) in [
            (Precision::Seconds, "2020-09-13T12:26:40Z"),
            (Precision::Millis, "2020-09-13T12:26:40.250Z"),
            (Precision::Micros, "2020-09-13T12:26:40.250000Z"),
        ] {
            assert_eq!(millis.in_precision(precision).as_str(), text);
        }
    }

    #[test]
    fn the_systems_time_is_a_timestamp_and_seconds() {
        let at = UNIX_EPOCH + Duration::from_millis(1_600_000_000_250);
        assert_eq!(Timestamp::from(at).as_str(), "2020-09-13T12:26:40.250Z");
        assert_eq!(EpochSeconds::from(at), EpochSeconds(1_600_000_000));
    }

    #[test]
    fn a_local_time_is_no_timestamp() {
        let error = Timestamp::parse("2019-12-30T19:32:14+01:00").unwrap_err();
        assert!(error.to_string().contains("not a timestamp in UTC"), "{error}");
    }
}
