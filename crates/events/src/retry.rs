//! Tries parked changes again when they are due: each alone, the oldest of its item or destination first, several at once.
//! None waits for the attempt at another.

use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use trestle_env::{Alarm, Timestamp};

use crate::Outcome;
use crate::attempt::attempt;
use crate::live::{Live, Stopped};
use crate::matcher::Typed;
use crate::parked::KeyName;
use crate::rows::{Kept, KeptId, Write};
use crate::status::count;
use crate::target::Enlistment;

/// Changes tried at once.
const TAKEN_MAX: usize = 25;

/// Tries again whatever is due, until the route is stopped; then what is under way comes to its end.
pub(crate) async fn run(live: Arc<Live>) {
    let mut attempts = JoinSet::new();
    let mut is_stopped = false;
    while !is_stopped || !attempts.is_empty() {
        let free = TAKEN_MAX - attempts.len();
        let worked = tokio::select! {
            due = next(&live, free), if free > 0 && !is_stopped => match due {
                Ok(due) => begin(&live, due, &mut attempts).await,
                Err(stopped) => Err(stopped),
            },
            Some(done) = attempts.join_next() => resolve(&live, all_done(done, &mut attempts)).await,
        };
        is_stopped |= worked.is_err();
    }
}

/// Waits for changes that are due. A change that could be read again after a crash is not: it has to be passed first,
/// or it might be delivered after its successors.
async fn next(live: &Live, limit: usize) -> Result<Vec<(KeyName, KeptId)>, Stopped> {
    let mut alarm = Alarm::new(Arc::clone(&live.clock));
    loop {
        let rung = live.parked_bell.notified();
        let now = live.clock.now();
        let deadline = {
            let mut parked = live.parked.lock();
            let oldest = now.minus(live.route.maximum_record_age);
            let due = parked.take_due(now, limit, |entry| {
                let is_safe = live.has_passed(&entry.shard, &entry.sequence) || entry.at < oldest;
                entry.is_stored && is_safe
            });
            if !due.is_empty() {
                return Ok(due);
            }
            parked.next_due(now)
        };
        tokio::select! {
            () = rung => {}
            _ = alarm.until(deadline.unwrap_or(Timestamp::MAX)) => {}
            () = live.stopped() => return Err(Stopped),
        }
    }
}

/// A parked change after its attempt.
struct Tried {
    key: KeyName,
    kept: Kept,
    fate: Fate,
}

enum Fate {
    /// It was taken; with writes, as soon as they are committed.
    Taken(Option<Enlistment>),
    /// It is to be tried again when it is due.
    Again,
    /// It becomes a dead letter.
    Dead,
}

async fn begin(
    live: &Arc<Live>,
    due: Vec<(KeyName, KeptId)>,
    attempts: &mut JoinSet<Tried>,
) -> Result<(), Stopped> {
    for (key, id) in due {
        let Some(kept) = load(live, key, &id).await? else {
            continue;
        };
        let live = Arc::clone(live);
        attempts.spawn(async move { once_more(&live, key, kept).await });
    }
    Ok(())
}

/// An attempt that is over, with all others that are.
fn all_done(first: Result<Tried, JoinError>, attempts: &mut JoinSet<Tried>) -> Vec<Tried> {
    let others = std::iter::from_fn(|| attempts.try_join_next());
    // An attempt that did not come back leaves its change where it is until the next start; none should.
    let lost = |error: &JoinError| tracing::error!(%error, "an attempt was lost");
    let done = std::iter::once(first).chain(others);
    done.filter_map(|done| done.inspect_err(lost).ok()).collect()
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

async fn once_more(live: &Live, key: KeyName, mut kept: Kept) -> Tried {
    let now = live.clock.now();
    if kept.change.at < now.minus(live.route.maximum_record_age) {
        kept.error = format!("older than the route's maximum_record_age; last: {}", kept.error);
        let fate = Fate::Dead;
        return Tried { key, kept, fate };
    }
    if kept.attempts > 0 {
        count(&live.counters.retried, 1);
    }
    let typed = Arc::new(Typed::new(Arc::clone(&kept.change)));
    let batch = live.batch(std::iter::once((&typed, kept.attempts + 1)));
    let (outcome, enlisted) = attempt(&live.door, &batch).await;
    if let Outcome::Unavailable(error) = &outcome
        && kept.is_behind_destination
    {
        return postponed(live, key, kept, error.clone());
    }
    let error = match outcome {
        Outcome::Done => None,
        Outcome::Refused(error) | Outcome::Unavailable(error) => Some(error),
        Outcome::Partly(reasons) => reasons.into_iter().next().map(|(_, error)| error),
    };
    let Some(error) = error else {
        let fate = Fate::Taken(enlisted);
        return Tried { key, kept, fate };
    };
    if std::mem::take(&mut kept.is_behind_destination) {
        live.parked.lock().single_out(key);
    }
    let now = live.clock.now();
    live.counters.failed(now, &error);
    kept.attempts += 1;
    kept.error = error;
    kept.last = now;
    kept.due = now.plus(live.route.backoff.after(kept.attempts));
    let fate = if kept.attempts > live.route.maximum_retry_attempts {
        Fate::Dead
    } else {
        Fate::Again
    };
    Tried { key, kept, fate }
}

/// A change whose destination cannot be reached. That costs no attempt; the destination is tried again with it, later each
/// time.
fn postponed(live: &Live, key: KeyName, mut kept: Kept, error: String) -> Tried {
    let now = live.clock.now();
    live.counters.failed(now, &error);
    let waited = kept.due.since(kept.last);
    kept.error = error;
    kept.last = now;
    kept.due = now.plus(live.route.backoff.longer_than(waited));
    let fate = Fate::Again;
    Tried { key, kept, fate }
}

/// Makes sure of what became of parked changes, then lets the next of their keys have their turn.
async fn resolve(live: &Live, tried: Vec<Tried>) -> Result<(), Stopped> {
    let name = &live.name;
    let (mut puts, mut deletes) = (Vec::new(), Vec::new());
    for Tried { kept, fate, .. } in &tried {
        match fate {
            Fate::Taken(None) => deletes.push(Kept::unpark(name, &kept.id)),
            Fate::Taken(Some(_)) => {}
            Fate::Again => puts.push(kept.park(name).row),
            Fate::Dead => {
                puts.push(kept.bury(name).row);
                deletes.push(Kept::unpark(name, &kept.id));
            }
        }
    }
    // The dead letters first: a crash in between leaves both, and the parked ones are tried once more.
    live.write(&puts).await?;
    live.write(&deletes).await?;
    for Tried { key, kept, fate } in tried {
        match fate {
            Fate::Again => {
                live.parked.lock().postpone(key, &kept.id, kept.due);
                continue;
            }
            Fate::Taken(enlisted) => {
                if let Some(enlisted) = enlisted {
                    hand_over(live, &kept, enlisted).await?;
                }
                drop_parts(live, &kept).await?;
                count(&live.counters.delivered, 1);
            }
            Fate::Dead => count(&live.counters.dead, 1),
        }
        live.parked.lock().remove(key, &kept.id);
    }
    live.resolved_bell.notify_waiters();
    Ok(())
}

/// The change arrives and its parked row goes, in one transaction.
async fn hand_over(live: &Live, kept: &Kept, enlisted: Enlistment) -> Result<(), Stopped> {
    let mut writes = enlisted.writes;
    writes.push(Write::in_transaction_if_there(Kept::unpark(&live.name, &kept.id)));
    while let Err(error) = live.rows.transact(writes.clone()).await {
        // Without its row, an earlier try was committed after all; only its answer was lost.
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
