//! Timestamps as text: `2019-12-30T19:32:14Z`, with or without a fraction, always in UTC.

/// How many digits the fraction of a timestamp has. Texts of one precision sort by time; texts of several do not:
/// `…14.500Z` sorts before `…14Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// Seconds: no fraction.
    Seconds,
    /// Milliseconds: three digits.
    Millis,
    /// Microseconds: six digits.
    Micros,
    /// Nanoseconds: nine digits.
    Nanos,
}

impl Precision {
    /// Every precision, with its name in a model file, coarsest first.
    pub const ALL: [(&'static str, Precision); 4] = [
        ("s", Precision::Seconds),
        ("ms", Precision::Millis),
        ("us", Precision::Micros),
        ("ns", Precision::Nanos),
    ];

    /// The names in a model file, coarsest first.
    pub(crate) const NAMES: &'static [&'static str] = &["s", "ms", "us", "ns"];

    /// The name in a model file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Millis => "ms",
            Self::Micros => "us",
            Self::Nanos => "ns",
        }
    }

    /// The precision of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let named = Self::ALL.iter().find(|(known, _)| *known == name);
        named.map(|(_, precision)| *precision)
    }

    /// The precision that a timestamp is written in; `None` if it is written in none of them.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let digits = fraction(text)?.len();
        let all = Self::ALL.iter().map(|(_, precision)| *precision);
        all.into_iter().find(|precision| precision.digits() == digits)
    }

    pub(crate) fn digits(self) -> usize {
        match self {
            Self::Seconds => 0,
            Self::Millis => 3,
            Self::Micros => 6,
            Self::Nanos => 9,
        }
    }

    /// A timestamp of this precision, for messages.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Seconds => "2020-01-31T23:59:59Z",
            Self::Millis => "2020-01-31T23:59:59.000Z",
            Self::Micros => "2020-01-31T23:59:59.000000Z",
            Self::Nanos => "2020-01-31T23:59:59.000000000Z",
        }
    }

    /// How long every timestamp of this precision is.
    pub(crate) fn length(self) -> usize {
        const WHOLE: usize = 20;
        match self.digits() {
            0 => WHOLE,
            digits => WHOLE + 1 + digits,
        }
    }

    /// The same moment in this precision; `None` if it is written in a finer one, or is no timestamp.
    pub(crate) fn of_moment(self, text: &str) -> Option<String> {
        let fraction = fraction(text)?;
        let whole = text.get(..WHOLE_WITHOUT_Z)?;
        match (self.digits(), fraction.len()) {
            (digits, given) if given > digits => None,
            (0, _) => Some(format!("{whole}Z")),
            (digits, _) => Some(format!("{whole}.{fraction:0<digits$}Z")),
        }
    }

    /// A timestamp in this precision, without excess digits. A text that is not a timestamp stays unchanged.
    #[must_use]
    pub fn cut(self, text: &str) -> String {
        let fraction = fraction(text);
        let kept = fraction.map(|fraction| fraction.get(..self.digits()).unwrap_or(fraction));
        let cut = match (kept, text.get(..WHOLE_WITHOUT_Z)) {
            (Some(""), Some(whole)) => Some(format!("{whole}Z")),
            (Some(kept), Some(whole)) => Some(format!("{whole}.{kept}Z")),
            _ => None,
        };
        cut.and_then(|cut| self.of_moment(&cut))
            .unwrap_or_else(|| text.to_owned())
    }

    /// The coarsest precision that has all of a timestamp's digits.
    pub(crate) fn that_holds(text: &str) -> Option<Self> {
        let digits = fraction(text)?.len();
        let mut all = Self::ALL.iter().map(|(_, precision)| *precision);
        all.find(|precision| precision.digits() >= digits)
    }
}

const WHOLE_WITHOUT_Z: usize = 19;

/// The digits after the decimal point; empty without one. `None` if the text is not a timestamp.
fn fraction(text: &str) -> Option<&str> {
    if !is_timestamp(text) {
        return None;
    }
    let rest = text.get(WHOLE_WITHOUT_Z..)?.strip_suffix('Z')?;
    Some(rest.strip_prefix('.').unwrap_or(rest))
}

/// Whether a text is a timestamp that sorts by time: in UTC, with all its fields.
pub(crate) fn is_timestamp(text: &str) -> bool {
    let Some(rest) = text.strip_suffix('Z') else {
        return false;
    };
    let (whole, fraction) = rest
        .split_once('.')
        .map_or((rest, None), |(whole, part)| (whole, Some(part)));
    has_form(whole)
        && fields_in_bounds(whole)
        && fraction.is_none_or(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn has_form(whole: &str) -> bool {
    const FORM: &[u8] = b"dddd-dd-ddTdd:dd:dd";
    whole.len() == FORM.len()
        && whole.bytes().zip(FORM).all(|(byte, form)| match form {
            b'd' => byte.is_ascii_digit(),
            _ => byte == *form,
        })
}

fn fields_in_bounds(whole: &str) -> bool {
    let field = |range| {
        whole
            .get(range)
            .and_then(|digits: &str| digits.parse::<u32>().ok())
    };
    let (Some(year), Some(month), Some(day)) = (field(0..4), field(5..7), field(8..10)) else {
        return false;
    };
    let time = [(11..13, 23), (14..16, 59), (17..19, 59)];
    // There is no year 0, and a leap second has no epoch second of its own.
    year > 0
        && (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && time
            .into_iter()
            .all(|(range, max)| field(range).is_some_and(|value| value <= max))
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The timestamp of a moment, to the millisecond. All have the same length, so that they sort.
#[must_use]
pub fn timestamp_text(epoch_ms: u64) -> String {
    timestamp_text_in(epoch_ms, Precision::Millis)
}

/// The timestamp of a moment in a precision.
#[must_use]
pub fn timestamp_text_in(epoch_ms: u64, precision: Precision) -> String {
    let (seconds, millis) = (epoch_ms / 1000, epoch_ms % 1000);
    let (days, in_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
    let whole = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    match precision.digits() {
        0 => format!("{whole}Z"),
        digits => format!("{whole}.{:0<digits$}Z", format!("{millis:03}")),
    }
}

/// Days since 1970 as a date, counted in years that begin in March, so that the leap day comes last.
fn civil(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    const FROM_YEAR_0_TO_1970: u64 = 719_468;
    let days = days + FROM_YEAR_0_TO_1970;
    let (era, in_era) = (days / DAYS_IN_400_YEARS, days % DAYS_IN_400_YEARS);
    let year_in_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
    let in_year = in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
    let from_march = (5 * in_year + 2) / 153;
    let day = in_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (era * 400 + year_in_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_utc_timestamps_are_taken() {
        for good in [
            "2019-12-30T19:32:14Z",
            "2020-02-29T00:00:00.123Z",
            "0001-01-01T00:00:00Z",
            "2000-02-29T23:59:59Z",
        ] {
            assert!(is_timestamp(good), "{good}");
        }
        for bad in [
            "2019-12-30",
            "2019-12-30T19:32:14+01:00",
            "2019-02-29T00:00:00Z",
            "2019-13-01T00:00:00Z",
            "2019-12-30T24:00:00Z",
            "2016-12-31T23:59:60Z",
            "0000-12-30T19:32:14Z",
            "2019-12-30T19:32:14.Z",
            "2019-12-3ÖT19:32:1Z",
            "",
        ] {
            assert!(!is_timestamp(bad), "{bad}");
        }
    }

    #[test]
    fn a_moment_is_written_in_every_precision() {
        for (name, precision) in Precision::ALL {
            let text = timestamp_text_in(1_577_734_334_500, precision);
            assert_eq!(text.len(), precision.length(), "{name}");
            assert_eq!(Precision::of(precision.example()), Some(precision));
            assert_eq!(Precision::of(&text), Some(precision));
            assert_eq!(
                precision.of_moment("2019-12-30T19:32:14Z").map(|text| text.len()),
                Some(precision.length())
            );
        }
        let millis = Precision::Millis;
        assert_eq!(
            millis.of_moment("2019-12-30T19:32:14.5Z").as_deref(),
            Some("2019-12-30T19:32:14.500Z")
        );
        assert_eq!(millis.of_moment("2019-12-30T19:32:14.5000Z"), None);
        assert_eq!(Precision::of("2019-12-30T19:32:14.5Z"), None);
        assert_eq!(
            Precision::that_holds("2019-12-30T19:32:14.5000Z"),
            Some(Precision::Micros)
        );
    }

    #[test]
    fn a_moment_is_written_as_a_timestamp() {
        assert_eq!(timestamp_text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp_text(1_577_734_334_007), "2019-12-30T19:32:14.007Z");
        assert_eq!(timestamp_text(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert!(is_timestamp(&timestamp_text(u64::MAX / 100_000)));
    }
}
