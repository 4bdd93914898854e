//! Points in time in the form of signatures: `20150830T123600Z`.

use std::fmt;

const DAY_S: u64 = 24 * 60 * 60;

/// Latest second that still has a four-digit year: the end of 9999.
const EPOCH_S_MAX: u64 = 253_402_300_799;

/// Whole seconds since the epoch, printed in ISO-8601 basic format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// The moment so many seconds after 1970; the end of the year 9999 at the latest.
    pub fn from_epoch_s(seconds: u64) -> Self {
        Moment(seconds.min(EPOCH_S_MAX))
    }

    /// Reads `20150830T123600Z`; `None` for any other form and for days and hours that do not exist.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() != 16 || bytes.get(8) != Some(&b'T') || bytes.get(15) != Some(&b'Z') {
            return None;
        }
        let number = |from: usize, to: usize| -> Option<u64> {
            let digits = text.get(from..to)?;
            digits
                .bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| digits.parse().ok())?
        };
        let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
        let (hour, minute, second) = (number(9, 11)?, number(11, 13)?, number(13, 15)?);
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_since_epoch(year, month, day)?;
        Some(Moment(days * DAY_S + hour * 3600 + minute * 60 + second))
    }

    /// So many seconds later.
    pub fn plus_s(self, seconds: u64) -> Self {
        Moment::from_epoch_s(self.0.saturating_add(seconds))
    }

    /// So many seconds earlier.
    pub fn minus_s(self, seconds: u64) -> Self {
        Moment(self.0.saturating_sub(seconds))
    }

    /// The day alone: `20150830`.
    pub fn date(self) -> String {
        let (year, month, day) = civil_date(self.0 / DAY_S);
        format!("{year:04}{month:02}{day:02}")
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let second = self.0 % DAY_S;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{}T{hour:02}{minute:02}{second:02}Z", self.date())
    }
}

/// Days from 1970-01-01 to a date, which must exist and not be earlier.
fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    let whole_years = (year - 1970) * 365 + leap_days_before(year) - leap_days_before(1970);
    let whole_months: u64 = (1..month).map(|month| days_in(year, month)).sum();
    Some(whole_years + whole_months + day - 1)
}

fn civil_date(mut days: u64) -> (u64, u64, u64) {
    // At 366 days per year the estimate is never too late, and at most a few years too early.
    let mut year = 1970 + days / 366;
    days -= (year - 1970) * 365 + leap_days_before(year) - leap_days_before(1970);
    while days >= days_in_year(year) {
        days -= days_in_year(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

fn leap_days_before(year: u64) -> u64 {
    let last = year - 1;
    last / 4 - last / 100 + last / 400
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_read_and_printed() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_440_938_160, "20150830T123600Z"),
            (4_107_542_399, "21000228T235959Z"),
            (EPOCH_S_MAX, "99991231T235959Z"),
        ] {
            assert_eq!(Moment::from_epoch_s(seconds).to_string(), text);
            assert_eq!(Moment::parse(text), Some(Moment(seconds)));
        }
    }

    #[test]
    fn every_day_of_eight_centuries_survives_the_round_trip() {
        for day in 0..292_000 {
            let moment = Moment::from_epoch_s(day * DAY_S + 12_345);
            assert_eq!(Moment::parse(&moment.to_string()), Some(moment));
        }
    }

    #[test]
    fn moments_that_do_not_exist_are_refused() {
        for text in [
            "20150830T123600",
            "20150830 123600Z",
            "20150229T000000Z",
            "21000229T000000Z",
            "20151301T000000Z",
            "20150100T000000Z",
            "20150101T240000Z",
            "19691231T235959Z",
            "+0150101T000000Z",
            "2015-08-30T12:36",
            "2015é101T00000Z",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }
}
