//! One line of changes to a target, in order: batches, attempts, and the search for what cannot be taken.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;
use trestle_env::Alarm;

use crate::Outcome;
use crate::attempt::attempt;
use crate::checkpoints;
use crate::live::{ENLISTED_BYTES_MAX, Handed, Live, Stopped};
use crate::resolve::{Failed, Resolved};
use crate::status::count;
use crate::target::{Door, Enlistment};

/// Bytes of changes in one batch, as with Lambda.
const BATCH_BYTES_MAX: usize = 6 << 20;

/// Why the oldest changes are given up while the database keeps too much for its routes.
const NO_ROOM: &str =
    "the changes that routes have not delivered took more space than held_changes_gb allows";

/// Delivers what comes until the route is stopped.
pub(crate) async fn run(live: Arc<Live>, inbox: UnboundedReceiver<Handed>) {
    let mut lane = DeliveryLane {
        live,
        inbox,
        next: None,
    };
    while let Ok(batch) = lane.collect().await {
        if lane.deliver(batch).await.is_err() {
            break;
        }
    }
}

struct DeliveryLane {
    live: Arc<Live>,
    inbox: UnboundedReceiver<Handed>,
    /// The first of the next batch, which no longer fitted into the last.
    next: Option<Handed>,
}

/// Changes that are tried together.
struct Part {
    changes: Vec<Handed>,
    /// Which attempt is next.
    attempt: u32,
}

impl DeliveryLane {
    fn bytes_max(&self) -> usize {
        match self.live.door {
            Door::Target(_) => BATCH_BYTES_MAX,
            Door::Enlist(_) => ENLISTED_BYTES_MAX,
        }
    }

    /// The next batch: as many changes as are there, or as come within the batching window.
    async fn collect(&mut self) -> Result<Vec<Handed>, Stopped> {
        let first = match self.next.take() {
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
            let next = match self.inbox.try_recv() {
                Ok(next) => next,
                Err(TryRecvError::Disconnected) => return Err(Stopped),
                Err(TryRecvError::Empty) if self.live.clock.now() >= deadline => break,
                Err(TryRecvError::Empty) => tokio::select! {
                    next = self.inbox.recv() => next.ok_or(Stopped)?,
                    _ = alarm.until(deadline) => continue,
                    () = self.live.stopped() => return Err(Stopped),
                },
            };
            bytes += next.bytes;
            if bytes > self.bytes_max() {
                self.next = Some(next);
                break;
            }
            batch.push(next);
        }
        Ok(batch)
    }

    /// The first change of a batch. Meanwhile a lane that stores its checkpoints itself does so.
    async fn first(&mut self) -> Result<Handed, Stopped> {
        let stores_places = matches!(self.live.door, Door::Enlist(_));
        let mut has_moved = false;
        loop {
            tokio::select! {
                biased;
                () = self.live.stopped() => return Err(Stopped),
                first = self.inbox.recv() => return first.ok_or(Stopped),
                () = self.live.moved.notified(), if stores_places && !has_moved => has_moved = true,
                () = tokio::time::sleep(checkpoints::PAUSE), if has_moved => {
                    checkpoints::store(&self.live).await;
                    has_moved = false;
                }
            }
        }
    }

    /// Sees to it that every change of a batch is done, parked or a dead letter.
    async fn deliver(&self, changes: Vec<Handed>) -> Result<(), Stopped> {
        // The last part comes first.
        let mut parts = vec![Part { changes, attempt: 1 }];
        while let Some(part) = parts.pop() {
            let part = self.set_aside(part).await?;
            if part.changes.is_empty() {
                continue;
            }
            if part.attempt > 1 {
                count(&self.live.counters.retried, part.changes.len());
            }
            let given = part.changes.iter().map(|handed| (&handed.typed, part.attempt));
            let batch = self.live.batch(given);
            let (outcome, enlisted) = attempt(&self.live.door, &batch).await;
            parts.extend(self.after(part, outcome, enlisted).await?);
        }
        Ok(())
    }

    /// Changes that are too old, or for which there is no room any more, become dead letters; those of a key with a parked change wait behind it.
    async fn set_aside(&self, part: Part) -> Result<Part, Stopped> {
        let live = &self.live;
        let oldest = live.clock.now().minus(live.route.maximum_record_age);
        let mut resolved = Resolved::default();
        let mut changes = Vec::with_capacity(part.changes.len());
        for handed in part.changes {
            let failed = |handed, error: &str, attempts| Failed {
                handed,
                error: error.to_owned(),
                attempts,
            };
            if live.parked.lock().blocks(handed.key) {
                let why = "waits behind an earlier change of the same item";
                resolved.parked.push(failed(handed, why, 0));
            } else if live.is_given_up(handed.change().at) {
                resolved.dead.push(failed(handed, NO_ROOM, part.attempt - 1));
            } else if handed.change().at < oldest {
                let why = self.too_old(part.attempt);
                resolved.dead.push(failed(handed, &why, part.attempt - 1));
            } else {
                changes.push(handed);
            }
        }
        if !resolved.parked.is_empty() || !resolved.dead.is_empty() {
            live.resolve(resolved).await?;
        }
        Ok(Part { changes, ..part })
    }

    /// Why a change is given up that got too old; after failed attempts, with what was wrong then.
    fn too_old(&self, attempt: u32) -> String {
        let why = "older than the route's maximum_record_age";
        let last = self.live.counters.last_error().filter(|_| attempt > 1);
        last.map_or(why.to_owned(), |last| format!("{why}; last: {}", last.message))
    }

    /// Resolves a part, or says in which parts it is to be tried again, the last first.
    async fn after(
        &self,
        mut part: Part,
        outcome: Outcome,
        enlisted: Option<Enlistment>,
    ) -> Result<Vec<Part>, Stopped> {
        let live = &self.live;
        let mut resolved = Resolved {
            enlisted,
            ..Resolved::default()
        };
        match outcome {
            Outcome::Done => resolved.done = part.changes,
            Outcome::Partly(mut reasons) => {
                for handed in part.changes {
                    let id = format!("{}:{}", live.name, handed.change().event_id);
                    match reasons.iter().position(|(failed, _)| *failed == id) {
                        Some(at) => {
                            let error = reasons.swap_remove(at).1;
                            self.give_back(handed, error, part.attempt, &mut resolved);
                        }
                        None => resolved.done.push(handed),
                    }
                }
            }
            Outcome::Refused(error) if live.route.bisect_batch_on_error => {
                live.counters.failed(live.clock.now(), &error);
                if part.changes.len() > 1 {
                    let later = part.changes.split_off(part.changes.len() / 2);
                    let attempt = part.attempt;
                    return Ok(vec![
                        Part {
                            changes: later,
                            attempt,
                        },
                        part,
                    ]);
                }
                for handed in part.changes {
                    self.give_back(handed, error.clone(), part.attempt, &mut resolved);
                }
            }
            Outcome::Refused(error) | Outcome::Unavailable(error) => {
                live.counters.failed(live.clock.now(), &error);
                if part.attempt <= live.route.maximum_retry_attempts {
                    self.back_off(part.attempt).await?;
                    part.attempt += 1;
                    return Ok(vec![part]);
                }
                resolved.dead = part
                    .changes
                    .into_iter()
                    .map(|handed| Failed {
                        handed,
                        error: error.clone(),
                        attempts: part.attempt,
                    })
                    .collect();
            }
        }
        live.resolve(resolved).await?;
        Ok(Vec::new())
    }

    /// A change that was refused by itself: parked, or a dead letter if it has no attempt left.
    fn give_back(&self, handed: Handed, error: String, attempts: u32, resolved: &mut Resolved) {
        self.live.counters.failed(self.live.clock.now(), &error);
        let has_attempts = attempts <= self.live.route.maximum_retry_attempts;
        let failed = Failed {
            handed,
            error,
            attempts,
        };
        if has_attempts {
            resolved.parked.push(failed);
        } else {
            resolved.dead.push(failed);
        }
    }

    async fn back_off(&self, attempts: u32) -> Result<(), Stopped> {
        let live = &self.live;
        count(&live.counters.backing_off, 1);
        let due = live.clock.now().plus(live.route.backoff.after(attempts));
        let waited = live.wait_until(due).await;
        live.counters
            .backing_off
            .fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        waited
    }
}
