//! Which of the requests that a rule matches get its fault.

use super::rule::FaultRule;
use std::sync::atomic::{AtomicU64, Ordering};

/// A rule in force, with what it did.
pub(super) struct RuleInForce {
    pub(super) rule: FaultRule,
    seed: u64,
    matched: AtomicU64,
    injected: AtomicU64,
}

impl RuleInForce {
    pub(super) fn new(rule: FaultRule) -> Self {
        RuleInForce {
            seed: rule.seed.unwrap_or_else(trestle_env::ids::random_u64),
            rule,
            matched: AtomicU64::new(0),
            injected: AtomicU64::new(0),
        }
    }

    /// Whether the next request that the rule matches gets the fault. That depends only on the seed and the
    /// number of the request.
    pub(super) fn draw(&self) -> bool {
        let number = self.matched.fetch_add(1, Ordering::Relaxed);
        part_of_one(self.seed, number) < self.rule.share && self.count()
    }

    /// Counts a fault, unless the rule has none left.
    fn count(&self) -> bool {
        let most = self.rule.times.unwrap_or(u64::MAX);
        let counted = self
            .injected
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |injected| {
                (injected < most).then(|| injected.saturating_add(1))
            });
        counted.is_ok()
    }

    pub(super) fn matched(&self) -> u64 {
        self.matched.load(Ordering::Relaxed)
    }

    pub(super) fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }
}

/// The n-th number of a seed, uniform from 0 to below 1: SplitMix64, whose numbers can be computed individually.
fn part_of_one(seed: u64, number: u64) -> f64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut mixed = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(STEP));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (mixed >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(rule: &str, requests: usize) -> Vec<bool> {
        let rule = RuleInForce::new(rule.parse().unwrap());
        (0..requests).map(|_| rule.draw()).collect()
    }

    fn hits(drawn: &[bool]) -> usize {
        drawn.iter().filter(|hit| **hit).count()
    }

    #[test]
    fn a_seed_decides_which_requests_and_the_share_how_many() {
        let first = drawn("internal,share=0.3,seed=1", 10_000);
        assert_eq!(first, drawn("internal,share=0.3,seed=1", 10_000));
        assert_ne!(first, drawn("internal,share=0.3,seed=2", 10_000));
        assert!((2_800..3_200).contains(&hits(&first)), "{}", hits(&first));
        assert_eq!(hits(&drawn("internal,share=0", 1_000)), 0);
        assert_eq!(hits(&drawn("internal", 1_000)), 1_000);
    }

    #[test]
    fn a_rule_is_used_up_after_its_times() {
        assert_eq!(drawn("internal,times=2", 4), [true, true, false, false]);
        let rule = RuleInForce::new("internal,times=2".parse().unwrap());
        let hits = (0..5).filter(|_| rule.draw()).count();
        assert_eq!(hits, 2);
        assert_eq!((rule.matched(), rule.injected()), (5, 2));
    }
}
