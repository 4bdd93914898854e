//! What an open store does while nobody asks for anything.
//!
//! - Second names of journals follow the journals ([`second_names`](super::second_names)).
//! - Tables are merged in which much was deleted, once no commit has come for a while; buffers are written to tables
//!   before. The engine merges only when new rows come, so the space of a deleted table would stay taken for as long as
//!   nothing else is written.

use super::inner::Inner;
use super::opened::Opened;
use super::repeated::Repeated;
use crate::Result;
use std::sync::Arc;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_secs(1);

/// So many deletions are worth a look at what they left.
const DELETIONS_MIN: u64 = 1_000;

/// A snapshot may be open for long.
const ATTEMPTS_MAX: u32 = 10;

/// Works until it is dropped.
pub(super) fn start(inner: Arc<Inner>) -> Result<Repeated> {
    let mut upkeep = Upkeep::default();
    Repeated::start("store-upkeep", INTERVAL, move || upkeep.work(&inner))
}

#[derive(Default)]
struct Upkeep {
    /// As of the last look.
    commits: u64,
    /// Deletions before those that are yet to be cleared away.
    deletions_cleared: u64,
    /// How often their clearing was tried.
    attempts: u32,
}

impl Upkeep {
    fn work(&mut self, inner: &Inner) {
        inner.name_journals();
        let commits = inner.last_commit();
        let is_idle = commits == std::mem::replace(&mut self.commits, commits);
        if let Some(opened) = inner.opened_if_well().filter(|_| is_idle) {
            self.tidy(&opened, inner.deletions());
        }
    }

    /// Rows that an open snapshot can still see stay, and are tried again.
    fn clear(&mut self, opened: &Opened, deletions: u64) {
        opened.clear_deleted_rows();
        self.attempts += 1;
        if self.attempts == ATTEMPTS_MAX || opened.keyspaces.worth_merging().next().is_none() {
            (self.deletions_cleared, self.attempts) = (deletions, 0);
        }
    }

    /// Nothing was written for a while.
    fn tidy(&mut self, opened: &Opened, deletions: u64) {
        let keyspaces = &opened.keyspaces;
        let has_deletions = deletions - self.deletions_cleared >= DELETIONS_MIN;
        // Rows in buffers are read faster than rows in tables: without a reason they stay there.
        if !has_deletions || keyspaces.has_sealed_buffers() {
            return;
        }
        if keyspaces.buffered_bytes() > 0 {
            keyspaces.seal_buffers();
        } else {
            self.clear(opened, deletions);
        }
    }
}
