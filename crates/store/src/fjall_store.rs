//! A store in a directory, on top of the `fjall` engine.
//!
//! The engine brings the journal, the tables, compaction and checksums. This module adds what it lacks: one process
//! per directory ([`lock`]), a format version ([`directory`]), a number on every commit, and a check of the journal
//! before the engine sees it ([`journal_check`]), because the engine quietly drops what follows an unreadable
//! record.

mod commit_row;
mod directory;
mod engine_error;
mod journal;
mod journal_check;
mod keyspaces;
mod lock;
mod snapshot;
mod syncer;

use crate::{
    Batch, Bytes, Durability, ErrorKind, Result, Settings, Snapshot, Space, Stats, Store, StoreError, limits,
};
use commit_row::CommitRow;
use directory::Directory;
use keyspaces::Keyspaces;
use lock::DirectoryLock;
use parking_lot::Mutex;
use snapshot::FjallSnapshot;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use syncer::Syncer;

/// A store that keeps its rows in a directory.
///
/// The directory stays locked until the store and every snapshot taken from it are dropped.
pub struct FjallStore {
    inner: Arc<Inner>,
    /// Present with [`Durability::Buffered`].
    syncer: Option<Syncer>,
}

impl FjallStore {
    /// Opens the store in `dir`, creating both when they are missing.
    ///
    /// A last batch that a crash left half written is cut off: it was never acknowledged. Its bytes are kept in a
    /// file beside the data and a warning is logged. Every other damage is refused with [`ErrorKind::Damaged`].
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        let directory = Directory::prepare(dir.as_ref())?;
        let lock = DirectoryLock::acquire(&directory)?;
        if directory.is_new()? {
            directory.create()?;
        }
        directory.check_layout()?;
        let journalled = journal_check::check(&directory, settings.on_damage)?;
        let (db, keyspaces) = keyspaces::open(&directory.engine(), settings.cache_bytes)?;
        let last = keyspaces.last_commit(journalled)?;

        let durability = settings.durability;
        let commits = Mutex::new(Commits {
            last: last.number,
            synced: last.number,
            failed: false,
        });
        let inner = Arc::new(Inner {
            db,
            keyspaces,
            commits,
            durability,
            lock,
        });
        let syncer = match durability {
            Durability::Fsync => None,
            Durability::Buffered => Some(Syncer::start(inner.clone(), settings.sync_interval)?),
        };
        tracing::info!(dir = %directory.root().display(), last_commit = last.number, "opened the data directory");
        Ok(FjallStore { inner, syncer })
    }
}

impl Store for FjallStore {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        self.inner.view().get(space, key)
    }

    fn snapshot(&self) -> Box<dyn Snapshot> {
        Box::new(self.inner.view())
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        limits::check(&batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        self.inner.commit(batch)
    }

    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }

    fn stats(&self) -> Stats {
        let size_bytes = self.inner.db.disk_space().unwrap_or_default();
        Stats {
            size_bytes,
            last_commit: self.inner.commits.lock().last,
        }
    }
}

impl Drop for FjallStore {
    fn drop(&mut self) {
        // The thread must be gone before the engine is closed, or it would keep it open.
        drop(self.syncer.take());
        if let Err(error) = self.inner.sync() {
            tracing::error!(%error, "could not write the journal to disk while closing");
        }
    }
}

impl fmt::Debug for FjallStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = self.inner.lock.directory();
        f.debug_struct("FjallStore")
            .field("dir", &dir)
            .field("durability", &self.inner.durability)
            .finish()
    }
}

/// What the store, its snapshots and its syncing thread share. The fields are dropped in order: the engine closes
/// before the lock lets another process in.
struct Inner {
    keyspaces: Keyspaces,
    db: fjall::Database,
    commits: Mutex<Commits>,
    durability: Durability,
    lock: DirectoryLock,
}

/// Where the sequence of commits stands. Held during a commit, so numbers and journal have the same order.
struct Commits {
    /// Number of the last batch in the journal.
    last: u64,
    /// Number of the last batch known to survive a power cut.
    synced: u64,
    /// A write has failed: the journal may end in half a batch, so nothing may follow.
    failed: bool,
}

impl Inner {
    /// Everything committed so far. Single reads take one too: reading the newest row directly would show a batch
    /// while it is being applied.
    fn view(self: &Arc<Self>) -> FjallSnapshot {
        FjallSnapshot::new(self.db.snapshot(), self.clone())
    }

    fn commit(&self, batch: Batch) -> Result<()> {
        let mut commits = self.commits.lock();
        if commits.failed {
            return Err(stopped());
        }
        let row = CommitRow {
            number: commits.last + 1,
            synced: commits.synced,
        };
        let mode = match self.durability {
            Durability::Fsync => fjall::PersistMode::SyncData,
            Durability::Buffered => fjall::PersistMode::Buffer,
        };
        let write = fjall::OwnedWriteBatch::with_capacity(self.db.clone(), batch.len() + 1);
        let mut write = write.durability(Some(mode));
        self.keyspaces.fill(&mut write, batch, row);
        write.commit().map_err(|error| {
            commits.failed = true;
            engine_error::while_doing("writing a batch to the journal", error)
        })?;

        commits.last = row.number;
        if self.durability == Durability::Fsync {
            commits.synced = row.number;
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        let last = {
            let commits = self.commits.lock();
            if commits.failed {
                return Err(stopped());
            }
            if commits.synced == commits.last {
                return Ok(());
            }
            commits.last
        };
        // Not under the lock: commits go on while the disk works.
        let synced = self.db.persist(fjall::PersistMode::SyncData);
        let mut commits = self.commits.lock();
        synced.map_err(|error| {
            commits.failed = true;
            engine_error::while_doing("forcing the journal to the disk", error)
        })?;
        commits.synced = commits.synced.max(last);
        Ok(())
    }
}

fn stopped() -> StoreError {
    let message =
        "the store takes no more writes because an earlier one failed; see the log, fix the disk, restart";
    StoreError::new(ErrorKind::Stopped, message)
}
