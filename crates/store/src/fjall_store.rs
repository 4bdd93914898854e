//! A store in a directory, on top of the `fjall` engine.
//!
//! The engine brings the journal, the tables, compaction and checksums. This module adds what it lacks: one process
//! per directory ([`lock`]), a format version ([`directory`]), a number on every commit, and a check of the journal
//! before the engine sees it ([`journal_check`]), because the engine quietly drops what follows an unreadable
//! record. After a failed write the engine takes no more; [`inner`] then closes and reopens it behind the same store
//! as soon as the disk works again.

mod commit_row;
mod directory;
mod engine_error;
mod inner;
mod journal;
mod journal_check;
mod journal_rewrite;
mod keyspaces;
mod lock;
mod opened;
mod snapshot;
mod syncer;
mod trouble;

use crate::{Batch, Bytes, Durability, Result, Settings, Snapshot, Space, Stats, Store, limits};
use directory::Directory;
use inner::Inner;
use lock::DirectoryLock;
use snapshot::NoSnapshot;
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
    /// file beside the data and a warning is logged. Every other damage is refused with
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged).
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        let directory = Directory::prepare(dir.as_ref())?;
        // Before anything is written, lest somebody else's directory get our lock file.
        directory.is_new()?;
        let lock = DirectoryLock::acquire(&directory)?;
        if directory.is_new()? {
            directory.create()?;
        }
        let (durability, sync_interval) = (settings.durability, settings.sync_interval);
        let inner = Arc::new(Inner::open(directory, Arc::new(lock), settings)?);
        let syncer = match durability {
            Durability::Fsync => None,
            Durability::Buffered => Some(Syncer::start(inner.clone(), sync_interval)?),
        };
        let last_commit = inner.last_commit();
        tracing::info!(dir = %inner.directory().display(), last_commit, "opened the data directory");
        Ok(FjallStore { inner, syncer })
    }
}

impl Store for FjallStore {
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>> {
        self.inner.view()?.get(space, key)
    }

    fn snapshot(&self) -> Box<dyn Snapshot> {
        match self.inner.view() {
            Ok(view) => Box::new(view),
            Err(error) => Box::new(NoSnapshot::because(&error)),
        }
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
        Stats {
            size_bytes: self.inner.size_bytes(),
            last_commit: self.inner.last_commit(),
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
        self.inner.prepare_to_close();
    }
}

impl fmt::Debug for FjallStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallStore")
            .field("dir", &self.inner.directory())
            .field("durability", &self.inner.durability())
            .finish()
    }
}
