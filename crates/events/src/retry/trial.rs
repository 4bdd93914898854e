//! An attempt at parked changes: those of a destination together, and one by one if the target does not take
//! them together.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use trestle_item::size;

use crate::attempt::attempt;
use crate::lanes::LaneName;
use crate::live::{Live, Stopped};
use crate::matcher::Typed;
use crate::parked::{Due, KeyName};
use crate::rows::{Kept, KeptId};
use crate::status::count;
use crate::taken_in_part::{Answered, TakenInPart};
use crate::target::Enlistment;
use crate::{Change, Outcome};

/// Parked changes after an attempt.
pub(super) struct Tried {
    pub(super) lane: LaneName,
    pub(super) changes: Vec<TriedChange>,
}

impl Tried {
    /// Whether something was taken, and the target has taken all that it was given.
    pub(super) fn went_well(&self) -> bool {
        let is_taken = |tried: &TriedChange| matches!(tried.fate, Fate::Taken(_));
        let is_well = |tried: &TriedChange| is_taken(tried) || matches!(tried.fate, Fate::Untried);
        self.changes.iter().any(is_taken) && self.changes.iter().all(is_well)
    }
}

/// A parked change after an attempt.
pub(super) struct TriedChange {
    pub(super) key: KeyName,
    pub(super) kept: Kept,
    pub(super) fate: Fate,
}

/// The outcome for a parked change.
pub(super) enum Fate {
    /// It was taken; with writes, once they are committed.
    Taken(Option<Enlistment>),
    /// It will be tried again when it is due.
    Again,
    /// The target does not answer: the change stays due, and no attempt is counted. With a doubt, the change
    /// may be at fault.
    Held(Option<u64>),
    /// It was not tried, and stays due.
    Untried,
    /// It becomes a dead letter.
    Dead,
}

/// Tries the changes of a queue once more.
pub(super) async fn once_more(live: &Live, due: Due) -> Tried {
    let mut trial = Trial {
        live,
        lane: due.lane,
        open: VecDeque::new(),
        tried: Vec::new(),
    };
    // If the route is being stopped, the changes stay as they are.
    if trial.load(due.changes).await.is_ok() {
        if trial.open.len() > 1 {
            trial.together().await;
        }
        trial.one_by_one().await;
    }
    Tried {
        lane: trial.lane,
        changes: trial.tried,
    }
}

struct Trial<'l> {
    live: &'l Live,
    lane: LaneName,
    /// Changes that have not been tried yet, oldest first.
    open: VecDeque<(KeyName, Kept)>,
    tried: Vec<TriedChange>,
}

impl Trial<'_> {
    /// Reads the changes, as many as fit into a batch.
    async fn load(&mut self, changes: Vec<(KeyName, KeptId)>) -> Result<(), Stopped> {
        let mut bytes = 0;
        for (key, id) in changes {
            if bytes > self.live.batch_bytes_max() {
                self.live.parked.lock().release(key, &id);
                continue;
            }
            if let Some(kept) = load(self.live, key, &id).await? {
                bytes += images_size(&kept.change);
                self.open.push_back((key, kept));
            }
        }
        Ok(())
    }

    /// Tries the changes together. Changes about which the result of the batch says nothing stay open.
    async fn together(&mut self) {
        let live = self.live;
        let is_fit = |(_, kept): &(KeyName, Kept)| !live.is_too_old(kept.change.at);
        if !self.open.iter().all(is_fit) {
            return;
        }
        count(
            &live.counters.retried,
            self.open.iter().filter(|(_, kept)| kept.attempts > 0).count(),
        );
        let typed: Vec<(Arc<Typed>, u32)> = self
            .open
            .iter()
            .map(|(_, kept)| (Arc::new(Typed::new(Arc::clone(&kept.change))), kept.attempts + 1))
            .collect();
        let batch = live.batch(typed.iter().map(|(typed, attempt)| (typed, *attempt)));
        let under_way = live.health.attempting(self.lane, live.clock.now());
        let (outcome, _) = attempt(&live.door, &batch).await;
        drop(under_way);
        let (refused, later) = match outcome {
            Outcome::Done => (Vec::new(), Vec::new()),
            Outcome::Partly(refused) => (refused, Vec::new()),
            Outcome::Interrupted {
                refused,
                later,
                reason,
            } => {
                live.target_failed(self.lane, &reason, None);
                (refused, later)
            }
            Outcome::Unavailable(error) => {
                live.target_failed(self.lane, &error, None);
                (Vec::new(), self.ids())
            }
            Outcome::Refused(error) | Outcome::Failed(error) => {
                live.counters.failed(live.clock.now(), &error);
                return;
            }
        };
        if later.is_empty() {
            live.target_answered(self.lane);
        }
        self.taken_in_part(TakenInPart::new(refused, later));
    }

    fn ids(&self) -> Vec<String> {
        let id = |(_, kept): &(KeyName, Kept)| self.live.delivery_id(&kept.change);
        self.open.iter().map(id).collect()
    }

    /// All were taken except those that were refused and those that must be sent again.
    fn taken_in_part(&mut self, mut taken: TakenInPart) {
        for (key, mut kept) in std::mem::take(&mut self.open) {
            let id = self.live.delivery_id(&kept.change);
            let fate = match taken.answered(&id) {
                Answered::Refused(error) => {
                    self.live.parked.lock().single_out(key);
                    spend_attempt(self.live, &mut kept, error)
                }
                Answered::Later => Fate::Held(None),
                Answered::Taken => Fate::Taken(None),
            };
            self.tried.push(TriedChange { key, kept, fate });
        }
    }

    /// Tries each change alone, until the target does not answer or the route is stopped. Changes of an item
    /// wait for each other.
    async fn one_by_one(&mut self) {
        let mut failed: HashSet<KeyName> = HashSet::new();
        let mut is_over = false;
        while let Some((key, mut kept)) = self.open.pop_front() {
            is_over |= self.live.is_stopping();
            let fate = match is_over || failed.contains(&key) {
                true => Fate::Untried,
                false => fate(self.live, self.lane, key, &mut kept).await,
            };
            is_over |= matches!(fate, Fate::Held(_));
            if matches!(fate, Fate::Again) {
                failed.insert(key);
            }
            self.tried.push(TriedChange { key, kept, fate });
        }
    }
}

async fn load(live: &Live, key: KeyName, id: &KeptId) -> Result<Option<Kept>, Stopped> {
    loop {
        match live.rows.parked(&live.name, id).await {
            Ok(Some(kept)) => return Ok(Some(kept)),
            Ok(None) => {
                live.parked.lock().remove(key, id);
                return Ok(None);
            }
            Err(error) => live.pause(&error).await?,
        }
    }
}

fn images_size(change: &Change) -> usize {
    let images = [&change.old, &change.new].into_iter().flatten();
    images.map(size::of_item).sum()
}

async fn fate(live: &Live, lane: LaneName, key: KeyName, kept: &mut Kept) -> Fate {
    let now = live.clock.now();
    if live.is_too_old(kept.change.at) {
        kept.error = format!("older than the route's maximum_record_age; last: {}", kept.error);
        return Fate::Dead;
    }
    if kept.attempts > 0 {
        count(&live.counters.retried, 1);
    }
    let before = Before {
        answers: live.answers(lane),
        is_on_hold: live.health.hold(lane).is_some(),
    };
    let typed = Arc::new(Typed::new(Arc::clone(&kept.change)));
    let batch = live.batch(std::iter::once((&typed, kept.attempts + 1)));
    let under_way = live.health.attempting(lane, now);
    let (outcome, enlisted) = attempt(&live.door, &batch).await;
    drop(under_way);
    let held = held(live, lane, key, kept, &outcome, before);
    let is_away = matches!(held, Some(None));
    // If the change may be at fault, its item waits, and another change of the destination is tried.
    if !matches!(outcome, Outcome::Done) && !is_away && kept.is_behind_destination {
        live.parked.lock().single_out(key);
    }
    if let Some(doubt) = held {
        return Fate::Held(doubt);
    }
    if !matches!(outcome, Outcome::Failed(_)) {
        live.target_answered(lane);
    }
    let error = outcome.error_of_one();
    let Some(error) = error else {
        return Fate::Taken(enlisted);
    };
    spend_attempt(live, kept, error)
}

/// A change was refused: it is tried again later, or becomes a dead letter if it has no attempt left.
fn spend_attempt(live: &Live, kept: &mut Kept, error: String) -> Fate {
    let now = live.clock.now();
    live.counters.failed(now, &error);
    kept.attempts += 1;
    kept.is_behind_destination = false;
    kept.error = error;
    kept.last = now;
    kept.due = now.plus(live.route.backoff.after(kept.attempts));
    match kept.attempts > live.route.maximum_retry_attempts {
        true => Fate::Dead,
        false => Fate::Again,
    }
}

/// The state of a lane before an attempt.
#[derive(Clone, Copy)]
struct Before {
    /// How often the target had answered.
    answers: u64,
    is_on_hold: bool,
}

/// Whether the target is at fault for an outcome, so that its lane is on hold, and the doubt about the
/// change. A change that was at fault before is at fault again, unless its lane is on hold. Another change is
/// at fault once the target has answered to other changes since it failed.
fn held(
    live: &Live,
    lane: LaneName,
    key: KeyName,
    kept: &Kept,
    outcome: &Outcome,
    before: Before,
) -> Option<Option<u64>> {
    match outcome {
        Outcome::Unavailable(error) => {
            live.target_failed(lane, error, None);
            Some(None)
        }
        Outcome::Interrupted { later, reason, .. } if !later.is_empty() => {
            live.target_failed(lane, reason, None);
            Some(None)
        }
        Outcome::Failed(error) => {
            let doubt = live.parked.lock().doubt(key, &kept.id).unwrap_or(before.answers);
            let is_proven = kept.attempts > 0 || live.answers(lane) > doubt;
            // An item that is a destination of its own keeps its lane on hold itself.
            if is_proven && live.lanes.are_items() {
                live.target_cleared(lane);
            }
            if is_proven && live.health.hold(lane).is_none() {
                // The target recovered during the attempt: its earlier answers are irrelevant.
                let has_returned = before.is_on_hold && !live.lanes.are_items();
                return has_returned.then_some(None);
            }
            live.target_failed(lane, error, Some(key));
            Some(Some(doubt))
        }
        Outcome::Done | Outcome::Partly(_) | Outcome::Refused(_) | Outcome::Interrupted { .. } => None,
    }
}
