//! Writes values in the form of `cqlsh`.

use num_bigint::BigInt;

use crate::value::{date_of_days, timestamp_of_millis};

/// CQL counts days from 2^31 days before 1970.
const FIRST_DAY: i64 = 1 << 31;

/// `0x00ff`.
pub(super) fn blob(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
    text
}

/// A number in two's complement.
pub(super) fn varint(bytes: &[u8]) -> String {
    BigInt::from_signed_bytes_be(bytes).to_string()
}

/// Digits divided by a power of ten: in plain form if it has few zeroes, as in Java and Python.
pub(super) fn decimal(unscaled: &str, scale: i32) -> String {
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled),
    };
    let length = digits.len() as i64;
    let scale = i64::from(scale);
    let exponent = length - 1 - scale;
    if scale < 0 || exponent < -6 {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}E{exponent:+}");
    }
    // At most six zeroes precede its digits here.
    let padded = format!(
        "{digits:0>width$}",
        width = usize::try_from(scale + 1).unwrap_or(0).max(digits.len())
    );
    let (whole, fraction) = padded.split_at(padded.len() - usize::try_from(scale).unwrap_or(0));
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// Without a fraction of zero.
pub(super) fn floating(mut text: String) -> String {
    if text.ends_with(".0") {
        text.truncate(text.len() - 2);
    }
    text
}

/// `2019-12-30 19:32:14.500+0000`; milliseconds outside of the years 1 to 9999.
pub(super) fn timestamp(millis: i64) -> String {
    timestamp_of_millis(millis).unwrap_or_else(|| millis.to_string())
}

/// `2019-12-30`; the days since 1970 outside of the years 1 to 9999.
pub(super) fn date(day: u32) -> String {
    let days = i64::from(day) - FIRST_DAY;
    date_of_days(days).unwrap_or_else(|| days.to_string())
}

/// `19:32:14.000000001`.
pub(super) fn time(nanos: i64) -> String {
    let (seconds, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hour:02}:{minute:02}:{second:02}.{fraction:09}")
}

/// `-1y2mo3d4h5m6s7ms8us9ns`: one sign for all parts.
pub(super) fn duration(months: i32, days: i32, nanos: i64) -> String {
    const NANOS: [(u64, &str); 6] = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
        (1, "ns"),
    ];
    let mut text = String::new();
    if months < 0 || days < 0 || nanos < 0 {
        text.push('-');
    }
    let mut part = |amount: u64, unit: &str| {
        if amount > 0 {
            text += &format!("{amount}{unit}");
        }
    };
    let months = u64::from(months.unsigned_abs());
    part(months / 12, "y");
    part(months % 12, "mo");
    part(u64::from(days.unsigned_abs()), "d");
    let mut rest = nanos.unsigned_abs();
    for (size, unit) in NANOS {
        part(rest / size, unit);
        rest %= size;
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_cqlsh_does() {
        assert_eq!(blob(&[0, 255]), "0x00ff");
        assert_eq!(varint(&[0xff]), "-1");
        assert_eq!(varint(&[0x00, 0xff]), "255");
        for (unscaled, scale, expected) in [
            ("-1234", 23, "-1.234E-20"),
            ("1", -20, "1E+20"),
            ("150", 2, "1.50"),
            ("-5", 1, "-0.5"),
            ("1", 6, "0.000001"),
            ("1", 7, "1E-7"),
            ("42", 0, "42"),
            ("0", 2, "0.00"),
        ] {
            assert_eq!(decimal(unscaled, scale), expected);
        }
        assert_eq!(floating(format!("{:?}", 3.0_f64)), "3");
        assert_eq!(floating(format!("{:?}", 1e100_f64)), "1e100");
        assert_eq!(timestamp(1_577_734_334_500), "2019-12-30 19:32:14.500+0000");
        assert_eq!(timestamp(i64::MAX), i64::MAX.to_string());
        assert_eq!(date(1 << 31), "1970-01-01");
        assert_eq!(date((1 << 31) - 719_529), "-719529");
        assert_eq!(time(70_334_000_000_001), "19:32:14.000000001");
        assert_eq!(duration(14, 3, 14_706_007_008_009), "1y2mo3d4h5m6s7ms8us9ns");
        assert_eq!(duration(0, -1, -2), "-1d2ns");
    }
}
