//! What the store and its syncing thread share: the open engine, the sequence of commits, and what to do when a write
//! has failed.
//!
//! # After a failed write
//!
//! After a failed write the engine accepts no more writes, because its journal may end in half a batch; reads
//! continue. After some time, the next write repairs this, without any action by callers:
//!
//! 1. The end of the journal is rewritten without the failed batch, into a file beside it
//!    ([`journal_rewrite`]), and another file is written and removed. If that fails, the disk still fails,
//!    and reads continue as before.
//! 2. The engine is closed. Reads that begin meanwhile wait; reads under way are waited for.
//! 3. The new file takes the journal's place.
//! 4. The directory is opened with the same checks as at the start, and must end with the last acknowledged commit.
//!
//! So the outcome of a failed write is "it did not happen", unless the process ends before step 3: then the
//! next start may find the complete batch in the journal and keep it.

use super::commit_row::CommitRow;
use super::directory::Directory;
use super::journal_rewrite::RewrittenJournals;
use super::lock::DirectoryLock;
use super::opened::Opened;
use super::second_names;
use super::snapshot::FjallSnapshot;
use super::synced_note::SyncedNote;
use super::trouble::Trouble;
use crate::reads::ReadRegister;
use crate::{
    Batch, BlockSize, DirectoryAccess, Durability, ErrorKind, OnDamage, ReadCounts, ReadPurpose, Result,
    Settings, StoreError,
};
use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How often, and how many times, the store checks whether readers keep a closing engine open.
const WAIT_FOR_READER: Duration = Duration::from_millis(5);
const WAITS_FOR_READERS: usize = 200;

/// The store without its syncing thread.
pub(super) struct Inner {
    /// Empty while the engine is being reopened, and when that failed.
    opened: ArcSwapOption<Opened>,
    commits: Mutex<Commits>,
    /// Written under the lock of `commits`.
    note: SyncedNote,
    deletions: AtomicU64,
    /// What reads have cost; kept when the engine is reopened.
    reads: Arc<ReadRegister>,
    settings: Settings,
    directory: Directory,
    lock: Arc<DirectoryLock>,
}

/// The state of the sequence of commits. Held during a commit, so numbers and journal have the same order.
struct Commits {
    /// Number of the last batch in the journal.
    last: u64,
    /// Number of the last batch known to survive a power cut.
    synced: u64,
    /// Set when a write has failed.
    trouble: Option<Trouble>,
}

impl Inner {
    /// Opens a directory that is locked and filled.
    pub(super) fn open(directory: Directory, lock: Arc<DirectoryLock>, settings: Settings) -> Result<Self> {
        let reads = Arc::new(ReadRegister::default());
        let (opened, last) = Opened::open(&directory, &lock, &settings, &reads)?;
        let note = SyncedNote::begin(&directory, last.number)?;
        second_names::keep_up(&directory, last.number);
        Ok(Inner {
            opened: ArcSwapOption::from_pointee(opened),
            note,
            deletions: AtomicU64::new(0),
            reads,
            commits: Mutex::new(Commits {
                last: last.number,
                synced: last.number,
                trouble: None,
            }),
            // An accepted loss holds for the damage found at this start, not for later damage.
            settings: Settings {
                on_damage: OnDamage::Refuse,
                ..settings
            },
            directory,
            lock,
        })
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.root()
    }

    pub(super) fn durability(&self) -> Durability {
        self.settings.durability
    }

    pub(super) fn last_commit(&self) -> u64 {
        self.commits.lock().last
    }

    /// `None` while the engine is closed.
    pub(super) fn block_size(&self) -> Option<BlockSize> {
        self.opened.load_full().map(|opened| opened.block_size)
    }

    pub(super) fn size_bytes(&self) -> u64 {
        let opened = self.opened.load_full();
        opened.map_or(0, |opened| opened.db.disk_space().unwrap_or_default())
    }

    pub(super) fn reads(&self, purpose: ReadPurpose) -> ReadCounts {
        self.reads.read(purpose)
    }

    /// Everything committed so far. Single reads use a snapshot, too: reading the newest row directly would
    /// show parts of a batch while it is being applied.
    pub(super) fn view(&self) -> Result<FjallSnapshot> {
        let opened = match self.opened.load_full() {
            Some(opened) => opened,
            None => self.wait_until_open()?,
        };
        Ok(FjallSnapshot::new(opened))
    }

    /// The thread that reopens the engine holds the lock. If it failed, this thread tries next.
    fn wait_until_open(&self) -> Result<Arc<Opened>> {
        let mut commits = self.commits.lock();
        self.resume(&mut commits)?;
        self.current()
    }

    fn current(&self) -> Result<Arc<Opened>> {
        let closed = || StoreError::new(ErrorKind::Stopped, "the store is closed");
        self.opened.load_full().ok_or_else(closed)
    }

    pub(super) fn commit(&self, batch: Batch) -> Result<()> {
        if !self.is_writable() {
            let message = "the data directory was opened to be read only";
            return Err(StoreError::new(ErrorKind::Invalid, message));
        }
        let mut commits = self.commits.lock();
        self.resume(&mut commits)?;
        let row = CommitRow {
            number: commits.last + 1,
            synced: commits.synced,
        };
        let deletions = batch.deletions() as u64;
        let written = self.current()?.commit(batch, row, self.settings.durability);
        written.inspect_err(|error| commits.trouble = Some(Trouble::new(error)))?;

        commits.last = row.number;
        self.deletions.fetch_add(deletions, Ordering::Relaxed);
        if self.settings.durability == Durability::Fsync {
            commits.synced = row.number;
            self.note.write(row.number);
        }
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<()> {
        let (opened, last) = {
            let mut commits = self.commits.lock();
            self.resume(&mut commits)?;
            if commits.synced == commits.last {
                return Ok(());
            }
            (self.current()?, commits.last)
        };
        // Not under the lock, so that commits continue while the disk syncs.
        let synced = opened.sync();
        drop(opened);
        let mut commits = self.commits.lock();
        synced.inspect_err(|error| commits.trouble = Some(Trouble::new(error)))?;
        commits.synced = commits.synced.max(last);
        self.note.write(commits.synced);
        Ok(())
    }

    /// Merges the tables of each keyspace, with the rows in buffers, into one run.
    pub(super) fn merge_all(&self) -> Result<()> {
        self.current()?.merge_all()
    }

    /// Second names are updated after the journals.
    pub(super) fn name_journals(&self) {
        let synced = self.commits.lock().synced;
        second_names::keep_up(&self.directory, synced);
    }

    /// Whether the directory may be changed.
    pub(super) fn is_writable(&self) -> bool {
        self.settings.access == DirectoryAccess::ReadWrite
    }

    /// How many rows were deleted since the store was opened.
    pub(super) fn deletions(&self) -> u64 {
        self.deletions.load(Ordering::Relaxed)
    }

    /// The engine, unless a write has failed.
    pub(super) fn opened_if_well(&self) -> Option<Arc<Opened>> {
        let is_well = self.commits.lock().trouble.is_none();
        self.opened.load_full().filter(|_| is_well)
    }

    /// Leaves little work for the next start.
    pub(super) fn prepare_to_close(&self) {
        if let Some(opened) = self.opened_if_well() {
            opened.write_buffers();
            self.name_journals();
        }
    }

    /// Makes the store work again after a failed write, if it is time to try.
    fn resume(&self, commits: &mut Commits) -> Result<()> {
        let Some(trouble) = &mut commits.trouble else {
            return Ok(());
        };
        if !trouble.is_due() {
            return Err(trouble.error());
        }
        if let Err(error) = self.reopen(commits.last) {
            trouble.goes_on(&error);
            tracing::warn!(%error, "the store still takes no writes");
            return Err(trouble.error());
        }
        tracing::warn!(
            last_commit = commits.last,
            "the disk works again; the store was reopened and takes writes"
        );
        commits.synced = commits.last;
        commits.trouble = None;
        Ok(())
    }

    fn reopen(&self, last: u64) -> Result<()> {
        self.directory.try_writing(0)?;
        let rewritten = RewrittenJournals::up_to(&self.directory, last)?;
        self.directory.try_writing(rewritten.len())?;
        self.close()?;
        rewritten.take_their_places(&self.directory)?;
        let (opened, found) = Opened::open(&self.directory, &self.lock, &self.settings, &self.reads)?;
        if found.number != last {
            let found = found.number;
            let message =
                format!("commit {last} was acknowledged, but the directory ends with commit {found}");
            return Err(StoreError::new(ErrorKind::Damaged, message));
        }
        self.opened.store(Some(Arc::new(opened)));
        Ok(())
    }

    /// Closes the engine, or leaves it as it is while a reader is active.
    fn close(&self) -> Result<()> {
        let Some(opened) = self.opened.swap(None) else {
            return Ok(());
        };
        for _ in 0..WAITS_FOR_READERS {
            if Arc::strong_count(&opened) == 1 {
                return Ok(());
            }
            std::thread::sleep(WAIT_FOR_READER);
        }
        self.opened.store(Some(opened));
        let message = "the store must be reopened, but reads are under way";
        Err(StoreError::new(ErrorKind::Stopped, message))
    }
}
