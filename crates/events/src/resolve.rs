//! The outcome of changes after an attempt: done, parked, or dead letters; stored with the route's checkpoint
//! in the right order.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::{Error, ErrorKind, TransactWriteItem};
use trestle_env::Timestamp;

use crate::backfill::RowMark;
use crate::live::{Handed, Live, Stopped};
use crate::parked::{Behind, Entry};
use crate::rows::{Kept, KeptId, Write};
use crate::status::count;
use crate::target::{Door, Enlistment};
use crate::tracker::{ShardCheckpoint, ShardName, Ticket};

/// A change that was not taken.
pub(crate) struct Failed {
    pub(crate) handed: Handed,
    pub(crate) error: String,
    /// How many attempts were made.
    pub(crate) attempts: u32,
    /// What it waits for, if it is parked.
    pub(crate) behind: Behind,
}

impl Failed {
    /// A change that must wait for others.
    pub(crate) fn waiting(handed: Handed, behind: Behind) -> Self {
        let why = match behind {
            Behind::Item => "waits behind an earlier change of the same item",
            Behind::Destination(_) => "waits behind earlier changes of the same destination",
        };
        Self {
            handed,
            error: why.to_owned(),
            attempts: 0,
            behind,
        }
    }

    /// A change whose destination cannot be reached; no attempt is counted.
    pub(crate) fn unreachable(handed: Handed, error: String) -> Self {
        Self {
            behind: handed.destination.map_or(Behind::Item, Behind::Destination),
            handed,
            error,
            attempts: 0,
        }
    }
}

/// The outcome of some changes.
#[derive(Default)]
pub(crate) struct Resolved {
    /// These were taken.
    pub(crate) done: Vec<Handed>,
    /// These are delivered by the transaction that stores the checkpoint.
    pub(crate) enlisted: Option<Enlistment>,
    /// These will be tried again, or wait for one that will.
    pub(crate) parked: Vec<Failed>,
    /// These will not be tried again.
    pub(crate) dead: Vec<Failed>,
}

impl Resolved {
    fn all(&self) -> impl Iterator<Item = &Handed> + Clone {
        let failed = self.parked.iter().chain(&self.dead).map(|failed| &failed.handed);
        self.done.iter().chain(failed)
    }
}

impl Live {
    /// Stores the outcome of changes, then lets the checkpoint pass them.
    pub(crate) async fn resolve(&self, mut resolved: Resolved) -> Result<(), Stopped> {
        self.await_room_to_park(resolved.parked.len()).await?;
        let now = self.clock.now();
        let mut rows: Vec<Write> = Vec::new();
        let mut parts: Vec<Write> = Vec::new();
        let mut parked = Vec::new();
        for failed in &resolved.parked {
            let kept = self.kept(failed, now);
            let handed = &failed.handed;
            let entry = Entry {
                item: handed.key,
                lane: self.lanes.name(&handed.typed, handed.key),
                shard: Arc::clone(&handed.ticket.shard),
                sequence: handed.sequence.clone(),
                mark: handed.mark.clone(),
                at: kept.change.at,
                due: kept.due,
                is_stored: false,
                is_tried: false,
                doubt: None,
            };
            // If a change is already parked, it was read again after a restart: its row has more information.
            if self.parked.lock().add(kept.id.clone(), entry, failed.behind) {
                let kept_rows = kept.park(&self.name);
                parts.extend(kept_rows.parts);
                rows.push(kept_rows.row);
                parked.push((handed.key, kept.id));
            }
        }
        for failed in &resolved.dead {
            let kept_rows = self.kept(failed, now).bury(&self.name);
            parts.extend(kept_rows.parts);
            rows.push(kept_rows.row);
        }
        self.write(&parts).await?;
        match &self.door {
            Door::Target(_) => self.write(&rows).await?,
            Door::Enlist(_) => self.commit(&mut resolved, rows).await?,
        }
        let mut index = self.parked.lock();
        for (key, id) in &parked {
            index.stored(*key, id);
        }
        drop(index);
        if !parked.is_empty() {
            self.parked_bell.notify_one();
        }
        count(&self.counters.delivered, resolved.done.len());
        if !resolved.done.is_empty() && resolved.parked.is_empty() && resolved.dead.is_empty() {
            self.counters.went_well();
        }
        if let Some(last) = resolved.dead.last() {
            self.given_up(resolved.dead.len(), &last.error);
        }
        self.done(resolved.all());
        Ok(())
    }

    fn kept(&self, failed: &Failed, now: Timestamp) -> Kept {
        let shard = &failed.handed.ticket.shard;
        // A change that waits for another one, or for its destination, was not at fault: it is due
        // immediately.
        let wait = match failed.attempts {
            0 => Duration::ZERO,
            attempts => self.route.backoff.after(attempts),
        };
        Kept {
            id: self.kept_id(&failed.handed),
            shard: Arc::clone(shard),
            mark: failed.handed.mark.clone(),
            change: Arc::clone(failed.handed.change()),
            attempts: failed.attempts,
            error: failed.error.clone(),
            first: now,
            last: now,
            due: now.plus(wait),
            is_behind_destination: failed.behind != Behind::Item,
        }
    }

    fn kept_id(&self, handed: &Handed) -> KeptId {
        match &handed.mark {
            None => KeptId::new(&handed.ticket.shard, &handed.sequence),
            Some(RowMark::At(position)) => KeptId::of_row(position, handed.change()),
            // Earlier changes of the item are parked or done, and later ones come after the row in its lane.
            Some(RowMark::Settled) => {
                let last = self.parked.lock().last(handed.key);
                KeptId::of_row_behind(last, handed.change())
            }
        }
    }

    async fn await_room_to_park(&self, more: usize) -> Result<(), Stopped> {
        loop {
            let resolved = self.resolved_bell.notified();
            if more == 0 || self.parked.lock().count() < self.parked_max {
                return Ok(());
            }
            self.log_no_room();
            tokio::select! {
                () = resolved => {}
                () = self.stopped() => return Err(Stopped),
            }
        }
    }

    /// Writes rows, and repeats that until it succeeds.
    pub(crate) async fn write(&self, rows: &[Write]) -> Result<(), Stopped> {
        while let Err(error) = self.rows.write(rows).await {
            self.pause(&error).await?;
        }
        Ok(())
    }

    /// Stores everything about these changes in one transaction: deliveries, kept changes, and the
    /// checkpoints after them.
    async fn commit(&self, resolved: &mut Resolved, rows: Vec<Write>) -> Result<(), Stopped> {
        let tickets: Vec<&Ticket> = resolved.all().map(|handed| &handed.ticket).collect();
        let checkpoints = self.tracker.lock().checkpoints_after(&tickets);
        let mut writes: Vec<TransactWriteItem> = rows.into_iter().map(Write::in_transaction).collect();
        for (shard, checkpoint) in &checkpoints {
            if shard.is_backfill() {
                writes.extend(self.store_rows_with(shard, checkpoint));
                continue;
            }
            let from = self.stored.lock().get(shard).cloned();
            writes.push(self.checkpoints.move_shard(shard, from.as_ref(), checkpoint));
        }
        let enlisted = resolved.enlisted.take();
        writes.extend(
            enlisted
                .iter()
                .flat_map(|enlisted| enlisted.writes.iter().cloned()),
        );
        while let Err(error) = self.rows.transact(writes.clone()).await {
            if error.kind() == ErrorKind::TransactionCanceled && self.has_moved(&checkpoints).await {
                break; // An earlier try was committed after all; only its answer was lost.
            }
            self.pause(&error).await?;
        }
        if let Some(enlisted) = enlisted {
            (enlisted.committed)();
        }
        let has_rows = checkpoints.iter().any(|(shard, _)| shard.is_backfill());
        self.stored(checkpoints);
        if has_rows {
            self.rows_are_done().await?;
        }
        Ok(())
    }

    /// Whether the stored checkpoints have these values.
    async fn has_moved(&self, checkpoints: &[(Arc<ShardName>, ShardCheckpoint)]) -> bool {
        for (shard, checkpoint) in checkpoints {
            if shard.is_backfill() {
                if !self.rows_are_stored(shard, checkpoint).await {
                    return false;
                }
                continue;
            }
            let stored: Result<_, Error> = self.checkpoints.shard(shard).await;
            if !stored.is_ok_and(|stored| stored.as_ref() == Some(checkpoint)) {
                return false;
            }
        }
        !checkpoints.is_empty()
    }
}
