//! `/_trestle/clock`: lets a test move time, and with it expiry, retention and idempotency.

use crate::reply::Reply;
use hyper::{Method, StatusCode};
use serde::Deserialize;
use std::time::Duration;
use trestle_env::{Clock, Timestamp, VirtualClock};

pub(crate) const CLOCK_PATH: &str = "/_trestle/clock";

/// What a caller may ask of the clock; exactly one of the two.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockMove {
    advance_seconds: Option<f64>,
    set: Option<f64>,
}

/// Answers when the server runs on real time.
pub(crate) fn no_movable_clock() -> Reply {
    Reply::text(
        StatusCode::NOT_FOUND,
        "This server follows the real time. Start it with --virtual-clock to move its clock.\n",
    )
}

/// Reads the clock, or moves it first.
pub(crate) fn clock(clock: &VirtualClock, method: &Method, body: &[u8]) -> Reply {
    if method == Method::POST
        && let Err(problem) = move_clock(clock, body)
    {
        return Reply::text(StatusCode::BAD_REQUEST, problem + "\n");
    }
    let now = serde_json::json!({ "now": clock.now().as_secs_f64() });
    Reply::admin(StatusCode::OK, now.to_string())
}

fn move_clock(clock: &VirtualClock, body: &[u8]) -> Result<(), String> {
    const USAGE: &str = r#"Send {"advance_seconds": 3600} or {"set": 1767225600}"#;
    let wanted: ClockMove = serde_json::from_slice(body).map_err(|error| format!("{USAGE}: {error}."))?;
    match (wanted.advance_seconds, wanted.set) {
        (Some(by), None) => {
            clock.advance(duration(by)?);
        }
        (None, Some(to)) => clock.set(Timestamp::EPOCH.plus(duration(to)?)),
        _ => return Err(format!("{USAGE}.")),
    }
    Ok(())
}

fn duration(seconds: f64) -> Result<Duration, String> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| format!("{seconds} is not a number of seconds that the clock can be moved by."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch_s: u64) -> VirtualClock {
        VirtualClock::starting_at(Timestamp::from_secs(epoch_s))
    }

    #[test]
    fn the_clock_can_be_set_and_advanced() {
        let clock = at(100);
        assert_eq!(move_clock(&clock, br#"{"advance_seconds": 1.5}"#), Ok(()));
        assert_eq!(clock.now().as_millis(), 101_500);
        assert_eq!(move_clock(&clock, br#"{"set": 50}"#), Ok(()));
        assert_eq!(clock.now().as_secs(), 50);
    }

    #[test]
    fn anything_else_leaves_the_clock_alone() {
        let clock = at(100);
        for body in [
            "",
            "{}",
            r#"{"set": 1, "advance_seconds": 1}"#,
            r#"{"advance_seconds": -1}"#,
            r#"{"set": 1e400}"#,
            r#"{"advance_seconds": "1"}"#,
            r#"{"advance": 1}"#,
        ] {
            assert!(move_clock(&clock, body.as_bytes()).is_err(), "{body}");
        }
        assert_eq!(clock.now().as_secs(), 100);
    }
}
