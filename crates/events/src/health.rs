//! Whether the target of a route answers. If it does not, the lane is on hold: it sends one probe after each
//! pause, the pauses become longer, and no attempts of changes are counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use trestle_env::Timestamp;

use crate::lanes::LaneName;
use crate::live::Live;
use crate::parked::KeyName;
use crate::route::Backoff;
use crate::status::OnHold;

/// The longest pause before a probe, so that changes do not wait much longer than the outage lasts.
const PROBE_PAUSE_MAX: Duration = Duration::from_secs(15);
/// A hold that begins this soon after the last one is logged only if it lasts: a throttling target causes
/// many short holds.
const QUIET: Duration = Duration::from_secs(60);
/// The time after which a hold counts as lasting.
const LASTING: Duration = Duration::from_secs(5);
/// The status shows an attempt that takes longer than this.
const SLOW: Duration = Duration::from_secs(5);

/// The number of lanes whose last answer is remembered. A route may have any number of destinations, and
/// therefore lanes.
const REMEMBERED_MAX: usize = 10_000;

/// The state of the target of a route, by lane.
#[derive(Debug, Default)]
pub(crate) struct Health {
    lanes: Mutex<BTreeMap<LaneName, LaneHealth>>,
    /// Answers in all lanes.
    answers: AtomicU64,
    log: Mutex<HoldLog>,
    /// Rung when a hold ends, or its next probe is moved to an earlier time.
    pub(crate) bell: Notify,
    under_way: Mutex<UnderWay>,
}

#[derive(Debug, Default)]
struct LaneHealth {
    /// The number, among all answers, of the last one in this lane: the target took a change or refused one.
    answers: u64,
    hold: Option<LaneHold>,
}

/// A lane on hold.
#[derive(Clone, Debug)]
pub(crate) struct LaneHold {
    since: Timestamp,
    reason: String,
    /// Failed rounds of probes.
    rounds: u32,
    pub(crate) next_probe: Timestamp,
    /// The item whose change failed, if only one did: a change of another item may be tried at once, to find
    /// out whether the change or the target is at fault.
    suspect: Option<KeyName>,
}

impl LaneHold {
    /// Whether a change of this item may be tried now.
    pub(crate) fn may_probe(&self, now: Timestamp, key: KeyName) -> bool {
        self.next_probe <= now || self.suspect.is_some_and(|suspect| suspect != key)
    }

    /// Whether a change of another item would be tried at once.
    pub(crate) fn wants_witness(&self) -> bool {
        self.suspect.is_some()
    }
}

/// What was logged about holds.
#[derive(Debug, Default)]
struct HoldLog {
    is_said: bool,
    last_end: Option<Timestamp>,
}

impl HoldLog {
    /// Whether a hold that began at this time and continues must be logged.
    fn begins(&mut self, since: Timestamp, now: Timestamp) -> bool {
        let is_quiet = self.last_end.is_some_and(|end| since.since(end) < QUIET);
        let is_due = !self.is_said && (!is_quiet || now.since(since) >= LASTING);
        self.is_said |= is_due;
        is_due
    }

    /// Whether the end of a hold must be logged.
    fn ends(&mut self, now: Timestamp) -> bool {
        self.last_end = Some(now);
        std::mem::take(&mut self.is_said)
    }
}

/// The attempts that have begun and not ended.
#[derive(Debug, Default)]
struct UnderWay {
    /// The lane of each, by its start time and number.
    begun: BTreeMap<(Timestamp, u64), LaneName>,
    count: u64,
}

impl UnderWay {
    fn is_in(&self, lane: LaneName) -> bool {
        self.begun.values().any(|other| *other == lane)
    }
}

/// An attempt that is under way until this is dropped.
pub(crate) struct Attempting<'h> {
    health: &'h Health,
    entry: (Timestamp, u64),
}

impl Drop for Attempting<'_> {
    fn drop(&mut self) {
        self.health.under_way.lock().begun.remove(&self.entry);
    }
}

impl Health {
    /// Begins an attempt whose answer concerns this lane.
    pub(crate) fn attempting(&self, lane: LaneName, now: Timestamp) -> Attempting<'_> {
        let mut under_way = self.under_way.lock();
        under_way.count += 1;
        let entry = (now, under_way.count);
        under_way.begun.insert(entry, lane);
        Attempting { health: self, entry }
    }

    /// Whether an attempt is taking long.
    pub(crate) fn is_slow(&self, now: Timestamp) -> bool {
        let under_way = self.under_way.lock();
        under_way
            .begun
            .first_key_value()
            .is_some_and(|((begun, _), _)| now.since(*begun) >= SLOW)
    }

    /// The hold that a lane is on.
    pub(crate) fn hold(&self, lane: LaneName) -> Option<LaneHold> {
        self.lanes.lock().get(&lane)?.hold.clone()
    }

    /// How often the target has answered.
    pub(crate) fn all_answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// The number of the last answer in this lane; numbers increase.
    pub(crate) fn answers(&self, lane: LaneName) -> u64 {
        self.lanes.lock().get(&lane).map_or(0, |health| health.answers)
    }

    /// The time of the first probe of any lane after `now`.
    pub(crate) fn next_probe(&self, now: Timestamp) -> Option<Timestamp> {
        let lanes = self.lanes.lock();
        let probes = holds(&lanes).map(|hold| hold.next_probe);
        probes.filter(|probe| *probe > now).min()
    }

    /// The hold of the route: from the start of the first hold of a lane to the end of the last.
    pub(crate) fn status(&self, are_destinations: bool) -> Option<OnHold> {
        let lanes = self.lanes.lock();
        let first = holds(&lanes).min_by_key(|hold| hold.since)?;
        let (next_probe, lane) = lanes
            .iter()
            .filter_map(|(lane, health)| Some((health.hold.as_ref()?.next_probe, *lane)))
            .min()?;
        Some(OnHold {
            since_ms: first.since.as_millis(),
            reason: first.reason.clone(),
            next_probe_ms: next_probe.as_millis(),
            probing: self.under_way.lock().is_in(lane),
            destinations: are_destinations.then(|| holds(&lanes).count() as u64),
        })
    }

    /// The target has answered. Returns the hold that this ends.
    fn answered(&self, lane: LaneName, now: Timestamp) -> Option<EndedHold> {
        let mut lanes = self.lanes.lock();
        if lanes.len() > REMEMBERED_MAX {
            lanes.retain(|_, health| health.hold.is_some());
        }
        let answer = self.answers.fetch_add(1, Ordering::Relaxed) + 1;
        lanes.entry(lane).or_default().answers = answer;
        drop(lanes);
        self.end_hold(lane, now)
    }

    /// The hold of a lane is over.
    fn end_hold(&self, lane: LaneName, now: Timestamp) -> Option<EndedHold> {
        let mut lanes = self.lanes.lock();
        let ended = lanes.get_mut(&lane)?.hold.take()?;
        // If one lane gets an answer, the others probably do, too.
        for hold in lanes.values_mut().filter_map(|health| health.hold.as_mut()) {
            hold.next_probe = hold.next_probe.min(now);
        }
        let is_last = holds(&lanes).next().is_none();
        drop(lanes);
        self.bell.notify_waiters();
        Some(EndedHold {
            since: ended.since,
            is_last,
        })
    }

    /// The target has failed. Returns when the hold of the lane began.
    fn failed(&self, lane: LaneName, now: Timestamp, failure: Outage<'_>) -> Timestamp {
        let mut lanes = self.lanes.lock();
        let hold = &mut lanes.entry(lane).or_default().hold;
        let hold = hold.get_or_insert_with(|| LaneHold {
            since: now,
            reason: String::new(),
            rounds: 0,
            next_probe: now,
            suspect: failure.suspect,
        });
        hold.reason = failure.reason.to_owned();
        // Of several probes in one round, only the first increases the pause.
        if hold.next_probe <= now {
            hold.rounds += 1;
            hold.next_probe = now.plus(failure.backoff.after(hold.rounds).min(PROBE_PAUSE_MAX));
            hold.suspect = failure.suspect;
        } else if hold.suspect != failure.suspect {
            hold.suspect = None;
        }
        hold.since
    }
}

fn holds(lanes: &BTreeMap<LaneName, LaneHealth>) -> impl Iterator<Item = &LaneHold> {
    lanes.values().filter_map(|health| health.hold.as_ref())
}

/// A hold that has ended.
struct EndedHold {
    since: Timestamp,
    /// No other lane of the route is on hold.
    is_last: bool,
}

/// Why a lane is put or kept on hold.
struct Outage<'r> {
    reason: &'r str,
    suspect: Option<KeyName>,
    backoff: Backoff,
}

impl Live {
    /// The target has taken or refused something, so it works.
    pub(crate) fn target_answered(&self, lane: LaneName) {
        let now = self.clock.now();
        if let Some(ended) = self.health.answered(lane, now) {
            self.hold_ended(&ended, now);
        }
    }

    /// The change was at fault, not the target: the lane is not on hold.
    pub(crate) fn target_cleared(&self, lane: LaneName) {
        let now = self.clock.now();
        if let Some(ended) = self.health.end_hold(lane, now) {
            self.hold_ended(&ended, now);
        }
    }

    fn hold_ended(&self, ended: &EndedHold, now: Timestamp) {
        if ended.is_last && self.health.log.lock().ends(now) {
            let seconds = now.since(ended.since).as_secs();
            tracing::info!(route = %self.name, seconds, "the target answers again; nothing of the route is on hold");
        }
        self.parked_bell.notify_one();
    }

    /// The target has failed, and no change is known to be at fault: the lane is on hold. With a suspect,
    /// only a change of that item was tried, and it may be at fault.
    pub(crate) fn target_failed(&self, lane: LaneName, error: &str, suspect: Option<KeyName>) {
        let now = self.clock.now();
        self.counters.failed(now, error);
        let failure = Outage {
            reason: error,
            suspect,
            backoff: self.route.backoff,
        };
        let since = self.health.failed(lane, now, failure);
        if self.health.log.lock().begins(since, now) {
            match self.lanes.destinations() {
                None => {
                    tracing::warn!(route = %self.name, %error, "the route is on hold until its target answers")
                }
                Some(_) => tracing::warn!(
                    route = %self.name, %error,
                    "a destination of the route is on hold until it answers; the others continue"
                ),
            }
        }
        self.parked_bell.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(suspect: Option<KeyName>) -> Outage<'static> {
        Outage {
            reason: "no",
            suspect,
            backoff: Backoff {
                first: Duration::from_millis(200),
                longest: Duration::from_secs(60),
            },
        }
    }

    #[test]
    fn the_pauses_grow_up_to_fifteen_seconds_and_one_round_counts_once() {
        let health = Health::default();
        let mut now = Timestamp::from_secs(1_000);
        let mut pauses = Vec::new();
        for _ in 0..12 {
            health.failed(0, now, failure(None));
            let next = health.hold(0).unwrap().next_probe;
            health.failed(0, now, failure(None));
            assert_eq!(health.hold(0).unwrap().next_probe, next, "one round");
            pauses.push(next.since(now));
            now = next;
        }
        assert!(pauses[0] <= Duration::from_millis(200), "{pauses:?}");
        let longest = pauses.iter().max().copied().unwrap();
        assert_eq!((longest, pauses[11]), (PROBE_PAUSE_MAX, PROBE_PAUSE_MAX));
        assert_eq!(health.status(false).unwrap().since_ms, 1_000_000);
    }

    #[test]
    fn only_a_suspect_lets_another_item_be_tried_before_the_pause_is_over() {
        let health = Health::default();
        let now = Timestamp::from_secs(1_000);
        health.failed(0, now, failure(Some(7)));
        let hold = health.hold(0).unwrap();
        assert!(!hold.may_probe(now, 7) && hold.may_probe(now, 8));
        // The other item fails, too: the target is at fault.
        health.failed(0, now, failure(Some(8)));
        let hold = health.hold(0).unwrap();
        assert!(!hold.may_probe(now, 7) && !hold.may_probe(now, 9) && !hold.wants_witness());
        assert!(hold.may_probe(hold.next_probe, 9));
    }

    #[test]
    fn an_answer_in_one_lane_lets_the_others_probe_at_once() {
        let health = Health::default();
        let now = Timestamp::from_secs(1_000);
        health.failed(0, now, failure(None));
        health.failed(1, now, failure(None));
        assert_eq!(health.status(true).unwrap().destinations, Some(2));
        assert!(!health.answered(0, now).unwrap().is_last);
        assert!(health.hold(0).is_none() && health.hold(1).unwrap().may_probe(now, 9));
        assert!(health.answered(1, now).unwrap().is_last);
        assert_eq!(
            (health.status(false), health.answers(0), health.answers(1)),
            (None, 1, 2)
        );
    }

    #[test]
    fn the_status_tells_a_probe_that_is_due_from_one_that_is_under_way() {
        let health = Health::default();
        let now = Timestamp::from_secs(1_000);
        health.failed(0, now, failure(None));
        let is_probing = || health.status(false).unwrap().probing;
        let elsewhere = health.attempting(1, now);
        assert!(!is_probing(), "an attempt in another lane");
        let probe = health.attempting(0, now);
        assert!(is_probing());
        drop((probe, elsewhere));
        assert!(!is_probing());
    }

    #[test]
    fn a_hold_is_logged_once_and_a_throttled_target_does_not_fill_the_log() {
        let mut log = HoldLog::default();
        let at = Timestamp::from_secs;
        assert!(log.begins(at(100), at(100)));
        assert!(!log.begins(at(100), at(5_000)));
        assert!(log.ends(at(5_000)));
        // Soon after, and short: not logged.
        assert!(!log.begins(at(5_001), at(5_001)));
        assert!(!log.ends(at(5_002)));
        // Soon after, but it lasts.
        assert!(!log.begins(at(5_003), at(5_004)));
        assert!(log.begins(at(5_003), at(5_008)));
        assert!(log.ends(at(6_000)));
        assert!(log.begins(at(7_000), at(7_000)), "much later");
    }

    #[test]
    fn an_attempt_is_slow_after_five_seconds_until_it_ends() {
        let health = Health::default();
        let attempting = health.attempting(0, Timestamp::from_secs(100));
        let second = health.attempting(1, Timestamp::from_secs(103));
        assert!(!health.is_slow(Timestamp::from_secs(104)));
        assert!(health.is_slow(Timestamp::from_secs(105)));
        drop(attempting);
        assert!(!health.is_slow(Timestamp::from_secs(107)));
        assert!(health.is_slow(Timestamp::from_secs(108)));
        drop(second);
        assert!(!health.is_slow(Timestamp::from_secs(200)));
    }
}
