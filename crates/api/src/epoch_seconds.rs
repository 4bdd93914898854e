//! Points in time in the form of the API.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time: seconds since 1970, with a fraction where it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct EpochSeconds(pub f64);

/// Below this, doubles represent whole seconds exactly; beyond it nothing is written as an integer.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl EpochSeconds {
    /// From milliseconds since 1970.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "exact until the year 287396")]
    pub fn from_millis(millis: u64) -> Self {
        Self(millis as f64 / 1000.0)
    }

    /// Milliseconds since 1970; times before it count as 1970.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates and maps NaN to 0"
    )]
    pub fn to_millis(self) -> u64 {
        (self.0 * 1000.0).round() as u64
    }
}

impl Serialize for EpochSeconds {
    /// Whole seconds are written without a fraction, as in stream records.
    #[allow(clippy::cast_possible_truncation, reason = "checked to be whole and small")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < EXACT_MAX {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for EpochSeconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_survive_the_way_through_seconds() {
        for millis in [0, 1, 999, 1_700_000_000_123, 4_102_444_799_999] {
            assert_eq!(EpochSeconds::from_millis(millis).to_millis(), millis);
        }
    }

    #[test]
    fn times_before_the_epoch_and_nonsense_count_as_the_epoch() {
        assert_eq!(EpochSeconds(-5.0).to_millis(), 0);
        assert_eq!(EpochSeconds(f64::NAN).to_millis(), 0);
    }

    #[test]
    fn whole_seconds_print_as_integers() {
        assert_eq!(
            serde_json::to_string(&EpochSeconds(1_700_000_000.0)).unwrap(),
            "1700000000"
        );
        assert_eq!(
            serde_json::to_string(&EpochSeconds(1_700_000_000.25)).unwrap(),
            "1700000000.25"
        );
    }
}
