//! A point in time.

use std::fmt;
use std::time::Duration;

/// Milliseconds since the Unix epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch.
    pub const EPOCH: Timestamp = Timestamp(0);
    /// Later than every other timestamp: "never".
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// The point this many milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Timestamp(millis)
    }

    /// The point this many seconds after the epoch; saturates at [`Timestamp::MAX`].
    pub const fn from_secs(secs: u64) -> Self {
        Timestamp(secs.saturating_mul(1000))
    }

    /// Milliseconds since the epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Whole seconds since the epoch.
    pub const fn as_secs(self) -> u64 {
        self.0 / 1000
    }

    /// Seconds since the epoch with their fraction, as DynamoDB writes points in time.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }

    /// This point moved later; saturates at [`Timestamp::MAX`].
    pub fn plus(self, duration: Duration) -> Self {
        Timestamp(self.0.saturating_add(millis(duration)))
    }

    /// This point moved earlier; saturates at the epoch.
    pub fn minus(self, duration: Duration) -> Self {
        Timestamp(self.0.saturating_sub(millis(duration)))
    }

    /// How much time has passed since `earlier`; zero when it lies in the future.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// `2026-11-15T07:20:42.123`: the form of stream labels.
pub fn iso_8601_millis(at: Timestamp) -> String {
    let (days, in_day) = (at.as_secs() / 86_400, at.as_secs() % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}",
        at.as_millis() % 1000
    )
}

/// Year, month and day of a day after 1970, counting years from March so that the leap day comes last.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}s", self.as_secs(), self.0 % 1000)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_shows_the_date_and_time() {
        assert_eq!(iso_8601_millis(Timestamp::EPOCH), "1970-01-01T00:00:00.000");
        assert_eq!(
            iso_8601_millis(Timestamp::from_millis(1_709_164_799_999)),
            "2024-02-28T23:59:59.999"
        );
        assert_eq!(
            iso_8601_millis(Timestamp::from_millis(1_709_164_800_000)),
            "2024-02-29T00:00:00.000"
        );
        assert_eq!(
            iso_8601_millis(Timestamp::from_secs(4_102_444_800)),
            "2100-01-01T00:00:00.000"
        );
    }

    #[test]
    fn arithmetic_saturates_instead_of_overflowing() {
        assert_eq!(Timestamp::MAX.plus(Duration::MAX), Timestamp::MAX);
        assert_eq!(
            Timestamp::from_millis(5).minus(Duration::from_secs(1)),
            Timestamp::EPOCH
        );
        assert_eq!(Timestamp::from_secs(u64::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::EPOCH.since(Timestamp::MAX), Duration::ZERO);
    }

    #[test]
    fn seconds_are_cut_not_rounded() {
        let at = Timestamp::from_millis(1_999);
        assert_eq!(at.as_secs(), 1);
        assert_eq!(at.as_secs_f64(), 1.999);
        assert_eq!(at.to_string(), "1.999s");
    }
}
