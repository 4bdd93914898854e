//! Time and chance, asked for in one place.
//!
//! Everything that follows a clock (expiry, retention, leases, idempotency) takes a [`Clock`], so a test or an
//! administrator can move time by hand and see the same behaviour as in real life, only sooner.

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
