//! How far a route has come in each shard: everything up to that record is done.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use trestle_env::Timestamp;

use crate::sequence::SequenceNumber;

/// A shard of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ShardName {
    /// The stream's label, which is the time at which it began: later streams have greater labels.
    pub(crate) stream: Arc<str>,
    pub(crate) shard: Arc<str>,
}

/// How far a route has come in a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardCheckpoint {
    /// Everything up to this one is done; `None` at the beginning.
    pub(crate) sequence: Option<SequenceNumber>,
    /// The shard has ended, and everything in it is done.
    pub(crate) ended: bool,
}

/// Identifies a change of a shard while it is under way.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) shard: Arc<ShardName>,
    number: u64,
}

/// Which changes are under way, and therefore how far each shard is done.
#[derive(Debug, Default)]
pub(crate) struct Tracker {
    shards: HashMap<Arc<ShardName>, Line>,
}

/// How far one shard was read, and which of its changes are under way. Finished changes take no memory: one
/// change that takes long may be followed by any number of finished ones.
#[derive(Debug, Default)]
struct Line {
    /// The number of the next ticket.
    next: u64,
    on_the_way: BTreeMap<u64, Slot>,
    /// The last record that was read.
    read_up_to: Option<SequenceNumber>,
    checkpoint: ShardCheckpoint,
    /// The reader has reached the shard's end.
    is_read: bool,
    is_dirty: bool,
}

#[derive(Debug)]
struct Slot {
    /// The previous record: the checkpoint while this is the oldest change under way.
    before: Option<SequenceNumber>,
    at: Timestamp,
}

impl Line {
    /// The checkpoint if the changes for which `is_done` holds were done; `None` if it would not move.
    fn checkpoint_if(&self, is_done: impl Fn(u64) -> bool) -> Option<ShardCheckpoint> {
        let oldest = self.on_the_way.iter().find(|(number, _)| !is_done(**number));
        let reached = oldest.map_or(&self.read_up_to, |(_, slot)| &slot.before);
        let ended = self.is_read && oldest.is_none();
        // A new tracker does not know the stored checkpoint.
        let is_further = reached.is_some() && *reached != self.checkpoint.sequence;
        (is_further || (ended && !self.checkpoint.ended)).then(|| ShardCheckpoint {
            sequence: reached.clone(),
            ended,
        })
    }

    fn advance(&mut self) {
        if let Some(checkpoint) = self.checkpoint_if(|_| false) {
            self.checkpoint = checkpoint;
            self.is_dirty = true;
        }
    }
}

impl Tracker {
    /// A change is under way.
    pub(crate) fn sent(
        &mut self,
        shard: &Arc<ShardName>,
        sequence: &SequenceNumber,
        at: Timestamp,
    ) -> Ticket {
        let line = self.shards.entry(Arc::clone(shard)).or_default();
        let number = line.next;
        let before = line.read_up_to.replace(sequence.clone());
        line.on_the_way.insert(number, Slot { before, at });
        line.next += 1;
        Ticket {
            shard: Arc::clone(shard),
            number,
        }
    }

    /// The shard has been read up to this record, and none since the last sent change is for this route.
    pub(crate) fn passed(&mut self, shard: &Arc<ShardName>, sequence: &SequenceNumber) {
        let line = self.shards.entry(Arc::clone(shard)).or_default();
        line.read_up_to = Some(sequence.clone());
        line.advance();
    }

    /// The shard has been read to its end.
    pub(crate) fn read(&mut self, shard: &Arc<ShardName>) {
        let line = self.shards.entry(Arc::clone(shard)).or_default();
        line.is_read = true;
        line.advance();
    }

    /// Marks changes as done: delivered, or stored elsewhere.
    pub(crate) fn done<'t>(&mut self, tickets: impl Iterator<Item = &'t Ticket>) {
        for ticket in tickets {
            if let Some(line) = self.shards.get_mut(&ticket.shard) {
                line.on_the_way.remove(&ticket.number);
                line.advance();
            }
        }
    }

    /// The checkpoints of the shards if these changes were done, too; only those that would move.
    pub(crate) fn checkpoints_after(&self, tickets: &[&Ticket]) -> Vec<(Arc<ShardName>, ShardCheckpoint)> {
        let mut checkpoints: Vec<(Arc<ShardName>, ShardCheckpoint)> = Vec::new();
        for ticket in tickets {
            if checkpoints.iter().any(|(shard, _)| *shard == ticket.shard) {
                continue;
            }
            let Some(line) = self.shards.get(&ticket.shard) else {
                continue;
            };
            let is_among = |number: u64| {
                tickets
                    .iter()
                    .any(|other| other.number == number && other.shard == ticket.shard)
            };
            let moved = line.checkpoint_if(is_among);
            checkpoints.extend(moved.map(|checkpoint| (Arc::clone(&ticket.shard), checkpoint)));
        }
        checkpoints
    }

    /// Whether no change of a line is under way.
    pub(crate) fn is_idle(&self, shard: &ShardName) -> bool {
        self.shards
            .get(shard)
            .is_none_or(|line| line.on_the_way.is_empty())
    }

    /// The time of the oldest change under way.
    pub(crate) fn oldest(&self) -> Option<Timestamp> {
        let oldest = self.shards.values();
        let oldest = oldest.filter_map(|line| line.on_the_way.first_key_value());
        oldest.map(|(_, slot)| slot.at).min()
    }

    /// The checkpoints that have moved since the last call.
    pub(crate) fn take_moved(&mut self) -> Vec<(Arc<ShardName>, ShardCheckpoint)> {
        let moved = self.shards.iter_mut().filter(|(_, line)| line.is_dirty);
        let moved: Vec<_> = moved
            .map(|(shard, line)| {
                line.is_dirty = false;
                (Arc::clone(shard), line.checkpoint.clone())
            })
            .collect();
        // A finished shard needs no entry any more; the caller has its checkpoint.
        self.shards
            .retain(|_, line| line.is_dirty || !line.checkpoint.ended);
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard() -> Arc<ShardName> {
        Arc::new(ShardName {
            stream: "2026".into(),
            shard: "one".into(),
        })
    }

    fn checkpoint(tracker: &mut Tracker) -> Option<(String, bool)> {
        let (_, checkpoint) = tracker.take_moved().pop()?;
        Some((
            checkpoint.sequence.map_or_else(String::new, |s| s.to_string()),
            checkpoint.ended,
        ))
    }

    #[test]
    fn the_checkpoint_stays_behind_the_oldest_change_that_is_on_its_way() {
        let (mut tracker, shard) = (Tracker::default(), shard());
        let sequence = |n: u64| SequenceNumber::new(&n.to_string());
        let tickets: Vec<Ticket> = (1..=4)
            .map(|n| tracker.sent(&shard, &sequence(n), Timestamp::from_secs(n)))
            .collect();
        tracker.passed(&shard, &sequence(7));
        assert_eq!(checkpoint(&mut tracker), None);
        assert_eq!(tracker.oldest(), Some(Timestamp::from_secs(1)));
        tracker.done([&tickets[1], &tickets[2]].into_iter());
        assert_eq!(checkpoint(&mut tracker), None);
        assert_eq!(
            tracker.checkpoints_after(&[&tickets[0]])[0].1.sequence,
            Some(sequence(3)),
            "with the first done, the next two are"
        );
        assert_eq!(
            tracker.checkpoints_after(&[&tickets[3]]),
            [],
            "the first is on its way"
        );
        tracker.done([&tickets[0]].into_iter());
        assert_eq!(checkpoint(&mut tracker), Some(("3".into(), false)));
        tracker.read(&shard);
        assert_eq!(
            checkpoint(&mut tracker),
            None,
            "the shard has ended, but one is on its way"
        );
        assert_eq!(
            tracker.checkpoints_after(&[&tickets[3]])[0].1,
            ShardCheckpoint {
                sequence: Some(sequence(7)),
                ended: true
            }
        );
        tracker.done([&tickets[3]].into_iter());
        assert_eq!(checkpoint(&mut tracker), Some(("7".into(), true)));
    }

    #[test]
    fn changes_for_others_move_the_checkpoint_at_once() {
        let (mut tracker, shard) = (Tracker::default(), shard());
        tracker.passed(&shard, &SequenceNumber::new("5"));
        assert_eq!(checkpoint(&mut tracker), Some(("5".into(), false)));
        assert_eq!(checkpoint(&mut tracker), None);
    }
}
