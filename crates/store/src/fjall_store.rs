//! A store in a directory, on top of the `fjall` engine.
//!
//! The engine brings the journal, the tables, compaction and checksums. This module adds what it lacks: one
//! process per directory ([`lock`]), a format version ([`directory`]), a number on every commit, and checks
//! before the engine opens its files. [`guard`] checks the files that select tables, because the engine
//! deletes tables that are not selected. [`journal_check`] checks the journal, because the engine drops
//! everything after an unreadable record. After a failed write the engine accepts no further writes;
//! [`inner`] then closes and reopens it behind the same store as soon as the disk works again.

mod block_count;
mod commit_row;
mod diagnosis;
mod directory;
mod engine_error;
mod guard;
mod inner;
mod journal;
mod journal_check;
mod journal_rewrite;
mod keyspaces;
mod lock;
mod opened;
mod repeated;
mod second_names;
mod shadow;
mod snapshot;
mod sorted_runs;
mod synced_note;
mod syncer;
mod trouble;
mod upkeep;

use crate::{
    Batch, Bytes, DirectoryAccess, Durability, ErrorKind, ReadCounts, ReadPurpose, Result, Settings,
    Snapshot, Space, Stats, Store, limits,
};
use directory::Directory;
use inner::Inner;
use lock::DirectoryLock;
use repeated::Repeated;
use shadow::Shadow;
use snapshot::NoSnapshot;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A store that keeps its rows in a directory.
///
/// The directory stays locked until the store and every snapshot taken from it are dropped.
pub struct FjallStore {
    inner: Arc<Inner>,
    /// The background threads: syncing with [`Durability::Buffered`], and upkeep.
    background: Vec<Repeated>,
}

/// How often the copy of a directory that changes meanwhile is tried, and the pause between attempts.
const LIVE_COPIES_MAX: usize = 10;
const BETWEEN_LIVE_COPIES: Duration = Duration::from_millis(50);

impl FjallStore {
    /// Opens the store in `dir`, creating both when they are missing.
    ///
    /// A last batch that a crash left half written is cut off: it was never acknowledged. Its bytes are kept in a
    /// file beside the data and a warning is logged. Every other damage is refused with
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged).
    pub fn open(dir: impl AsRef<Path>, settings: Settings) -> Result<Self> {
        match settings.access {
            DirectoryAccess::ReadWrite => Self::open_to_write(dir.as_ref(), settings),
            DirectoryAccess::ReadOnly => {
                Self::open_shadow(Shadow::of(Directory::at(dir.as_ref()))?, settings)
            }
            DirectoryAccess::Live => Self::open_live(dir.as_ref(), &settings),
        }
    }

    fn open_to_write(dir: &Path, settings: Settings) -> Result<Self> {
        let directory = Directory::prepare(dir)?;
        // Before anything is written, so that the directory of another application gets no lock file.
        directory.is_new()?;
        let lock = DirectoryLock::acquire(&directory)?;
        if directory.is_new()? {
            directory.create(settings.block_size.unwrap_or_default())?;
        }
        directory.warn_if_open_to_others();
        Self::open_locked(directory, lock, settings)
    }

    /// An inconsistent copy was made while files were created and removed; another attempt will succeed.
    fn open_live(dir: &Path, settings: &Settings) -> Result<Self> {
        let attempt = || Self::open_shadow(Shadow::of_live(Directory::at(dir))?, settings.clone());
        for _ in 1..LIVE_COPIES_MAX {
            match attempt() {
                Err(error) if matches!(error.kind(), ErrorKind::Damaged | ErrorKind::Io) => {
                    std::thread::sleep(BETWEEN_LIVE_COPIES);
                }
                opened => return opened,
            }
        }
        attempt()
    }

    /// Leaves the directory as it is: see [`shadow`].
    fn open_shadow(shadow: Shadow, settings: Settings) -> Result<Self> {
        let directory = shadow.directory()?;
        Self::open_locked(directory, DirectoryLock::of_shadow(shadow)?, settings)
    }

    fn open_locked(directory: Directory, lock: DirectoryLock, settings: Settings) -> Result<Self> {
        let (durability, sync_interval) = (settings.durability, settings.sync_interval);
        let lock = Arc::new(lock);
        let opened = Inner::open(directory, lock.clone(), settings);
        let inner = Arc::new(opened.map_err(|error| lock.translate(error))?);
        let mut background = vec![upkeep::start(inner.clone())?];
        if durability == Durability::Buffered {
            background.push(syncer::start(inner.clone(), sync_interval)?);
        }
        let last_commit = inner.last_commit();
        let blocks = inner.block_size().map(tracing::field::display);
        tracing::info!(dir = %inner.directory().display(), last_commit, blocks, "opened the data directory");
        Ok(FjallStore { inner, background })
    }

    /// Writes what is in memory to tables, and merges the tables of each space into one run.
    ///
    /// An idle store does this automatically where it pays. Measurements call it so that the number of blocks
    /// per read does not depend on how far the engine has merged.
    pub fn merge(&self) -> Result<()> {
        self.inner.merge_all()
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
            block_size: self.inner.block_size(),
        }
    }

    fn reads(&self, purpose: ReadPurpose) -> ReadCounts {
        self.inner.reads(purpose)
    }
}

impl Drop for FjallStore {
    fn drop(&mut self) {
        // The threads must be gone before the engine is closed, or they would keep it open.
        self.background.clear();
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
