//! Converts single values, by their type.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use trestle_item::{AttributeValue, Number, NumberError};
use trestle_model::Precision;

use super::moment::{Moment, date_of_days, days_of_date, nanos_of_time};
use crate::schema::Native;

/// The text form of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlobText {
    /// `0x00ff`, as in `cqlsh`.
    Hexadecimal,
    /// Base64, as in `dsbulk`.
    Base64,
}

/// The value of a text with this type, or the error as the rest of a sentence about the text.
pub(super) fn scalar(native: Native, text: &str, blobs: BlobText) -> Result<AttributeValue, String> {
    Ok(match native {
        Native::Text => AttributeValue::from(text),
        Native::Integer | Native::Varint | Native::Counter => AttributeValue::N(whole(text)?),
        Native::Decimal | Native::Float => AttributeValue::N(number(text)?),
        Native::Boolean => AttributeValue::Bool(truth(text)?),
        Native::Blob => AttributeValue::B(bytes(text, blobs)?),
        Native::Timestamp => AttributeValue::S(moment(text)?.text(Precision::Millis)?),
        Native::Date => AttributeValue::S(date(text)?),
        Native::Time => AttributeValue::S(time(text)?),
        Native::Duration => AttributeValue::S(duration(text)?),
        Native::Uuid => AttributeValue::S(uuid(text)?),
        Native::Timeuuid => AttributeValue::S(timeuuid(text)?),
        Native::Inet => AttributeValue::S(address(text)?),
    })
}

fn whole(text: &str) -> Result<Number, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err("is no whole number".to_owned());
    }
    number(text)
}

fn number(text: &str) -> Result<Number, String> {
    let lower = text.to_ascii_lowercase();
    if ["nan", "inf", "infinity"].contains(&lower.trim_start_matches(['-', '+'])) {
        return Err(
            "is no number that DynamoDB has; correct it in Cassandra, or import the column with `as = \"text\"`".to_owned(),
        );
    }
    Number::parse(text).map_err(|error| match error {
        NumberError::TooPrecise => {
            "has more than 38 digits, which is all that DynamoDB's numbers hold; import the column with `as = \"text\"`"
                .to_owned()
        }
        NumberError::Overflow | NumberError::Underflow => {
            "is beyond DynamoDB's numbers, which go from 1E-130 to 9.9E+125; import the column with `as = \"text\"`".to_owned()
        }
        NumberError::Empty | NumberError::Malformed(_) => "is no number".to_owned(),
    })
}

fn truth(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "t" | "y" | "yes" => Ok(true),
        "false" | "0" | "f" | "n" | "no" => Ok(false),
        _ => Err("is neither true nor false".to_owned()),
    }
}

fn bytes(text: &str, blobs: BlobText) -> Result<Vec<u8>, String> {
    match blobs {
        BlobText::Hexadecimal => hexadecimal(text).ok_or_else(|| "is no blob, such as 0x00ff".to_owned()),
        BlobText::Base64 => STANDARD.decode(text).map_err(|_| "is no Base64".to_owned()),
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

/// A timestamp.
pub(super) fn moment(text: &str) -> Result<Moment, String> {
    Moment::parse(text).ok_or_else(|| {
        "is no timestamp, such as 2019-12-30 19:32:14.000+0000 or 2019-12-30T19:32:14Z".to_owned()
    })
}

/// `cqlsh` writes the days since 1970 for dates that Python does not support.
fn date(text: &str) -> Result<String, String> {
    let days = days_of_date(text).or_else(|| text.parse::<i32>().ok().map(i64::from));
    let days = days.ok_or("is no date, such as 2019-12-30")?;
    date_of_days(days).ok_or_else(|| {
        "is a date beyond the years 1 to 9999; import the column with `as = \"text\"`".to_owned()
    })
}

/// With nine digits, so that texts sort by time.
fn time(text: &str) -> Result<String, String> {
    let nanos = nanos_of_time(text).ok_or("is no time, such as 19:32:14.000000000")?;
    let (seconds, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    Ok(format!("{hour:02}:{minute:02}:{second:02}.{fraction:09}"))
}

/// `1y2mo3d4h`, unchanged: its parts have no common unit.
fn duration(text: &str) -> Result<String, String> {
    const UNITS: [&str; 11] = ["mo", "ms", "us", "µs", "ns", "y", "w", "d", "h", "m", "s"];
    let mut rest = text.strip_prefix('-').unwrap_or(text);
    let is_iso = rest.starts_with('P')
        && rest
            .bytes()
            .skip(1)
            .all(|c| c.is_ascii_alphanumeric() || b"-:.".contains(&c));
    let mut parts = 0;
    while !is_iso && !rest.is_empty() {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let unit = UNITS.iter().find_map(|unit| behind.strip_prefix(unit));
        match unit {
            Some(next) if behind.len() < rest.len() => rest = next,
            _ => return Err("is no duration, such as 1y2mo3d4h".to_owned()),
        }
        parts += 1;
    }
    if is_iso || parts > 0 {
        return Ok(text.to_owned());
    }
    Err("is no duration, such as 1y2mo3d4h".to_owned())
}

fn uuid(text: &str) -> Result<String, String> {
    let is_uuid = text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid {
        return Ok(text.to_ascii_lowercase());
    }
    Err("is no uuid".to_owned())
}

/// A uuid that contains a time.
pub(super) fn timeuuid(text: &str) -> Result<String, String> {
    let uuid = uuid(text)?;
    if uuid.as_bytes().get(14) == Some(&b'1') {
        return Ok(uuid);
    }
    Err("is no timeuuid: its version is not 1".to_owned())
}

fn address(text: &str) -> Result<String, String> {
    let address: Result<IpAddr, _> = text.trim_start_matches('/').parse();
    address
        .map(|address| address.to_string())
        .map_err(|_| "is no internet address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(native: Native, text: &str, expected: impl Into<AttributeValue>) {
        assert_eq!(
            scalar(native, text, BlobText::Hexadecimal),
            Ok(expected.into()),
            "{text}"
        );
    }

    #[test]
    fn each_type_has_its_values() {
        check(Native::Integer, "-7", -7_i64);
        check(Native::Counter, "7", 7_i64);
        check(Native::Decimal, "1.50", Number::parse("1.5").unwrap());
        check(Native::Float, "1e-05", Number::parse("0.00001").unwrap());
        check(Native::Boolean, "True", true);
        check(Native::Boolean, "0", false);
        check(Native::Blob, "0x00fF", vec![0, 255]);
        check(Native::Blob, "0x", Vec::<u8>::new());
        check(
            Native::Uuid,
            "550E8400-E29B-41D4-A716-446655440000",
            "550e8400-e29b-41d4-a716-446655440000",
        );
        check(Native::Inet, "::FFFF", "::ffff");
        check(Native::Inet, "/127.0.0.1", "127.0.0.1");
        check(Native::Date, "2019-12-30", "2019-12-30");
        check(Native::Date, "18260", "2019-12-30");
        check(Native::Time, "19:32:14.5", "19:32:14.500000000");
        check(Native::Duration, "1mo2d3000ns", "1mo2d3000ns");
        check(Native::Duration, "-P1Y", "-P1Y");
        assert_eq!(
            scalar(Native::Blob, "AP8=", BlobText::Base64),
            Ok(vec![0, 255].into())
        );
    }

    #[test]
    fn what_is_none_of_its_type_is_refused() {
        for (native, text, told) in [
            (Native::Integer, "1.5", "whole"),
            (Native::Integer, "", "whole"),
            (
                Native::Varint,
                "123456789012345678901234567890123456789",
                "38 digits",
            ),
            (Native::Decimal, "1E+126", "9.9E+125"),
            (Native::Float, "-Infinity", "text"),
            (Native::Float, "NaN", "text"),
            (Native::Boolean, "maybe", "true"),
            (Native::Blob, "0x0", "0x00ff"),
            (Native::Blob, "é", "0x00ff"),
            (Native::Uuid, "550e8400", "uuid"),
            (
                Native::Timeuuid,
                "550e8400-e29b-41d4-a716-446655440000",
                "version",
            ),
            (Native::Inet, "localhost", "address"),
            (Native::Date, "2019-02-30", "date"),
            (Native::Date, "-719529", "9999"),
            (Native::Time, "25:00:00", "time"),
            (Native::Duration, "1y2", "duration"),
            (Native::Duration, "", "duration"),
        ] {
            let error = scalar(native, text, BlobText::Hexadecimal).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
