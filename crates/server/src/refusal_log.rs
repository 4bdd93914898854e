//! Which refusals are logged: one a second of each kind. A client that is refused a thousand times a second must not fill
//! the disk with it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PERIOD: Duration = Duration::from_secs(1);

/// What was logged last, by kind. Kinds are few: they are names in the source.
#[derive(Default)]
pub(crate) struct RefusalLog(Mutex<HashMap<&'static str, Period>>);

struct Period {
    began: Instant,
    left_out: u64,
}

/// How many lines of the kind were left out before this one; nothing if there were none.
pub(crate) type LeftOut = Option<u64>;

impl RefusalLog {
    /// Whether a refusal of this kind is to be logged now.
    pub(crate) fn admit(&self, kind: &'static str) -> Option<LeftOut> {
        self.admit_at(kind, Instant::now())
    }

    fn admit_at(&self, kind: &'static str, now: Instant) -> Option<LeftOut> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Period {
            began: now,
            left_out: 0,
        };
        match kinds.get_mut(kind) {
            Some(period) if now.duration_since(period.began) < PERIOD => {
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
    fn one_line_a_second_of_each_kind_says_how_many_were_left_out() {
        let (log, now) = (RefusalLog::default(), Instant::now());
        assert_eq!(log.admit_at("a", now), Some(None));
        assert_eq!(log.admit_at("a", now), None);
        assert_eq!(log.admit_at("b", now), Some(None), "another kind");
        assert_eq!(log.admit_at("a", now + PERIOD / 2), None);
        assert_eq!(log.admit_at("a", now + PERIOD), Some(Some(2)));
        assert_eq!(log.admit_at("a", now + PERIOD * 2), Some(None));
    }
}
