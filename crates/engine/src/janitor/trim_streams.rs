//! Removes change records that are older than the retention and needed by no route, and closed streams
//! without records.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_store::{Direction, Snapshot, Space};

use super::held_count::{self, HeldFront};
use super::{Progress, Worker};
use crate::catalog::Stream;
use crate::change_log;
use crate::held_changes::HeldCount;
use crate::holds::{HeldShard, StreamHold};
use crate::horizon::Horizon;
use crate::layout::{self, StreamId};
use crate::range::Range;
use crate::shared::internal;
use crate::transaction::Transaction;

/// Records of a shard that are removed per commit.
const RECORDS_PER_COMMIT: usize = 1000;

pub(crate) fn run(worker: &Worker) -> Result<Progress, Error> {
    let catalog = worker.shared.catalog.load();
    // Holds are read later than the snapshot: a position that has moved meanwhile has only passed more
    // records.
    let look = Look {
        worker,
        cutoff: worker.shared.oldest_shown(Horizon::Retention),
        snapshot: worker.shared.store.snapshot(),
        holds: OnceCell::new(),
    };
    let mut trimmed = Trimmed::default();
    for stream in catalog.streams.values() {
        look.at(stream, &mut trimmed)?;
    }
    let (fronts, gone) = (
        std::mem::take(&mut trimmed.held),
        std::mem::take(&mut trimmed.gone),
    );
    let is_trimmed = !trimmed.has_more;
    let mut progress = Progress::None;
    if !trimmed.keys.is_empty() || !trimmed.over.is_empty() {
        worker.commit(false, move |transaction| trimmed.remove(transaction))?;
        progress = Progress::Some;
    }
    for (shard, gone) in gone {
        if let Some(count) = worker.held.borrow_mut().get_mut(&shard) {
            count.take_off(gone);
        }
    }
    let counted = held_count::run(worker, &catalog, &look, &fronts, is_trimmed)?;
    Ok(if counted == Progress::Some {
        counted
    } else {
        progress
    })
}

/// What can be removed.
#[derive(Default)]
struct Trimmed {
    keys: Vec<Vec<u8>>,
    /// The last removed record of each shard.
    last: BTreeMap<(StreamId, u16), u64>,
    /// Streams without records that were closed before the start of the retention.
    over: Vec<StreamId>,
    /// The removed records that had been counted as held.
    gone: BTreeMap<(StreamId, u16), HeldCount>,
    /// The oldest held record of each shard.
    held: Vec<HeldFront>,
    /// Whether there may be more to remove than fits into one commit.
    has_more: bool,
}

impl Trimmed {
    fn remove(self, transaction: &mut Transaction<'_>) -> Result<(), Error> {
        for key in self.keys {
            transaction.delete_row(Space::Changes, key);
        }
        let streams: Vec<Arc<Stream>> = transaction.catalog().streams.values().cloned().collect();
        for stream in streams {
            let of_stream = (stream.id, 0)..=(stream.id, u16::MAX);
            let mut last = self.last.range(of_stream).peekable();
            if last.peek().is_some() {
                let mut stream = Stream::clone(&stream);
                last.for_each(|((_, shard), sequence)| stream.note_trimmed(*shard, *sequence));
                transaction.put_stream(stream)?;
            }
        }
        for id in self.over {
            transaction.remove_stream(id);
        }
        Ok(())
    }
}

/// The state of storage for one round.
pub(super) struct Look<'w> {
    worker: &'w Worker,
    /// Records before this time are older than the retention.
    pub(super) cutoff: Timestamp,
    pub(super) snapshot: Box<dyn Snapshot>,
    /// Read at the first old record.
    holds: OnceCell<Vec<StreamHold>>,
}

impl Look<'_> {
    fn at(&self, stream: &Stream, trimmed: &mut Trimmed) -> Result<(), Error> {
        let mut is_empty = true;
        for shard in 0..stream.shard_count() {
            is_empty &= self.at_shard(stream, shard, trimmed)?;
        }
        if is_empty && !stream.is_shown_since(self.cutoff) && self.is_free(stream)? {
            trimmed.over.push(stream.id);
        }
        Ok(())
    }

    /// Whether every route has finished a stream. A route that has not reads to its end, so that it knows
    /// that it has missed nothing.
    fn is_free(&self, stream: &Stream) -> Result<bool, Error> {
        let holds = self.holds()?;
        let is_free = |shard| HeldShard::of(holds, stream, shard).is_free();
        Ok((0..stream.shard_count()).all(is_free))
    }

    /// Finds the records at the beginning of a shard that can be removed; returns whether the shard has no
    /// records.
    fn at_shard(&self, stream: &Stream, shard: u16, trimmed: &mut Trimmed) -> Result<bool, Error> {
        let prefix = [&stream.id.0.to_be_bytes()[..], &shard.to_be_bytes()].concat();
        let rows = Range::prefix(prefix).rows(&*self.snapshot, Space::Changes, Direction::Forward);
        let counted = self.worker.held.borrow().get(&(stream.id, shard)).copied();
        let counted = counted.unwrap_or_default();
        let mut held = None;
        let mut is_empty = true;
        let before = trimmed.keys.len();
        for row in rows.take(RECORDS_PER_COMMIT) {
            let (key, value) = row.map_err(internal)?;
            is_empty = false;
            // An unreadable record is removed with its neighbours rather than kept forever.
            if let (Some(time), Some(sequence)) = (change_log::time_of(&value), layout::change_sequence(&key))
            {
                if time >= self.cutoff {
                    break;
                }
                let held = match &held {
                    Some(held) => held,
                    None => held.insert(HeldShard::of(self.holds()?, stream, shard)),
                };
                if held.needs(sequence, time) {
                    trimmed.held.push(HeldFront {
                        stream: stream.id,
                        shard,
                        sequence,
                        time,
                    });
                    break;
                }
                if sequence < counted.next {
                    let gone = trimmed.gone.entry((stream.id, shard)).or_default();
                    gone.records += 1;
                    gone.bytes += (key.len() + value.len()) as u64;
                }
                trimmed.last.insert((stream.id, shard), sequence);
            }
            trimmed.keys.push(key.to_vec());
        }
        trimmed.has_more |= trimmed.keys.len() - before == RECORDS_PER_COMMIT;
        Ok(is_empty)
    }

    /// The holds, if they were read.
    pub(super) fn known_holds(&self) -> &[StreamHold] {
        self.holds.get().map_or(&[], Vec::as_slice)
    }

    fn holds(&self) -> Result<&[StreamHold], Error> {
        if let Some(holds) = self.holds.get() {
            return Ok(holds);
        }
        let holds = self.worker.shared.holds()?;
        Ok(self.holds.get_or_init(|| holds))
    }
}
