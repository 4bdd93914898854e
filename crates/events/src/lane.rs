//! One ordered line of changes to a target: batches, attempts, and waiting for a target that does not answer.

mod make_room;
mod search;

use std::collections::VecDeque;
use std::sync::Arc;

use trestle_env::Alarm;

use crate::Outcome;
use crate::checkpoints;
use crate::lanes::{Inbox, LaneName, NothingThere};
use crate::live::{Handed, Live, Stopped};
use crate::parked::{Behind, KeyName};
use crate::resolve::{Failed, Resolved};
use crate::status::count;
use crate::taken_in_part::{Answered, TakenInPart};
use crate::target::{Door, Enlistment};

/// Why the oldest changes are given up when the database keeps too much for its routes.
const NO_ROOM: &str =
    "the changes that routes have not delivered took more space than held_changes_gb allows";
/// Why a row is parked in that case.
const MAKES_ROOM: &str =
    "waits for its target; the changes behind it took more space than held_changes_gb allows";

/// Delivers changes until the route is stopped, or no more can arrive.
pub(crate) async fn run(live: Arc<Live>, name: LaneName, inbox: Inbox) {
    let mut lane = DeliveryLane {
        live,
        name,
        inbox,
        ahead: VecDeque::new(),
    };
    while let Ok(batch) = lane.collect().await {
        if lane.deliver(batch).await.is_err() {
            break;
        }
    }
}

struct DeliveryLane {
    live: Arc<Live>,
    name: LaneName,
    inbox: Inbox,
    /// Changes of the next batches that were already taken out of the inbox: one that did not fit into the
    /// last batch, and those that were searched for a second probe.
    ahead: VecDeque<Handed>,
}

/// Changes that are tried together.
struct Part {
    changes: Vec<Handed>,
    /// The number of the next attempt.
    attempt: u32,
    /// An attempt was made that is not counted.
    is_repeated: bool,
}

impl Part {
    fn new(changes: Vec<Handed>, attempt: u32) -> Self {
        Self {
            changes,
            attempt,
            is_repeated: false,
        }
    }

    /// Splits it into its first changes and the others.
    fn split(mut self, first: usize) -> (Self, Self) {
        let later = self.changes.split_off(first.min(self.changes.len()));
        let later = Self {
            changes: later,
            ..self
        };
        (self, later)
    }
}

/// The parts of a batch that are not resolved.
struct OpenBatch {
    /// In reverse order: the first part is the last element.
    parts: Vec<Part>,
    /// Since a change was last found at fault, the target has taken or refused a part of the batch, so it
    /// works.
    is_proven: bool,
}

impl DeliveryLane {
    /// The next batch: as many changes as are available, or become available within the batching window.
    async fn collect(&mut self) -> Result<Vec<Handed>, Stopped> {
        let first = match self.ahead.pop_front() {
            Some(first) => first,
            None => self.first().await?,
        };
        let mut alarm = Alarm::new(Arc::clone(&self.live.clock));
        let deadline = self
            .live
            .clock
            .now()
            .plus(self.live.route.maximum_batching_window);
        let mut bytes = first.bytes;
        let mut batch = vec![first];
        while batch.len() < self.live.batch_max() {
            let next = match self.ahead.pop_front().map_or_else(|| self.inbox.try_next(), Ok) {
                Ok(next) => next,
                Err(NothingThere::Forever) => return Err(Stopped),
                Err(NothingThere::Yet) if self.live.clock.now() >= deadline => break,
                Err(NothingThere::Yet) => tokio::select! {
                    next = self.inbox.next() => next.ok_or(Stopped)?,
                    _ = alarm.until(deadline) => continue,
                    () = self.live.stopped() => return Err(Stopped),
                },
            };
            bytes += next.bytes;
            let is_elsewhere = batch
                .first()
                .is_some_and(|first| first.destination != next.destination);
            if is_elsewhere || bytes > self.live.batch_bytes_max() {
                self.ahead.push_front(next);
                break;
            }
            batch.push(next);
        }
        Ok(batch)
    }

    /// The first change of a batch. While it waits, a lane that stores its own checkpoints does so.
    async fn first(&mut self) -> Result<Handed, Stopped> {
        let stores_places = matches!(self.live.door, Door::Enlist(_));
        let mut has_moved = false;
        loop {
            tokio::select! {
                biased;
                () = self.live.stopped() => return Err(Stopped),
                first = self.inbox.next() => return first.ok_or(Stopped),
                () = self.live.moved.notified(), if stores_places && !has_moved => has_moved = true,
                () = tokio::time::sleep(checkpoints::PAUSE), if has_moved => {
                    checkpoints::store(&self.live).await;
                    has_moved = false;
                }
            }
        }
    }

    /// Delivers a batch: at the end, every change is done, parked or a dead letter.
    async fn deliver(&mut self, changes: Vec<Handed>) -> Result<(), Stopped> {
        let mut work = OpenBatch {
            parts: vec![Part::new(changes, 1)],
            is_proven: false,
        };
        loop {
            self.make_room(&mut work).await?;
            let Some(part) = work.parts.pop() else {
                return Ok(());
            };
            let part = self.set_aside(part).await?;
            if part.changes.is_empty() {
                continue;
            }
            let part = self.await_turn(part, &mut work).await?;
            let (outcome, enlisted) = self.attempt(&part).await?;
            self.after(part, outcome, enlisted, &mut work).await?;
        }
    }

    async fn attempt(&self, part: &Part) -> Result<(Outcome, Option<Enlistment>), Stopped> {
        if part.attempt > 1 || part.is_repeated {
            count(&self.live.counters.retried, part.changes.len());
        }
        self.attempt_on(&part.changes, part.attempt).await
    }

    async fn attempt_on(
        &self,
        changes: &[Handed],
        number: u32,
    ) -> Result<(Outcome, Option<Enlistment>), Stopped> {
        let given = changes.iter().map(|handed| (&handed.typed, number));
        let batch = self.live.batch(given);
        self.live
            .attempt(self.name, self.answering(changes), &batch)
            .await
    }

    /// The lane that an answer to these changes concerns: that of their destination, even if they go through
    /// another one because an earlier change of the item is there.
    fn answering(&self, changes: &[Handed]) -> LaneName {
        let destination = changes.first().and_then(|first| first.destination);
        destination.unwrap_or(self.name)
    }

    /// While the lane is on hold, waits for the next probe and then sends the first change alone; otherwise
    /// sends the whole part.
    async fn await_turn(&mut self, part: Part, work: &mut OpenBatch) -> Result<Part, Stopped> {
        let live = Arc::clone(&self.live);
        let Some(key) = part.changes.first().map(|handed| handed.key) else {
            return Ok(part);
        };
        let lane = self.answering(&part.changes);
        let mut alarm = Alarm::new(Arc::clone(&live.clock));
        loop {
            let rung = live.health.bell.notified();
            let Some(hold) = live.health.hold(lane) else {
                return Ok(part);
            };
            work.is_proven = false;
            if hold.may_probe(live.clock.now(), key) {
                return Ok(self.first_alone(part, work));
            }
            tokio::select! {
                () = rung => {}
                _ = alarm.until(hold.next_probe) => {}
                next = self.inbox.next(), if hold.wants_witness() => {
                    let next = next.ok_or(Stopped)?;
                    let is_witness = next.key != key && !live.parked.lock().blocks(next.key);
                    self.ahead.push_back(next);
                    if is_witness {
                        return Ok(self.first_alone(part, work));
                    }
                }
                () = live.stopped() => return Err(Stopped),
            }
        }
    }

    /// The part that is sent as a probe: its first change, if parts may be split.
    fn first_alone(&self, part: Part, work: &mut OpenBatch) -> Part {
        if part.changes.len() == 1 || !self.live.route.bisect_batch_on_error {
            return part;
        }
        let (first, later) = part.split(1);
        work.parts.push(later);
        first
    }

    /// Changes that are too old, or that there is no room to keep, become dead letters, except rows; changes
    /// of an item or a destination with a parked change wait after it.
    async fn set_aside(&self, part: Part) -> Result<Part, Stopped> {
        let live = &self.live;
        let mut resolved = Resolved::default();
        let mut changes = Vec::with_capacity(part.changes.len());
        for handed in part.changes {
            if let Some(behind) = live.behind(&handed) {
                resolved.parked.push(Failed::waiting(handed, behind));
            } else if live.is_given_up(handed.destination.unwrap_or(self.name), handed.change().at) {
                without_room(handed, part.attempt - 1, &mut resolved);
            } else if live.is_too_old(handed.change().at) {
                resolved.dead.push(Failed {
                    handed,
                    error: self.too_old(part.attempt > 1 || part.is_repeated),
                    attempts: part.attempt - 1,
                    behind: Behind::Item,
                });
            } else {
                changes.push(handed);
            }
        }
        if !resolved.parked.is_empty() || !resolved.dead.is_empty() {
            live.resolve(resolved).await?;
        }
        Ok(Part { changes, ..part })
    }

    /// Why a change that became too old is given up; after attempts, with the last error.
    fn too_old(&self, was_tried: bool) -> String {
        let why = "older than the route's maximum_record_age";
        let last = self.live.counters.last_error().filter(|_| was_tried);
        last.map_or(why.to_owned(), |last| format!("{why}; last: {}", last.message))
    }

    /// Resolves a part, or puts back what must be tried again.
    async fn after(
        &mut self,
        part: Part,
        outcome: Outcome,
        enlisted: Option<Enlistment>,
        work: &mut OpenBatch,
    ) -> Result<(), Stopped> {
        match outcome {
            Outcome::Failed(error) => self.failed(part, error, work).await,
            outcome => self.conclude(part, outcome, enlisted, work).await,
        }
    }

    /// A target that answers works, whatever the answer; one that does not answer puts the lane on hold.
    async fn conclude(
        &self,
        part: Part,
        outcome: Outcome,
        enlisted: Option<Enlistment>,
        work: &mut OpenBatch,
    ) -> Result<(), Stopped> {
        if !matches!(outcome, Outcome::Failed(_) | Outcome::Unavailable(_)) {
            self.live.target_answered(self.answering(&part.changes));
            work.is_proven = true;
        }
        match outcome {
            Outcome::Failed(error) | Outcome::Unavailable(error) => self.hold(part, &error, None, work).await,
            Outcome::Partly(refused) => {
                self.taken_in_part(part, TakenInPart::new(refused, Vec::new()), work)
                    .await
            }
            Outcome::Interrupted {
                refused,
                later,
                reason,
            } => {
                self.live.counters.failed(self.live.clock.now(), &reason);
                self.taken_in_part(part, TakenInPart::new(refused, later), work)
                    .await?;
                self.back_off(1).await
            }
            Outcome::Refused(error) => self.refused(part, error, work).await,
            Outcome::Done => {
                let resolved = Resolved {
                    done: part.changes,
                    enlisted,
                    ..Resolved::default()
                };
                self.live.resolve(resolved).await
            }
        }
    }

    /// The changes of a part were taken, except those that were refused and those that must be sent again.
    async fn taken_in_part(
        &self,
        part: Part,
        mut taken: TakenInPart,
        work: &mut OpenBatch,
    ) -> Result<(), Stopped> {
        let mut resolved = Resolved::default();
        let mut again = Vec::new();
        for handed in part.changes {
            let id = self.live.delivery_id(handed.change());
            match taken.answered(&id) {
                Answered::Refused(error) => self.give_back(handed, error, part.attempt, &mut resolved),
                Answered::Later => again.push(handed),
                Answered::Taken => resolved.done.push(handed),
            }
        }
        if !again.is_empty() {
            work.parts.push(Part {
                is_repeated: true,
                ..Part::new(again, part.attempt)
            });
        }
        self.live.resolve(resolved).await
    }

    /// The target does not answer, and no change is at fault: the part waits. If the route has several
    /// destinations, the changes are parked meanwhile, so that they take neither memory nor the progress of
    /// the checkpoint from the others.
    async fn hold(
        &self,
        part: Part,
        error: &str,
        suspect: Option<KeyName>,
        work: &mut OpenBatch,
    ) -> Result<(), Stopped> {
        self.live
            .target_failed(self.answering(&part.changes), error, suspect);
        work.is_proven = false;
        if self.live.lanes.destinations().is_some() {
            let failed = |handed| Failed::unreachable(handed, error.to_owned());
            let resolved = Resolved {
                parked: part.changes.into_iter().map(failed).collect(),
                ..Resolved::default()
            };
            return self.live.resolve(resolved).await;
        }
        work.parts.push(Part {
            is_repeated: true,
            ..part
        });
        Ok(())
    }

    /// Handles a change that was refused alone: parked, or a dead letter if it has no attempt left.
    fn give_back(&self, handed: Handed, error: String, attempts: u32, resolved: &mut Resolved) {
        self.live.counters.failed(self.live.clock.now(), &error);
        let has_attempts = attempts <= self.live.route.maximum_retry_attempts;
        let failed = Failed {
            handed,
            error,
            attempts,
            behind: Behind::Item,
        };
        if has_attempts {
            resolved.parked.push(failed);
        } else {
            resolved.dead.push(failed);
        }
    }

    async fn back_off(&self, attempts: u32) -> Result<(), Stopped> {
        let live = &self.live;
        live.wait_until(live.clock.now().plus(live.route.backoff.after(attempts)))
            .await
    }
}

/// There is no room to keep a change any longer, nor those after it in the lane. A row takes no room in the
/// change log: it is parked instead of given up.
fn without_room(handed: Handed, attempts: u32, resolved: &mut Resolved) {
    let is_row = handed.mark.is_some();
    let failed = Failed {
        handed,
        error: if is_row { MAKES_ROOM } else { NO_ROOM }.to_owned(),
        attempts,
        behind: Behind::Item,
    };
    if is_row {
        resolved.parked.push(failed);
    } else {
        resolved.dead.push(failed);
    }
}
