//! Clock and randomness, requested from the system in one place.
//!
//! Everything that depends on time (expiry, retention, leases, idempotency) takes a [`Clock`], so that a test
//! or an administrator can move time and get the same behaviour as in real time, only sooner.
//!
//! ```
//! use std::time::Duration;
//! use trestle_env::{Clock, Timestamp, VirtualClock};
//!
//! let clock = VirtualClock::starting_at(Timestamp::from_secs(1_800_000_000));
//! clock.advance(Duration::from_secs(86_400));
//! assert_eq!(clock.now(), Timestamp::from_secs(1_800_086_400));
//! ```

mod alarm;
mod clock;
pub mod ids;
mod seldom_log;
mod sleeper;
mod timestamp;

pub use alarm::Alarm;
pub use clock::{Clock, SystemClock, VirtualClock};
pub use seldom_log::{LeftOut, SeldomLog};
pub use sleeper::{Signal, Sleeper};
pub use timestamp::{Timestamp, iso_8601_millis, parse_iso_8601};
