//! Tries parked changes again when they are due, the oldest first: of an item one by one, of a destination
//! that answers a batch at a time. Attempts for different items or destinations are independent.

mod trial;

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use trestle_env::{Alarm, Timestamp};

use crate::lanes::LaneName;
use crate::live::{Live, Stopped};
use crate::parked::{Due, Entry};
use crate::rows::{Kept, Write};
use crate::status::count;
use crate::target::{Door, Enlistment};

use trial::{Fate, Tried, TriedChange};

/// Attempts under way at once.
const TAKEN_MAX: usize = 25;

/// Tries parked changes until the route is stopped; attempts under way are then finished.
pub(crate) async fn run(live: Arc<Live>) {
    let mut attempts = Attempts::default();
    let mut is_stopped = false;
    while !is_stopped || !attempts.tasks.is_empty() {
        let may_begin = !is_stopped && attempts.tasks.len() < TAKEN_MAX;
        let worked = tokio::select! {
            due = next(&live, &attempts.lanes), if may_begin => match due {
                Ok(due) => {
                    attempts.begin(&live, due);
                    Ok(())
                }
                Err(stopped) => Err(stopped),
            },
            Some(done) = attempts.tasks.join_next() => {
                let tried = attempts.all_done(done);
                resolve(&live, tried).await
            }
        };
        is_stopped |= worked.is_err();
    }
}

/// The attempts that are under way.
#[derive(Default)]
struct Attempts {
    tasks: JoinSet<Tried>,
    /// The lane of each of them.
    lanes: Vec<LaneName>,
}

impl Attempts {
    fn begin(&mut self, live: &Arc<Live>, due: Vec<Due>) {
        for due in due {
            let live = Arc::clone(live);
            self.lanes.push(due.lane);
            self.tasks
                .spawn(async move { trial::once_more(&live, due).await });
        }
    }

    /// Collects an attempt that has ended with all others that have.
    fn all_done(&mut self, first: Result<Tried, JoinError>) -> Vec<Tried> {
        let mut tried = Vec::new();
        let mut next = Some(first);
        while let Some(done) = next {
            // If an attempt is lost, its change stays in place until the next start; this should not happen.
            let lost = |error: &JoinError| tracing::error!(%error, "an attempt was lost");
            tried.extend(done.inspect_err(lost));
            next = self.tasks.try_join_next();
        }
        for Tried { lane, .. } in &tried {
            if let Some(at) = self.lanes.iter().position(|other| other == lane) {
                self.lanes.swap_remove(at);
            }
        }
        tried
    }
}

/// Waits for changes that are due. A change that could be read again after a crash is not: the checkpoint
/// must pass it first, or it might be delivered after its successors.
async fn next(live: &Live, under_way: &[LaneName]) -> Result<Vec<Due>, Stopped> {
    let mut alarm = Alarm::new(Arc::clone(&live.clock));
    loop {
        let rung = live.parked_bell.notified();
        let now = live.clock.now();
        let deadline = {
            let mut probed: HashSet<LaneName> = under_way.iter().copied().collect();
            let limit = TAKEN_MAX - under_way.len().min(TAKEN_MAX);
            let mut parked = live.parked.lock();
            let due = parked.take_due(now, limit, together_max(live), |entry| {
                let is_safe = || live.has_passed_parked(entry);
                let mut may_go = || is_safe() && may_try(live, entry, now, &mut probed);
                entry.is_stored && (live.is_too_old(entry.at) || may_go())
            });
            if !due.is_empty() {
                return Ok(due);
            }
            let probe = live.health.next_probe(now).filter(|_| parked.count() > 0);
            parked.next_due(now).into_iter().chain(probe).min()
        };
        tokio::select! {
            () = rung => {}
            _ = alarm.until(deadline.unwrap_or(Timestamp::MAX)) => {}
            () = live.stopped() => return Err(Stopped),
        }
    }
}

/// How many changes of a destination may be tried together.
fn together_max(live: &Live) -> usize {
    match live.door {
        Door::Target(_) => live.batch_max(),
        // Each is delivered in a transaction with its parked row.
        Door::Enlist(_) => 1,
    }
}

/// Whether a change of this item may be tried: while its lane is on hold, one at a time and when a probe is due.
fn may_try(live: &Live, entry: &Entry, now: Timestamp, probed: &mut HashSet<LaneName>) -> bool {
    match live.health.hold(entry.lane) {
        None => true,
        Some(hold) => hold.may_probe(now, entry.item) && probed.insert(entry.lane),
    }
}

/// Stores the outcome of parked changes, then allows the next changes of their keys to be tried.
async fn resolve(live: &Live, tried: Vec<Tried>) -> Result<(), Stopped> {
    let name = &live.name;
    let went_well = tried.iter().any(Tried::went_well);
    let tried: Vec<TriedChange> = tried.into_iter().flat_map(|tried| tried.changes).collect();
    let (mut puts, mut deletes) = (Vec::new(), Vec::new());
    for TriedChange { kept, fate, .. } in &tried {
        match fate {
            Fate::Taken(None) => deletes.push(Kept::unpark(name, &kept.id)),
            Fate::Taken(Some(_)) | Fate::Held(_) | Fate::Untried => {}
            Fate::Again => puts.push(kept.park(name).row),
            Fate::Dead => {
                puts.push(kept.bury(name).row);
                deletes.push(Kept::unpark(name, &kept.id));
            }
        }
    }
    // The dead letters first: a crash in between leaves both, and the parked changes are tried once more.
    live.write(&puts).await?;
    live.write(&deletes).await?;
    for TriedChange { key, kept, fate } in tried {
        match fate {
            Fate::Again => {
                live.parked.lock().postpone(key, &kept.id, kept.due);
                continue;
            }
            Fate::Held(doubt) => {
                live.parked.lock().hold(key, &kept.id, doubt);
                continue;
            }
            Fate::Untried => {
                live.parked.lock().release(key, &kept.id);
                continue;
            }
            Fate::Taken(enlisted) => {
                if let Some(enlisted) = enlisted {
                    hand_over(live, &kept, enlisted).await?;
                }
                drop_parts(live, &kept).await?;
                count(&live.counters.delivered, 1);
            }
            Fate::Dead => live.given_up(1, &kept.error),
        }
        live.parked.lock().remove(key, &kept.id);
    }
    if went_well {
        live.counters.went_well();
    }
    live.resolved_bell.notify_waiters();
    Ok(())
}

/// Delivers the change and removes its parked row, in one transaction.
async fn hand_over(live: &Live, kept: &Kept, enlisted: Enlistment) -> Result<(), Stopped> {
    let mut writes = enlisted.writes;
    writes.push(Write::in_transaction_if_there(Kept::unpark(&live.name, &kept.id)));
    while let Err(error) = live.rows.transact(writes.clone()).await {
        // If the row is missing, an earlier attempt was committed; only its response was lost.
        if matches!(live.rows.parked(&live.name, &kept.id).await, Ok(None)) {
            break;
        }
        live.pause(&error).await?;
    }
    (enlisted.committed)();
    Ok(())
}

async fn drop_parts(live: &Live, kept: &Kept) -> Result<(), Stopped> {
    while let Err(error) = live.rows.drop_parts(&live.name, kept).await {
        live.pause(&error).await?;
    }
    Ok(())
}
