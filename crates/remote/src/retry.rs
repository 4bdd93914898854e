//! How often to try, and how long to wait in between.

use std::time::Duration;
use trestle_api::{Error, ErrorKind};
use trestle_env::ids::random_u64;

/// The most tries of one request.
pub(crate) const TRIES_MAX: u32 = 4;

const FIRST_PAUSE_MAX: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A pause after so many tries: up to twice as long each time, and by chance, so that many who were refused together
/// do not come back together.
pub(crate) fn pause(tries: u32) -> Duration {
    pause_of(tries, random_u64())
}

fn pause_of(tries: u32, chance: u64) -> Duration {
    let doubled =
        FIRST_PAUSE_MAX.saturating_mul(1_u32.checked_shl(tries.saturating_sub(1)).unwrap_or(u32::MAX));
    let most = doubled.min(PAUSE_MAX);
    let micros = u64::try_from(most.as_micros()).unwrap_or(u64::MAX).max(1);
    Duration::from_micros(chance % micros)
}

/// Whether the endpoint had too much to do: it did nothing, and asks for patience.
pub(crate) fn is_throttled(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ProvisionedThroughputExceeded | ErrorKind::RequestLimitExceeded | ErrorKind::Throttling
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_end() {
        let longest = |tries| pause_of(tries, 99_999);
        assert_eq!(pause_of(1, 100_000), Duration::ZERO);
        assert_eq!(longest(1), Duration::from_micros(99_999));
        assert_eq!(pause_of(2, 199_999), Duration::from_micros(199_999));
        assert!((1..200).all(|tries| pause(tries) < PAUSE_MAX));
    }
}
