//! Timestamps as text: `2019-12-30T19:32:14Z`, with or without a fraction, always in UTC.

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
    let time = [(11..13, 23), (14..16, 59), (17..19, 60)];
    (1..=12).contains(&month)
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

/// The timestamp of a moment, to the millisecond. Always of one length, so that all of them sort.
#[must_use]
pub fn timestamp_text(epoch_ms: u64) -> String {
    let (seconds, millis) = (epoch_ms / 1000, epoch_ms % 1000);
    let (days, in_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (in_day / 3600, in_day / 60 % 60, in_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
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
            "2000-02-29T23:59:60Z",
        ] {
            assert!(is_timestamp(good), "{good}");
        }
        for bad in [
            "2019-12-30",
            "2019-12-30T19:32:14+01:00",
            "2019-02-29T00:00:00Z",
            "2019-13-01T00:00:00Z",
            "2019-12-30T24:00:00Z",
            "2019-12-30T19:32:14.Z",
            "2019-12-3ÖT19:32:1Z",
            "",
        ] {
            assert!(!is_timestamp(bad), "{bad}");
        }
    }

    #[test]
    fn a_moment_is_written_as_a_timestamp() {
        assert_eq!(timestamp_text(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp_text(1_577_734_334_007), "2019-12-30T19:32:14.007Z");
        assert_eq!(timestamp_text(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert!(is_timestamp(&timestamp_text(u64::MAX / 100_000)));
    }
}
