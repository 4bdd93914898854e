//! Points in time: parsed from exports, and written for the model.

use trestle_model::Precision;

const NANOS: i128 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;
/// The years that a timestamp of a model can have.
const YEARS: std::ops::RangeInclusive<i64> = 1..=9999;

/// A point in time, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(i128);

impl Moment {
    pub(crate) fn from_millis(millis: i64) -> Self {
        Moment(i128::from(millis) * 1_000_000)
    }

    /// The time in a `timeuuid`: 100 nanoseconds since 15 October 1582.
    pub(crate) fn of_timeuuid(uuid: &str) -> Option<Self> {
        const UUID_EPOCH: i128 = 0x01B2_1DD2_1381_4000;
        let part = |from: usize, to: usize| u64::from_str_radix(uuid.get(from..to)?, 16).ok();
        let (low, middle, high) = (part(0, 8)?, part(9, 13)?, part(15, 18)?);
        let ticks = (high << 48) | (middle << 32) | low;
        Some(Moment((i128::from(ticks) - UUID_EPOCH) * 100))
    }

    /// `2019-12-30 19:32:14.000000+0000`, `2019-12-30T19:32:14Z`, or milliseconds since 1970. Without a zone it is UTC.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(millis) = text.parse::<i64>() {
            return Some(Self::from_millis(millis));
        }
        let text = text.split('[').next()?.trim_end();
        let (date, rest) = text.split_at(text.find(['T', ' ']).unwrap_or(text.len()));
        let days = days_of_date(date)?;
        let rest = rest.strip_prefix(['T', ' ']).unwrap_or(rest);
        let (time, offset) = zone(rest)?;
        let nanos = match time {
            "" => 0,
            time => nanos_of_time(time)?,
        };
        let seconds = i128::from(days) * i128::from(DAY_SECONDS) - i128::from(offset);
        Some(Moment(seconds * NANOS + nanos))
    }

    /// Microseconds since 1970.
    pub(crate) fn micros(self) -> Option<i64> {
        i64::try_from(self.0.div_euclid(1_000)).ok()
    }

    /// Milliseconds since 1970, if it is a whole number of them.
    pub(crate) fn millis(self) -> Option<i64> {
        (self.0.rem_euclid(1_000_000) == 0).then(|| i64::try_from(self.0.div_euclid(1_000_000)).ok())?
    }

    /// Seconds since 1970, if it is a whole number of them.
    pub(crate) fn seconds(self) -> Option<i64> {
        (self.0.rem_euclid(NANOS) == 0).then(|| i64::try_from(self.0.div_euclid(NANOS)).ok())?
    }

    /// The form of a model's timestamp, or why it is impossible.
    pub(crate) fn text(self, precision: Precision) -> Result<String, String> {
        let seconds = i64::try_from(self.0.div_euclid(NANOS)).map_err(|_| out_of_years())?;
        let nanos = self.0.rem_euclid(NANOS);
        let (year, month, day) = civil_of_days(seconds.div_euclid(DAY_SECONDS));
        if !YEARS.contains(&year) {
            return Err(out_of_years());
        }
        let second = seconds.rem_euclid(DAY_SECONDS);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let whole = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        let (digits, unit) = match precision {
            Precision::Seconds => (0, NANOS),
            Precision::Millis => (3, 1_000_000),
            Precision::Micros => (6, 1_000),
            Precision::Nanos => (9, 1),
        };
        if nanos % unit != 0 {
            return Err(format!(
                "is finer than the precision {:?} of the attribute; declare a finer one",
                precision.name()
            ));
        }
        Ok(match digits {
            0 => format!("{whole}Z"),
            digits => format!("{whole}.{:0digits$}Z", nanos / unit),
        })
    }
}

fn out_of_years() -> String {
    "is not in the years 0001 to 9999, which a timestamp can have; import it as a number or with `as = \"text\"`".to_owned()
}

/// A time, and the offset of its zone from UTC in seconds.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return Some((time, 0));
    }
    let Some(at) = text.rfind(['+', '-']) else {
        return Some((text, 0));
    };
    let (time, zone) = (text.get(..at)?, text.get(at..)?);
    let digits: String = zone.chars().skip(1).filter(|c| *c != ':').collect();
    let is_zone = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let (hours, minutes): (i64, i64) = match is_zone {
        true => (digits.get(..2)?.parse().ok()?, digits.get(2..)?.parse().ok()?),
        false => return None,
    };
    let ahead = hours * 3600 + minutes * 60;
    Some((time, if zone.starts_with('-') { -ahead } else { ahead }))
}

/// Days since 1970 of `2019-12-30`. Python, and therefore `cqlsh`, writes early years with fewer digits.
pub(super) fn days_of_date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let is_date =
        parts.next().is_none() && (1..=4).contains(&year.len()) && (month.len(), day.len()) == (2, 2);
    let number = |text: &str| {
        text.bytes()
            .all(|c| c.is_ascii_digit())
            .then(|| text.parse::<i64>().ok())?
    };
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let days = days(year, month, day);
    // A day that does not exist converts back to another one.
    (is_date && civil_of_days(days) == (year, month, day)).then_some(days)
}

/// Nanoseconds of `19:32:14.5`; seconds may be left out.
pub(super) fn nanos_of_time(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let mut number = |most: i128| {
        let part = parts.next().unwrap_or("00");
        let is_number = part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_digit());
        let number = is_number.then(|| part.parse::<i128>().ok())??;
        (number <= most).then_some(number)
    };
    let seconds = number(23)? * 3600 + number(59)? * 60 + number(59)?;
    let is_time = parts.next().is_none() && whole.len() >= 5;
    let is_fraction = fraction.len() <= 9 && fraction.bytes().all(|digit| digit.is_ascii_digit());
    if !is_time || !is_fraction {
        return None;
    }
    let fraction: i128 = format!("{fraction:0<9}").parse().ok()?;
    Some(seconds * NANOS + fraction)
}

/// Days since 1970 of a date of the Gregorian calendar: counted in years that begin in March, and in eras of 400 years.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// `2019-12-30` of a day since 1970, if it is in the years 1 to 9999.
pub(crate) fn date_of_days(days: i64) -> Option<String> {
    let (year, month, day) = civil_of_days(days);
    YEARS
        .contains(&year)
        .then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// `2019-12-30 19:32:14.500+0000`, if it is in the years 1 to 9999.
#[cfg(feature = "live")]
pub(crate) fn timestamp_of_millis(millis: i64) -> Option<String> {
    let (seconds, millis) = (millis.div_euclid(1_000), millis.rem_euclid(1_000));
    let date = date_of_days(seconds.div_euclid(DAY_SECONDS))?;
    let second = seconds.rem_euclid(DAY_SECONDS);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!(
        "{date} {hour:02}:{minute:02}:{second:02}.{millis:03}+0000"
    ))
}

/// Year, month and day of a day since 1970.
fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(written: &str, expected: &str) {
        let moment = Moment::parse(written).unwrap();
        assert_eq!(moment.text(Precision::Millis).unwrap(), expected, "{written}");
    }

    #[test]
    fn all_ways_to_write_a_timestamp_mean_the_same() {
        for written in [
            "2019-12-30 19:32:14.500000+0000",
            "2019-12-30T19:32:14.5Z",
            "2019-12-30 20:32:14.500+01:00",
            "2019-12-30 14:02:14.500-0530",
            "2019-12-30T19:32:14.500Z[UTC]",
            "1577734334500",
        ] {
            check(written, "2019-12-30T19:32:14.500Z");
        }
        check("1969-12-31 23:59:59.999+0000", "1969-12-31T23:59:59.999Z");
        check("1-01-01 00:00:00.000+0000", "0001-01-01T00:00:00.000Z");
        check("-1", "1969-12-31T23:59:59.999Z");
        check("2020-02-29", "2020-02-29T00:00:00.000Z");
        for wrong in [
            "",
            "2019-02-29",
            "2019-13-01 00:00",
            "2019-12-30 24:00",
            "2019-12-30 1:00",
            "yesterday",
            "2019-1é-30",
        ] {
            assert_eq!(Moment::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let half = Moment::parse("2019-12-30T19:32:14.5Z").unwrap();
        assert!(half.text(Precision::Seconds).unwrap_err().contains("finer"));
        assert_eq!(half.seconds(), None);
        assert_eq!(half.millis(), Some(1_577_734_334_500));
        assert!(
            Moment::from_millis(i64::MAX)
                .text(Precision::Millis)
                .unwrap_err()
                .contains("9999")
        );
    }

    #[test]
    fn a_timeuuid_has_a_time() {
        let moment = Moment::of_timeuuid("5f5e5c00-2b3c-11ea-978f-2e728ce88125").unwrap();
        assert_eq!(
            moment.text(Precision::Nanos).unwrap(),
            "2019-12-30T19:41:28.627302400Z"
        );
    }

    proptest! {
        #[test]
        fn every_day_comes_back(day in -800_000_i64..3_000_000) {
            let (year, month, day_of_month) = civil_of_days(day);
            prop_assert_eq!(days(year, month, day_of_month), day);
        }

        #[test]
        fn every_moment_comes_back(millis in -62_135_596_800_000_i64..=253_402_300_799_999) {
            let moment = Moment::from_millis(millis);
            let text = moment.text(Precision::Millis).unwrap();
            prop_assert_eq!(Moment::parse(&text), Some(moment));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9TZ:. +é\\[-]{0,30}") {
            let _ = Moment::parse(&text);
        }
    }
}
