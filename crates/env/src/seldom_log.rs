//! Limits repeated log lines to one of each kind in a period. A client that is refused a thousand times per
//! second must not fill the disk.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The last log line of each kind. There are few kinds, which are names in the source.
#[derive(Debug)]
pub struct SeldomLog {
    period: Duration,
    kinds: Mutex<BTreeMap<&'static str, Period>>,
}

#[derive(Debug)]
struct Period {
    began: Instant,
    left_out: u64,
}

/// How many lines of the kind were left out before this one; `None` if there were none.
pub type LeftOut = Option<u64>;

impl SeldomLog {
    /// One line of each kind in a period.
    #[must_use]
    pub const fn every(period: Duration) -> Self {
        let kinds = Mutex::new(BTreeMap::new());
        SeldomLog { period, kinds }
    }

    /// Whether a line of this kind may be logged now.
    pub fn admit(&self, kind: &'static str) -> Option<LeftOut> {
        self.admit_at(kind, Instant::now())
    }

    fn admit_at(&self, kind: &'static str, now: Instant) -> Option<LeftOut> {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Period {
            began: now,
            left_out: 0,
        };
        match kinds.get_mut(kind) {
            Some(period) if now.duration_since(period.began) < self.period => {
                period.left_out += 1;
                None
            }
            Some(period) => {
                let before = std::mem::replace(period, begun).left_out;
                Some((before > 0).then_some(before))
            }
            None => {
                kinds.insert(kind, begun);
                Some(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_of_each_kind_in_a_period_says_how_many_were_left_out() {
        const PERIOD: Duration = Duration::from_secs(1);
        let (log, now) = (SeldomLog::every(PERIOD), Instant::now());
        assert_eq!(log.admit_at("a", now), Some(None));
        assert_eq!(log.admit_at("a", now), None);
        assert_eq!(log.admit_at("b", now), Some(None), "another kind");
        assert_eq!(log.admit_at("a", now + PERIOD / 2), None);
        assert_eq!(log.admit_at("a", now + PERIOD), Some(Some(2)));
        assert_eq!(log.admit_at("a", now + PERIOD * 2), Some(None));
    }
}
