//! Parses expiry times of keys, as sources write them.

use std::time::Duration;
use trestle_env::{Timestamp, parse_iso_8601};

/// Parses `2026-11-18T03:00:00Z`, with or without a fraction, and the same with an offset:
/// `2026-11-18T03:00:00+00:00`.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    if text.ends_with('Z') {
        return parse_iso_8601(text);
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let at = parse_iso_8601(&format!("{local}Z"))?;
    let (is_ahead, offset) = match offset.split_at_checked(1)? {
        ("+", offset) => (true, offset),
        ("-", offset) => (false, offset),
        _ => return None,
    };
    let (hours, minutes) = offset.split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let offset = Duration::from_secs(hours * 3600 + minutes * 60);
    Some(match is_ahead {
        true => at.minus(offset),
        false => at.plus(offset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_and_without_an_offset() {
        let at = Some(Timestamp::from_secs(1_795_000_000));
        for text in [
            "2026-11-18T11:06:40Z",
            "2026-11-18T11:06:40.000Z",
            "2026-11-18T11:06:40+00:00",
            "2026-11-18T13:06:40+02:00",
            "2026-11-18T05:36:40-05:30",
        ] {
            assert_eq!(parse(text), at, "{text}");
        }
        for text in [
            "",
            "soon",
            "2026-11-18",
            "2026-11-18T11:06:40",
            "2026-11-18T11:06:40+0x:00",
            "é+00:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
