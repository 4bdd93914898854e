//! A frozen view of a directory.

use super::{Inner, engine_error};
use crate::batch::is_empty_range;
use crate::{Bytes, Direction, Result, Rows, Snapshot, Space};
use fjall::Readable;
use std::ops::Bound;
use std::sync::Arc;

pub(super) struct FjallSnapshot {
    snapshot: fjall::Snapshot,
    /// Keeps the engine and the directory's lock.
    inner: Arc<Inner>,
}

impl FjallSnapshot {
    pub(super) fn new(snapshot: fjall::Snapshot, inner: Arc<Inner>) -> Self {
        FjallSnapshot { snapshot, inner }
    }
}

impl Snapshot for FjallSnapshot {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        let found = self.snapshot.get(self.inner.keyspaces.of(space), key);
        let found = found.map_err(|error| engine_error::while_doing("reading a row", error))?;
        Ok(found.map(Bytes::from_engine))
    }

    fn range(&self, space: Space, start: Bound<&[u8]>, end: Bound<&[u8]>, direction: Direction) -> Rows<'_> {
        if is_empty_range(start, end) {
            return Box::new(std::iter::empty());
        }
        let guards = self
            .snapshot
            .range::<&[u8], _>(self.inner.keyspaces.of(space), (start, end));
        match direction {
            Direction::Forward => Box::new(UntilError::new(guards)),
            Direction::Reverse => Box::new(UntilError::new(guards.rev())),
        }
    }
}

/// Loads each row and ends after the first failure: what follows an unreadable block is not the next row.
struct UntilError<I> {
    guards: Option<I>,
}

impl<I> UntilError<I> {
    fn new(guards: I) -> Self {
        UntilError { guards: Some(guards) }
    }
}

impl<I: Iterator<Item = fjall::Guard>> Iterator for UntilError<I> {
    type Item = Result<(Bytes, Bytes)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.guards.as_mut()?.next()?.into_inner() {
            Ok((key, value)) => Some(Ok((Bytes::from_engine(key), Bytes::from_engine(value)))),
            Err(error) => {
                self.guards = None;
                Some(Err(engine_error::while_doing("reading a range", error)))
            }
        }
    }
}
