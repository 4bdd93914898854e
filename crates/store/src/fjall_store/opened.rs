//! The engine while it is open. Closed and reopened after a failed write.

use super::block_count::BlockCount;
use super::commit_row::CommitRow;
use super::diagnosis::Diagnosis;
use super::directory::Directory;
use super::keyspaces::{self, Keyspaces};
use super::lock::DirectoryLock;
use super::synced_note::SyncedNote;
use super::{guard, journal_check, second_names};
use crate::reads::ReadRegister;
use crate::{Batch, BlockSize, Durability, ErrorKind, OnDamage, Result, Settings, StoreError};
use fjall::AbstractTree;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The pause between checks whether the engine has caught up.
const WAIT_FOR_ROOM: Duration = Duration::from_millis(5);

/// How many times closing checks for buffers that are not on disk yet: for five seconds.
const WAITS_WHILE_CLOSING: usize = 1_000;

/// After so many closed snapshots the engine checks which ones are open.
const SNAPSHOTS_PER_LOOK: usize = 10_000;

/// At this size the engine ends a journal.
const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;

/// Reading this much from the journal does not make a start slow.
const REPLAY_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// The open engine, shared by the store and its snapshots. The fields are dropped in order: the engine closes before
/// the lock lets another process in.
pub(super) struct Opened {
    pub(super) keyspaces: Keyspaces,
    pub(super) db: fjall::Database,
    pub(super) diagnosis: Diagnosis,
    pub(super) blocks: BlockCount,
    pub(super) block_size: BlockSize,
    /// The approximate size of the current journal, before compression.
    journalled_bytes: AtomicU64,
    _lock: Arc<DirectoryLock>,
}

impl Opened {
    /// Opens a directory that is locked and filled. Returns its last commit as well.
    pub(super) fn open(
        directory: &Directory,
        lock: &Arc<DirectoryLock>,
        settings: &Settings,
        reads: &Arc<ReadRegister>,
    ) -> Result<(Self, CommitRow)> {
        directory.check_layout()?;
        guard::check(directory, settings.file_check)?;
        let synced = match settings.on_damage {
            OnDamage::Refuse => SyncedNote::read(directory)?,
            OnDamage::CutJournal => 0,
        };
        second_names::restore(directory)?;
        directory.check_has_journal()?;
        if settings.on_damage == OnDamage::Refuse {
            second_names::check(directory)?;
        }
        let journalled = journal_check::check(directory, settings.on_damage, synced)?;
        directory.ensure_engine_lock()?;
        let opened = keyspaces::open(&directory.engine(), settings.cache_bytes);
        let (db, keyspaces) = opened.map_err(|error| guard::name_file(directory, error))?;
        let last = keyspaces.last_commit(journalled, synced)?;
        let block_size = keyspaces.block_size()?;
        check_block_size(directory, block_size, settings)?;
        let opened = Opened {
            keyspaces,
            db,
            block_size,
            blocks: BlockCount::new(Arc::clone(reads)),
            journalled_bytes: AtomicU64::new(0),
            diagnosis: Diagnosis::of(lock.original().unwrap_or(directory).clone()),
            _lock: lock.clone(),
        };
        Ok((opened, last))
    }

    /// Hands a batch to the engine. After an error the engine takes no more writes.
    pub(super) fn commit(&self, batch: Batch, row: CommitRow, durability: Durability) -> Result<()> {
        self.wait_for_room()?;
        let bytes = batch.size_bytes() as u64;
        let mode = match durability {
            Durability::Fsync => fjall::PersistMode::SyncData,
            Durability::Buffered => fjall::PersistMode::Buffer,
        };
        let write = fjall::OwnedWriteBatch::with_capacity(self.db.clone(), batch.len() + 1);
        let mut write = write.durability(Some(mode));
        self.keyspaces.fill(&mut write, batch, row);
        write
            .commit()
            .map_err(|error| self.diagnosis.of_write("writing a batch to the journal", error))?;
        self.keyspaces.seal_full_buffers();
        self.end_long_journal(bytes);
        Ok(())
    }

    /// The engine begins a new journal when it writes a buffer and the journal is long. Buffers of large
    /// spaces are written seldom, so that journals, and the time to open, would grow more than necessary.
    fn end_long_journal(&self, bytes: u64) {
        let before = self.journalled_bytes.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > JOURNAL_BYTES {
            self.journalled_bytes.store(0, Ordering::Relaxed);
            self.keyspaces.seal_smallest_buffer();
        }
    }

    /// Forces the journal to the disk.
    pub(super) fn sync(&self) -> Result<()> {
        self.db
            .persist(fjall::PersistMode::SyncData)
            .map_err(|error| self.diagnosis.of_write("forcing the journal to the disk", error))
    }

    /// Waits until the engine accepts a commit without waiting. The engine waits inside a commit while its
    /// buffers are full, even if the threads that write them have failed; that commit would never return. So
    /// the store waits before the commit and checks that these threads still work.
    fn wait_for_room(&self) -> Result<()> {
        while self.keyspaces.is_nearly_full() {
            self.wait_a_moment()?;
        }
        Ok(())
    }

    /// Waits for the threads that write buffers, unless they have failed.
    fn wait_a_moment(&self) -> Result<()> {
        let alive = self.db.persist(fjall::PersistMode::Buffer);
        alive.map_err(|error| {
            self.diagnosis
                .of_write("waiting for full buffers to be written", error)
        })?;
        std::thread::sleep(WAIT_FOR_ROOM);
        Ok(())
    }

    /// Writes all buffers to tables, and makes the tables of each keyspace one run.
    pub(super) fn merge_all(&self) -> Result<()> {
        self.keyspaces.seal_buffers();
        while self.keyspaces.has_sealed_buffers() {
            self.wait_a_moment()?;
        }
        self.merge(self.keyspaces.all().map(|(keyspace, _)| keyspace));
        Ok(())
    }

    /// Merges all tables of each keyspace. That frees the space of deleted rows.
    pub(super) fn merge<'k>(&self, keyspaces: impl Iterator<Item = &'k fjall::Keyspace>) {
        for keyspace in keyspaces {
            self.look_for_snapshots();
            let merged = keyspace.major_compact();
            self.look_for_snapshots();
            // The old tables stay until no snapshot can see them. Every open snapshot is newer than this
            // number; the engine drops what is older than the version that the next number sees.
            let freed = self.db.supervisor.snapshot_tracker.get_seqno_safe_to_gc();
            let mut versions = keyspace.tree.get_version_history_lock();
            let forgotten = versions.maintenance(keyspace.path(), freed + 1);
            // Reads and writes continue whether or not this succeeded.
            if let Err(error) = merged.and(forgotten.map_err(fjall::Error::from)) {
                tracing::warn!(%error, keyspace = &**keyspace.name(), "tables could not be merged, or their space is still taken");
            }
        }
    }

    /// The engine checks which snapshots are open when a buffer is set aside, and when every ten-thousandth
    /// snapshot is closed. Then it removes what no snapshot can see.
    fn look_for_snapshots(&self) {
        (0..SNAPSHOTS_PER_LOOK).for_each(|_| drop(self.db.snapshot()));
    }

    /// Before closing: writes buffers to tables if they hold so much that the next start would take long to
    /// read it from the journal. What is not written within a few seconds is still in the journal.
    pub(super) fn write_buffers(&self) {
        if self.keyspaces.buffered_bytes() <= REPLAY_BYTES_MAX {
            return;
        }
        self.keyspaces.seal_buffers();
        for _ in 0..WAITS_WHILE_CLOSING {
            let is_alive = self.db.persist(fjall::PersistMode::Buffer).is_ok();
            if !is_alive || !self.keyspaces.has_sealed_buffers() {
                return;
            }
            std::thread::sleep(WAIT_FOR_ROOM);
        }
    }
}

/// The engine could read blocks of other sizes, but would continue to write them.
fn check_block_size(directory: &Directory, has: BlockSize, settings: &Settings) -> Result<()> {
    match settings.block_size {
        Some(wanted) if wanted != has => {
            let message = format!(
                "{} was made with blocks of {has}, and blocks of {wanted} are asked for. A directory keeps the size that it was \
                 made with: ask for {has} or for none, or make a backup and restore it into a new directory with blocks of {wanted}",
                directory.root().display()
            );
            Err(StoreError::new(ErrorKind::Invalid, message))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FjallStore, Store};

    #[test]
    fn a_directory_keeps_the_size_of_blocks_that_it_was_made_with() {
        let dir = tempfile::TempDir::new().unwrap();
        let [small, large] = [8, 32].map(|kib| BlockSize::from_kib(kib).unwrap());
        let size = |block_size| {
            let settings = Settings {
                block_size,
                ..Settings::default()
            };
            FjallStore::open(dir.path(), settings).map(|store| store.stats().block_size)
        };
        // The size at creation; no size given; the same size given.
        for asked in [Some(large), None, Some(large)] {
            assert_eq!(size(asked).unwrap(), Some(large));
        }
        let refused = size(Some(small)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        let said = refused.to_string();
        assert!(
            said.contains("was made with blocks of 32 KiB, and blocks of 8 KiB are asked for"),
            "{said}"
        );
        assert!(said.contains("make a backup and restore it"), "{said}");
        assert_eq!(size(None).unwrap(), Some(large), "a refusal changes nothing");
    }
}
