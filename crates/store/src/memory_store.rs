//! A store that lasts as long as the process.

use crate::batch::is_empty_range;
use crate::per_space::PerSpace;
use crate::reads::ReadRegister;
use crate::{
    Batch, Bytes, Direction, ReadCounts, ReadPurpose, Result, RowIterator, Snapshot, Space, Stats, Store,
    limits,
};
use imbl::OrdMap;
use parking_lot::RwLock;
use std::ops::Bound;
use std::sync::Arc;

/// Keeps everything in memory; a snapshot shares the tree until one side changes it.
#[derive(Debug, Default)]
pub struct MemoryStore {
    /// Readers hold this only to look up one row or to take a snapshot, the writer only to apply one batch.
    state: RwLock<State>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Store for MemoryStore {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        self.state.read().get(space, key)
    }

    fn snapshot(&self) -> Box<dyn Snapshot> {
        Box::new(self.state.read().clone())
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        limits::check(&batch)?;
        let mut state = self.state.write();
        for (space, key, value) in batch.into_changes() {
            state.apply(space, key, value);
        }
        state.last_commit += 1;
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> Stats {
        let state = self.state.read();
        Stats {
            size_bytes: state.size_bytes,
            last_commit: state.last_commit,
            block_size: None,
        }
    }

    fn reads(&self, purpose: ReadPurpose) -> ReadCounts {
        self.state.read().reads.read(purpose)
    }
}

#[derive(Clone, Debug, Default)]
struct State {
    spaces: PerSpace<OrdMap<Bytes, Bytes>>,
    size_bytes: u64,
    last_commit: u64,
    reads: Arc<ReadRegister>,
}

impl State {
    fn apply(&mut self, space: Space, key: Bytes, value: Option<Bytes>) {
        let key_len = key.len();
        let added = value.as_ref().map(|value| row_size(key_len, value));
        let map = self.spaces.of_mut(space);
        let old = match value {
            Some(value) => map.insert(key, value),
            None => map.remove(&key),
        };
        let removed = old.map(|old| row_size(key_len, &old));
        self.size_bytes = (self.size_bytes + added.unwrap_or(0)).saturating_sub(removed.unwrap_or(0));
    }
}

impl Snapshot for State {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        self.reads.count_point_lookup();
        Ok(self.spaces.of(space).get(key).cloned())
    }

    fn range(
        &self,
        space: Space,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
        direction: Direction,
    ) -> RowIterator<'_> {
        // The map panics on bounds in the wrong order; here they mean no rows.
        if is_empty_range(start, end) {
            return Box::new(std::iter::empty());
        }
        self.reads.count_range();
        let rows = self.spaces.of(space).range::<_, [u8]>((start, end));
        let rows = rows.map(|(key, value)| Ok((key.clone(), value.clone())));
        match direction {
            Direction::Forward => Box::new(rows),
            Direction::Reverse => Box::new(rows.rev()),
        }
    }

    fn version(&self) -> u64 {
        self.last_commit
    }
}

fn row_size(key_len: usize, value: &Bytes) -> u64 {
    (key_len + value.len()) as u64
}
