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

    /// How much time has passed since `earlier`; zero if that is in the future.
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

/// Parses the form of [`iso_8601_millis`] followed by `Z`, with or without a fraction.
pub fn parse_iso_8601(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = match text.strip_suffix('Z')?.split_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (text.strip_suffix('Z')?, "0"),
    };
    let field = |range: std::ops::Range<usize>| -> Option<u64> {
        let digits = whole.get(range)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then(|| digits.parse().ok())?
    };
    let (year, month, day) = (field(0..4)?, field(5..7)?, field(8..10)?);
    let (hour, minute, second) = (field(11..13)?, field(14..16)?, field(17..19)?);
    let days = days_until(year, month, day)?;
    let at = Timestamp::from_secs(days * 86_400 + hour * 3600 + minute * 60 + second);
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let millis = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let at = at.plus(Duration::from_millis(millis));
    // An invalid date or punctuation would be written differently.
    (is_fraction && iso_8601_millis(at).get(..19)? == whole).then_some(at)
}

/// Days from 1970 until a date, which is not before; the inverse of [`civil`].
fn days_until(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year.checked_sub(1)? } else { year };
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day.checked_sub(1)?;
    let (era, of_era) = (year / 400, year % 400);
    (era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year).checked_sub(719_468)
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
    fn a_time_that_was_written_is_read() {
        for millis in [
            0,
            1,
            1_709_164_799_999,
            1_709_164_800_000,
            4_102_444_800_123,
            951_782_400_000,
        ] {
            let at = Timestamp::from_millis(millis);
            assert_eq!(parse_iso_8601(&format!("{}Z", iso_8601_millis(at))), Some(at));
        }
        let whole = parse_iso_8601("2024-02-29T00:00:00Z");
        assert_eq!(whole, Some(Timestamp::from_millis(1_709_164_800_000)));
        assert_eq!(
            parse_iso_8601("2024-02-29T00:00:00.5Z"),
            whole.map(|at| at.plus(Duration::from_millis(500)))
        );
        for text in [
            "",
            "Z",
            "2024-02-29",
            "2023-02-29T00:00:00Z",
            "2024-02-29T24:00:00Z",
            "2024-02-29 00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2024-02-29T00:00:00.Z",
            "2024-02-29T00:00:00",
        ] {
            assert_eq!(parse_iso_8601(text), None, "{text}");
        }
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
