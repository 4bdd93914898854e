//! The shards of a stream: the original ones, and the children of those that were split.
//!
//! A shard holds the changes of the items in its range of the scan order. A split closes it at a sequence
//! number; after that, each half of the range has its own shard. A reader that reads a parent to its end
//! before its children sees the changes of every item in order.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use trestle_api::{Error, ErrorKind, ListTablesOutput, Response};

use crate::Engine;
use crate::catalog::Stream;
use crate::stream_position::parse_shard_id;
use crate::transaction::Transaction;

/// The maximum number of shards of a stream, including closed ones; then no more are split. This limits how
/// many shards each write has to check.
pub(crate) const SHARDS_MAX: u16 = 256;

/// A shard that replaces a part of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Child {
    /// The shard to read first.
    pub(crate) parent: u16,
    /// The parent's last sequence number: this shard begins after it.
    pub(crate) after: u64,
    /// The range of the scan order whose changes it holds, both ends included.
    pub(crate) hashes: (u64, u64),
}

impl Child {
    fn range(&self) -> RangeInclusive<u64> {
        self.hashes.0..=self.hashes.1
    }
}

/// Bytes written to each shard since it was opened or the database was opened, whichever was later.
pub(crate) type Written = Arc<[AtomicU64]>;

impl Stream {
    /// The number of shards, open and closed. They are numbered from 0, parents before their children.
    pub(crate) fn shard_count(&self) -> u16 {
        // Fits: bounded by the number of shards a stream begins with and `SHARDS_MAX`.
        self.shards.saturating_add(self.children.len() as u16)
    }

    /// The shard that takes the changes of the item at this position of the scan order.
    pub(crate) fn shard_of(&self, hash: u64) -> u16 {
        self.shard_at(hash, u64::MAX)
    }

    /// The shard that holds the change with that number of the item at this position of the scan order.
    pub(crate) fn shard_at(&self, hash: u64, sequence: u64) -> u16 {
        // Fits: the product is below shards * 2^64, so the upper half is below shards.
        let mut shard = ((u128::from(hash) * u128::from(self.shards)) >> 64) as u16;
        // A child comes after its parent, so that one pass finds the last descendant.
        for (number, child) in self.numbered_children() {
            if child.parent == shard && child.after < sequence && child.range().contains(&hash) {
                shard = number;
            }
        }
        shard
    }

    /// The child with this number; `None` for an original shard.
    pub(crate) fn child(&self, shard: u16) -> Option<&Child> {
        self.children.get(usize::from(shard.checked_sub(self.shards)?))
    }

    /// The shards that replaced `parent`.
    pub(crate) fn children_of(&self, parent: u16) -> impl Iterator<Item = u16> {
        self.numbered_children()
            .filter(move |(_, child)| child.parent == parent)
            .map(|(number, _)| number)
    }

    fn numbered_children(&self) -> impl Iterator<Item = (u16, &Child)> {
        (self.shards..).zip(&self.children)
    }

    /// The shard begins after this sequence number.
    pub(crate) fn begins_after(&self, shard: u16) -> u64 {
        self.child(shard).map_or(self.first_sequence, |child| child.after)
    }

    /// The last sequence number that the shard can hold, if it is closed.
    pub(crate) fn last_of(&self, shard: u16) -> Option<u64> {
        let took_over = self.children.iter().find(|child| child.parent == shard);
        took_over
            .map(|child| child.after)
            .or(self.closed.map(|(_, last)| last))
    }

    /// The last sequence number that was trimmed from a shard; 0 if none was.
    pub(crate) fn trimmed(&self, shard: u16) -> u64 {
        self.trimmed.get(usize::from(shard)).copied().unwrap_or_default()
    }

    /// Records that a shard was trimmed up to this sequence number.
    pub(crate) fn note_trimmed(&mut self, shard: u16, sequence: u64) {
        let at = usize::from(shard);
        if self.trimmed.len() <= at {
            self.trimmed.resize(at + 1, 0);
        }
        if let Some(last) = self.trimmed.get_mut(at) {
            *last = sequence.max(*last);
        }
    }

    /// The range of the scan order that a shard covers.
    fn hashes(&self, shard: u16) -> RangeInclusive<u64> {
        if let Some(child) = self.child(shard) {
            return child.range();
        }
        let first = |shard: u16| (u128::from(shard) << 64).div_ceil(u128::from(self.shards));
        // Fits: both are below 2^64, because this is an original shard.
        first(shard) as u64..=(first(shard + 1) - 1) as u64
    }

    /// This stream with the shard closed at `last` and replaced by two new ones; `None` if it cannot be
    /// split.
    pub(crate) fn split(&self, shard: u16, last: u64) -> Option<Self> {
        if !self.can_split(shard) {
            return None;
        }
        let hashes = self.hashes(shard);
        let (low, high) = (*hashes.start(), *hashes.end());
        let middle = low + (high - low) / 2;
        let mut stream = self.clone();
        stream
            .children
            .extend([(low, middle), (middle + 1, high)].map(|hashes| Child {
                parent: shard,
                after: last,
                hashes,
            }));
        stream.count_bytes();
        Some(stream)
    }

    fn can_split(&self, shard: u16) -> bool {
        let is_open = || shard < self.shard_count() && self.last_of(shard).is_none();
        let has_room = self.shard_count().saturating_add(2) <= SHARDS_MAX;
        has_room && is_open() && span(&self.hashes(shard)) > 1
    }

    /// Adds counters for the bytes written to new shards; existing counters are kept.
    pub(crate) fn count_bytes(&mut self) {
        let counted = |shard: usize| {
            self.written
                .get(shard)
                .map_or(0, |bytes| bytes.load(Ordering::Relaxed))
        };
        self.written = (0..usize::from(self.shard_count()))
            .map(|shard| AtomicU64::new(counted(shard)))
            .collect();
    }

    /// Counts bytes written to a shard.
    pub(crate) fn wrote(&self, shard: u16, bytes: usize) {
        if let Some(written) = self.written.get(usize::from(shard)) {
            written.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// The shards to which more than `limit` bytes were written and which can be split.
    pub(crate) fn full_shards(&self, limit: u64) -> impl Iterator<Item = u16> {
        (0..self.shard_count())
            .zip(&*self.written)
            .filter(move |(_, bytes)| bytes.load(Ordering::Relaxed) > limit)
            .map(|(shard, _)| shard)
            .filter(|shard| self.can_split(*shard))
    }

    /// A contradiction in the shards' definition, if there is one.
    pub(crate) fn shards_fault(&self, newest: u64) -> Option<String> {
        let fault = |number: u16, what: &str| Some(format!("shard {number} of {} {what}", self.arn));
        for (number, child) in self.numbered_children() {
            if child.parent >= number {
                return fault(number, "is said to be the child of a later one");
            }
            if child.after > newest || child.after < self.begins_after(child.parent) {
                return fault(number, "begins before its parent or behind the newest change");
            }
            let siblings = || self.children.iter().filter(|other| other.parent == child.parent);
            let covered: u128 = siblings().map(|other| span(&other.range())).sum();
            if covered != span(&self.hashes(child.parent))
                || siblings().any(|other| other.after != child.after)
            {
                return fault(
                    number,
                    "and its siblings do not take over from their parent exactly",
                );
            }
        }
        None
    }
}

fn span(hashes: &RangeInclusive<u64>) -> u128 {
    u128::from(hashes.end().saturating_sub(*hashes.start())) + 1
}

impl Engine {
    /// Closes a shard of a stream and opens two in its place, each with half of the items. This also happens
    /// automatically when much has been written to a shard.
    pub fn split_shard(&self, stream_arn: &str, shard_id: &str) -> Result<(), Error> {
        let (arn, id) = (stream_arn.to_owned(), shard_id.to_owned());
        let work = move |transaction: &mut Transaction<'_>| {
            let stream = Arc::clone(transaction.catalog().stream(&arn)?);
            let shard = parse_shard_id(&stream, &id).ok_or_else(|| unknown(&id))?;
            let split = stream.split(shard, transaction.sequence()).ok_or_else(|| {
                Error::validation(format!(
                    "Shard {id} cannot be split: it is closed, or the stream has its {SHARDS_MAX} shards"
                ))
            })?;
            transaction.put_stream(split)?;
            // The committer answers with responses; this work has none, so any empty one will do.
            Ok(Response::from(ListTablesOutput::default()))
        };
        self.submit(Box::new(work), None).wait().map(|_| ())
    }
}

/// There is no such shard.
pub(crate) fn unknown(shard_id: &str) -> Error {
    Error::new(
        ErrorKind::ResourceNotFound,
        format!("Requested resource not found: Shard does not exist: {shard_id}"),
    )
}
