//! The maximum rate of moves.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum number of rows to move per second; `null` in JSON if there is no limit.
///
/// A row that is only checked counts as a tenth of one that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(Option<NonZeroU32>);

impl Rate {
    /// Without a limit.
    pub const UNLIMITED: Rate = Rate(None);

    /// This many rows per second.
    #[must_use]
    pub const fn rows_per_second(rows: NonZeroU32) -> Self {
        Rate(Some(rows))
    }

    /// The maximum number of rows per second, if there is a limit.
    #[must_use]
    pub fn limit(self) -> Option<NonZeroU32> {
        self.0
    }
}

impl Default for Rate {
    /// 2000 rows per second: little enough for clients that read and write meanwhile.
    fn default() -> Self {
        const ROWS: NonZeroU32 = match NonZeroU32::new(2000) {
            Some(rows) => rows,
            None => NonZeroU32::MIN,
        };
        Rate(Some(ROWS))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rows) => write!(f, "{rows} rows/s"),
            None => f.write_str("unlimited"),
        }
    }
}

/// A rate is a number of rows per second from 1 on, or `unlimited`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a number of rows per second, such as 2000, or `unlimited`")]
pub struct RateError;

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        match text {
            "unlimited" => Ok(Rate::UNLIMITED),
            rows => rows.parse().map(|rows| Rate(Some(rows))).map_err(|_| RateError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_or_unlimited() {
        assert_eq!("2000".parse(), Ok(Rate::default()));
        assert_eq!("unlimited".parse(), Ok(Rate::UNLIMITED));
        for wrong in ["0", "-1", "fast", "", "1.5"] {
            assert_eq!(wrong.parse::<Rate>(), Err(RateError), "{wrong}");
        }
        let json = serde_json::to_string(&[Rate::default(), Rate::UNLIMITED]).unwrap();
        assert_eq!(json, "[2000,null]");
    }
}
