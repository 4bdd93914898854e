//! Where rows in former places are, in the order of their own places: found by a walk through the whole
//! table, and kept for the next pages.
//!
//! A window stays valid: a row in a former place never changes there, and no row is written to one. A row
//! that is missing from a window was missing when it was made; a row that has been moved since is not found
//! any more.

mod places;

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use trestle_api::Error;
use trestle_store::{Direction, Space};

use self::places::Places;
use super::merge::Gathering;
use crate::overlay::STAGED;
use crate::shared::internal;

/// Rows in one window: about thirty megabytes. Few in debug builds, so that tests have several windows.
pub(super) const ROWS_MAX: usize = if cfg!(debug_assertions) { 32 } else { 250_000 };
/// Windows kept for one table.
const WINDOWS_MAX: usize = 4;

/// The windows of one table and its indexes, the last used first.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    kept: Mutex<VecDeque<Arc<Window>>>,
    /// Whether the table was read in advance of a scan.
    looked_ahead: AtomicBool,
}

/// A part of a table or index.
#[derive(Debug)]
pub(super) struct Window {
    /// The id of the table or index.
    owner: u32,
    /// The version of the snapshot it was made from.
    version: u64,
    start: Bound<Vec<u8>>,
    places: Places,
    /// Whether there are more rows after the last.
    has_more: bool,
}

impl Windows {
    /// Whether this is the first call.
    pub(super) fn is_first_look_ahead(&self) -> bool {
        !self.looked_ahead.swap(true, Ordering::Relaxed)
    }

    /// A window of the rows after `start`.
    pub(super) fn from(
        &self,
        gathering: &Gathering<'_>,
        start: &Bound<Vec<u8>>,
    ) -> Result<Arc<Window>, Error> {
        let owner = gathering.source.owner();
        let version = gathering.snapshot.version();
        let mut kept = self.kept.lock();
        let known = kept
            .iter()
            .position(|window| window.serves(owner, version, start));
        let window = match known.and_then(|at| kept.remove(at)) {
            Some(window) => window,
            // Concurrent requests wait: they can use the result.
            None => Arc::new(Window::look(gathering, start)?),
        };
        if window.version == STAGED {
            return Ok(window);
        }
        kept.push_front(Arc::clone(&window));
        kept.truncate(WINDOWS_MAX);
        Ok(window)
    }
}

impl Window {
    /// Walks through the part of the table that is not swept. The window begins at `start` only if not all
    /// rows fit into it.
    fn look(gathering: &Gathering<'_>, start: &Bound<Vec<u8>>) -> Result<Self, Error> {
        let mut window = Self {
            owner: gathering.source.owner(),
            version: gathering.snapshot.version(),
            start: Bound::Unbounded,
            places: Places::default(),
            has_more: false,
        };
        let unswept = gathering.unswept_rows();
        for row in unswept.rows(gathering.snapshot, Space::Items, Direction::Forward) {
            let (former, bytes) = row.map_err(internal)?;
            if let Some(own) = gathering.own_place(&former, &bytes)? {
                window.places.add(&own, &former);
            }
            if window.places.len() >= 2 * ROWS_MAX {
                window.narrow(start);
            }
        }
        if window.places.len() > ROWS_MAX {
            window.narrow(start);
        }
        window.places.sort();
        Ok(window)
    }

    /// Keeps only as many rows after `start` as a window may have.
    fn narrow(&mut self, start: &Bound<Vec<u8>>) {
        self.start = start.clone();
        self.has_more |= self.places.keep(start, ROWS_MAX);
    }

    /// Whether it has the rows after `start` for a reader with a snapshot of this version.
    fn serves(&self, owner: u32, version: u64, start: &Bound<Vec<u8>>) -> bool {
        let begins_in_time = position(&self.start) <= position(start);
        let ends_behind = self.next().is_none_or(|last| position(start) < (last, true));
        self.owner == owner && self.version <= version && begins_in_time && ends_behind
    }

    /// The rows after `start`, in the order of their own places: own and former places.
    pub(super) fn rows(&self, start: &Bound<Vec<u8>>) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.places.behind(start)
    }

    /// The last own place, if there are rows after it.
    pub(super) fn next(&self) -> Option<&[u8]> {
        self.places.last().filter(|_| self.has_more)
    }
}

/// Bounds in their order: just before a key, or just after it.
fn position(start: &Bound<Vec<u8>>) -> (&[u8], bool) {
    match start {
        Bound::Unbounded => (&[], false),
        Bound::Included(key) => (key, false),
        Bound::Excluded(key) => (key, true),
    }
}
