//! Where rows in former places lie, in the order of their own: found out by a walk through the whole table, and kept for
//! the pages that follow.
//!
//! A window stays right however long it is kept: a row in a former place never changes there, and none comes to lie in
//! one. So what is missing from a window was missing when it was made, and what has left since is not found any more.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::Error;
use trestle_item::codec;
use trestle_store::{Bytes, Direction, Space};

use super::merge::Gathering;
use crate::range::Range;
use crate::shared::internal;

/// Rows in one window: some ten megabytes. Few while testing, so that windows end where they seldom would.
const ROWS_MAX: usize = if cfg!(debug_assertions) { 32 } else { 100_000 };
/// Windows kept for one table.
const WINDOWS_MAX: usize = 4;

/// The windows of one table and its indexes, the last used first.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    kept: Mutex<VecDeque<Arc<Window>>>,
}

/// A stretch of a table or index.
#[derive(Debug)]
pub(super) struct Window {
    /// The number of the table or index.
    owner: u32,
    /// The snapshot it was made from.
    version: u64,
    start: Bound<Vec<u8>>,
    /// Own places, with the former ones.
    rows: BTreeMap<Vec<u8>, Bytes>,
    /// Whether there are more rows behind the last.
    has_more: bool,
}

impl Windows {
    /// A window on what lies behind `start`.
    pub(super) fn from(
        &self,
        gathering: &Gathering<'_>,
        start: &Bound<Vec<u8>>,
    ) -> Result<Arc<Window>, Error> {
        let owner = gathering.owner();
        let version = gathering.snapshot.version();
        let mut kept = self.kept.lock();
        let known = kept
            .iter()
            .position(|window| window.serves(owner, version, start));
        let window = match known.and_then(|at| kept.remove(at)) {
            Some(window) => window,
            // Whoever comes meanwhile waits: the walk is for them, too.
            None => Arc::new(Window::look(gathering, start.clone())?),
        };
        kept.push_front(Arc::clone(&window));
        kept.truncate(WINDOWS_MAX);
        Ok(window)
    }
}

impl Window {
    /// Walks through the table.
    fn look(gathering: &Gathering<'_>, start: Bound<Vec<u8>>) -> Result<Self, Error> {
        let owner = gathering.owner();
        let wanted = Range {
            start,
            ..Range::prefix(owner.to_be_bytes().to_vec())
        };
        let mut window = Self {
            owner,
            version: gathering.snapshot.version(),
            start: wanted.start.clone(),
            rows: BTreeMap::new(),
            has_more: false,
        };
        let all = Range::prefix(gathering.table.id.0.to_be_bytes().to_vec());
        for row in all.rows(gathering.snapshot, Space::Items, Direction::Forward) {
            let (former, bytes) = row.map_err(internal)?;
            let own = gathering.own_place(&codec::decode(&bytes).map_err(internal)?)?;
            if let Some(own) = own.filter(|own| wanted.contains(own)) {
                window.add(own, former);
            }
        }
        Ok(window)
    }

    fn add(&mut self, own: Vec<u8>, former: Bytes) {
        self.rows.insert(own, former);
        if self.rows.len() > ROWS_MAX {
            self.rows.pop_last();
            self.has_more = true;
        }
    }

    /// Whether it shows what lies behind `start` to whoever has such a snapshot.
    fn serves(&self, owner: u32, version: u64, start: &Bound<Vec<u8>>) -> bool {
        let begins_in_time = position(&self.start) <= position(start);
        let ends_behind = self.next().is_none_or(|last| position(start) < (last, true));
        self.owner == owner && self.version <= version && begins_in_time && ends_behind
    }

    /// The rows behind `start`, in the order of their own places: these, and the former ones.
    pub(super) fn rows(&self, start: &Bound<Vec<u8>>) -> impl Iterator<Item = (&Vec<u8>, &Bytes)> {
        self.rows.range::<Vec<u8>, _>((start.as_ref(), Bound::Unbounded))
    }

    /// The last own place, if there are rows behind it.
    pub(super) fn next(&self) -> Option<&[u8]> {
        let last = self.rows.last_key_value().filter(|_| self.has_more);
        last.map(|(own, _)| own.as_slice())
    }
}

/// Bounds in their order: just before a key, or just behind it.
fn position(start: &Bound<Vec<u8>>) -> (&[u8], bool) {
    match start {
        Bound::Unbounded => (&[], false),
        Bound::Included(key) => (key, false),
        Bound::Excluded(key) => (key, true),
    }
}
