//! A frozen view of a directory.

use super::opened::Opened;
use crate::batch::is_empty_range;
use crate::{Bytes, Direction, ErrorKind, Result, RowIterator, Snapshot, Space, StoreError};
use fjall::Readable;
use std::ops::Bound;
use std::sync::Arc;

pub(super) struct FjallSnapshot {
    snapshot: fjall::Snapshot,
    /// Keeps the engine and the directory's lock.
    opened: Arc<Opened>,
}

impl FjallSnapshot {
    pub(super) fn new(opened: Arc<Opened>) -> Self {
        let snapshot = opened.db.snapshot();
        FjallSnapshot { snapshot, opened }
    }
}

impl Snapshot for FjallSnapshot {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        self.opened.blocks.register().count_point_lookup();
        let found = self.snapshot.get(self.opened.keyspaces.of(space), key);
        self.opened.blocks.look(&self.opened.keyspaces, space);
        let failed = |error| self.opened.diagnosis.of_read("reading a row", space, error);
        let found = found.map_err(failed)?;
        Ok(found.map(Bytes::from_engine))
    }

    fn range(
        &self,
        space: Space,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
        direction: Direction,
    ) -> RowIterator<'_> {
        if is_empty_range(start, end) {
            return Box::new(std::iter::empty());
        }
        self.opened.blocks.register().count_range();
        let guards = self
            .snapshot
            .range::<&[u8], _>(self.opened.keyspaces.of(space), (start, end));
        match direction {
            Direction::Forward => Box::new(UntilError::new(guards, space, &self.opened)),
            Direction::Reverse => Box::new(UntilError::new(guards.rev(), space, &self.opened)),
        }
    }

    fn version(&self) -> u64 {
        self.snapshot.seqno()
    }
}

/// Replaces a snapshot while the disk cannot be read: every read returns the reason.
pub(super) struct NoSnapshot {
    kind: ErrorKind,
    reason: String,
}

impl NoSnapshot {
    pub(super) fn because(error: &StoreError) -> Self {
        NoSnapshot {
            kind: error.kind(),
            reason: error.to_string(),
        }
    }

    fn error(&self) -> StoreError {
        StoreError::new(self.kind, self.reason.clone())
    }
}

impl Snapshot for NoSnapshot {
    fn get(&self, _: Space, _: &[u8]) -> Result<Option<Bytes>> {
        Err(self.error())
    }

    fn range(&self, _: Space, _: Bound<&[u8]>, _: Bound<&[u8]>, _: Direction) -> RowIterator<'_> {
        Box::new(std::iter::once_with(|| Err(self.error())))
    }

    fn version(&self) -> u64 {
        0
    }
}

/// Blocks are counted after so many rows of a range, and when it ends.
const ROWS_PER_LOOK: u32 = 64;

/// Loads each row and ends after the first failure: the row after an unreadable block is not the next one.
struct UntilError<'a, I> {
    guards: Option<I>,
    space: Space,
    opened: &'a Opened,
    /// Rows since blocks were counted.
    rows: u32,
}

impl<'a, I> UntilError<'a, I> {
    fn new(guards: I, space: Space, opened: &'a Opened) -> Self {
        UntilError {
            guards: Some(guards),
            space,
            opened,
            rows: 0,
        }
    }

    fn count_row(&mut self) {
        self.rows += 1;
        if self.rows == ROWS_PER_LOOK {
            self.rows = 0;
            self.opened.blocks.look(&self.opened.keyspaces, self.space);
        }
    }
}

impl<I: Iterator<Item = fjall::Guard>> Iterator for UntilError<'_, I> {
    type Item = Result<(Bytes, Bytes)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.guards.as_mut()?.next()?.into_inner() {
            Ok((key, value)) => {
                self.count_row();
                Some(Ok((Bytes::from_engine(key), Bytes::from_engine(value))))
            }
            Err(error) => {
                self.guards = None;
                let diagnosis = &self.opened.diagnosis;
                Some(Err(diagnosis.of_read("reading a range", self.space, error)))
            }
        }
    }
}

impl<I> Drop for UntilError<'_, I> {
    fn drop(&mut self) {
        self.opened.blocks.look(&self.opened.keyspaces, self.space);
    }
}
