//! Tries parked changes again when they are due: each alone, the oldest of its item or destination first, several at once.
//! None waits for the attempt at another.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::task::{JoinError, JoinSet};
use trestle_env::{Alarm, Timestamp};

use crate::Outcome;
use crate::attempt::attempt;
use crate::lanes::LaneName;
use crate::live::{Live, Stopped};
use crate::matcher::Typed;
use crate::parked::{Entry, KeyName};
use crate::rows::{Kept, KeptId, Write};
use crate::status::count;
use crate::target::Enlistment;

/// Changes tried at once.
const TAKEN_MAX: usize = 25;

/// Tries again whatever is due, until the route is stopped; then what is under way comes to its end.
pub(crate) async fn run(live: Arc<Live>) {
    let mut attempts = Attempts::default();
    let mut is_stopped = false;
    while !is_stopped || !attempts.tasks.is_empty() {
        let may_begin = !is_stopped && attempts.tasks.len() < TAKEN_MAX;
        let worked = tokio::select! {
            due = next(&live, &attempts.lanes), if may_begin => match due {
                Ok(due) => attempts.begin(&live, due).await,
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
    async fn begin(
        &mut self,
        live: &Arc<Live>,
        due: Vec<(LaneName, KeyName, KeptId)>,
    ) -> Result<(), Stopped> {
        for (lane, key, id) in due {
            let Some(kept) = load(live, key, &id).await? else {
                continue;
            };
            let live = Arc::clone(live);
            self.lanes.push(lane);
            self.tasks
                .spawn(async move { once_more(&live, lane, key, kept).await });
        }
        Ok(())
    }

    /// An attempt that is over, with all others that are.
    fn all_done(&mut self, first: Result<Tried, JoinError>) -> Vec<Tried> {
        let mut tried = Vec::new();
        let mut next = Some(first);
        while let Some(done) = next {
            // An attempt that did not come back leaves its change where it is until the next start; none should.
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

/// Waits for changes that are due. A change that could be read again after a crash is not: it has to be passed first,
/// or it might be delivered after its successors.
async fn next(live: &Live, under_way: &[LaneName]) -> Result<Vec<(LaneName, KeyName, KeptId)>, Stopped> {
    let mut alarm = Alarm::new(Arc::clone(&live.clock));
    loop {
        let rung = live.parked_bell.notified();
        let now = live.clock.now();
        let deadline = {
            let mut probed: HashSet<LaneName> = under_way.iter().copied().collect();
            let limit = TAKEN_MAX - under_way.len().min(TAKEN_MAX);
            let mut parked = live.parked.lock();
            let due = parked.take_due(now, limit, |entry| {
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

/// Whether a change of this item may be tried: while its lane is on hold, one at a time and when a probe is due.
fn may_try(live: &Live, entry: &Entry, now: Timestamp, probed: &mut HashSet<LaneName>) -> bool {
    match live.health.hold(entry.lane) {
        None => true,
        Some(hold) => hold.may_probe(now, entry.item) && probed.insert(entry.lane),
    }
}

/// A parked change after its attempt.
struct Tried {
    lane: LaneName,
    key: KeyName,
    kept: Kept,
    fate: Fate,
}

enum Fate {
    /// It was taken; with writes, as soon as they are committed.
    Taken(Option<Enlistment>),
    /// It is to be tried again when it is due.
    Again,
    /// The target does not answer: it stays due, and nothing is spent. With a doubt, it may be to blame itself.
    Held(Option<u64>),
    /// It becomes a dead letter.
    Dead,
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

async fn once_more(live: &Live, lane: LaneName, key: KeyName, mut kept: Kept) -> Tried {
    let fate = fate(live, lane, key, &mut kept).await;
    Tried {
        lane,
        key,
        kept,
        fate,
    }
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
    let answers = live.answers(lane);
    let typed = Arc::new(Typed::new(Arc::clone(&kept.change)));
    let batch = live.batch(std::iter::once((&typed, kept.attempts + 1)));
    let under_way = live.health.attempting(now);
    let (outcome, enlisted) = attempt(&live.door, &batch).await;
    drop(under_way);
    let held = held(live, lane, key, kept, &outcome, answers);
    let is_away = matches!(held, Some(None));
    // Whatever may be the change's fault holds up its item, and another change of the destination is tried.
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

/// Whether the target is to blame for an outcome, so that its lane is on hold; and the doubt about the change. A change that was to
/// blame before is so again, unless its lane is on hold. Another one is, once the target has answered to other changes
/// since it failed.
fn held(
    live: &Live,
    lane: LaneName,
    key: KeyName,
    kept: &Kept,
    outcome: &Outcome,
    answers: u64,
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
            let doubt = live.parked.lock().doubt(key, &kept.id).unwrap_or(answers);
            let is_proven = kept.attempts > 0 || live.answers(lane) > doubt;
            // An item that is a destination of its own keeps its lane on hold itself.
            if is_proven && live.lanes.are_items() {
                live.target_cleared(lane);
            }
            if is_proven && live.health.hold(lane).is_none() {
                return None;
            }
            live.target_failed(lane, error, Some(key));
            Some(Some(doubt))
        }
        Outcome::Done | Outcome::Partly(_) | Outcome::Refused(_) | Outcome::Interrupted { .. } => None,
    }
}

/// Makes sure of what became of parked changes, then lets the next of their keys have their turn.
async fn resolve(live: &Live, tried: Vec<Tried>) -> Result<(), Stopped> {
    let name = &live.name;
    let (mut puts, mut deletes) = (Vec::new(), Vec::new());
    for Tried { kept, fate, .. } in &tried {
        match fate {
            Fate::Taken(None) => deletes.push(Kept::unpark(name, &kept.id)),
            Fate::Taken(Some(_)) | Fate::Held(_) => {}
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
    for Tried { key, kept, fate, .. } in tried {
        match fate {
            Fate::Again => {
                live.parked.lock().postpone(key, &kept.id, kept.due);
                continue;
            }
            Fate::Held(doubt) => {
                live.parked.lock().hold(key, &kept.id, doubt);
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
