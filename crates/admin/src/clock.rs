//! Calls about the clock of a server that was started with `--virtual-clock`.

use crate::AdminError;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use trestle_env::{Clock, Timestamp, VirtualClock};

/// Reads the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadClock {}

/// Moves the clock, and with it expiry, retention, timers and idempotency. Exactly one of the two members
/// must be given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MoveClock {
    /// By this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advance_seconds: Option<f64>,
    /// To this time, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<f64>,
}

/// The answer to [`ReadClock`] and [`MoveClock`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockTime {
    /// Seconds since 1970.
    pub now: f64,
}

/// Answers [`ReadClock`].
pub fn read_clock(clock: Option<&VirtualClock>) -> Result<ClockTime, AdminError> {
    let clock = clock.ok_or_else(no_clock)?;
    Ok(ClockTime {
        now: clock.now().as_secs_f64(),
    })
}

/// Answers [`MoveClock`].
pub fn move_clock(clock: Option<&VirtualClock>, wanted: MoveClock) -> Result<ClockTime, AdminError> {
    let moved = clock.ok_or_else(no_clock)?;
    match (wanted.advance_seconds, wanted.set) {
        (Some(by), None) => {
            moved.advance(duration(by)?);
        }
        (None, Some(to)) => moved.set(Timestamp::EPOCH.plus(duration(to)?)),
        _ => return Err(AdminError::invalid(USAGE)),
    }
    read_clock(clock)
}

const USAGE: &str = r#"send {"advance_seconds": 3600} or {"set": 1767225600}"#;

fn no_clock() -> AdminError {
    AdminError::not_found(
        "this server follows the real time; start it with --virtual-clock to move its clock",
    )
}

fn duration(seconds: f64) -> Result<Duration, AdminError> {
    Duration::try_from_secs_f64(seconds).map_err(|_| {
        AdminError::invalid(format!(
            "{seconds} is not a number of seconds that the clock can be moved by"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(epoch_s: u64) -> VirtualClock {
        VirtualClock::starting_at(Timestamp::from_secs(epoch_s))
    }

    fn asked(advance_seconds: Option<f64>, set: Option<f64>) -> MoveClock {
        MoveClock { advance_seconds, set }
    }

    #[test]
    fn the_clock_can_be_set_and_advanced() {
        let clock = at(100);
        let moved = move_clock(Some(&clock), asked(Some(1.5), None)).unwrap();
        assert_eq!((moved.now, clock.now().as_millis()), (101.5, 101_500));
        move_clock(Some(&clock), asked(None, Some(50.0))).unwrap();
        assert_eq!(clock.now().as_secs(), 50);
    }

    #[test]
    fn anything_else_leaves_the_clock_alone() {
        let clock = at(100);
        for wrong in [
            asked(None, None),
            asked(Some(1.0), Some(1.0)),
            asked(Some(-1.0), None),
            asked(None, Some(f64::INFINITY)),
            asked(Some(f64::NAN), None),
        ] {
            assert!(move_clock(Some(&clock), wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(clock.now().as_secs(), 100);
        let refused = read_clock(None).unwrap_err();
        assert!(refused.message.contains("--virtual-clock"), "{refused}");
    }
}
