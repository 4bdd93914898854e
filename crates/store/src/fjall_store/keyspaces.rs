//! The engine's keyspaces: one per space, and one for commit rows.

use super::commit_row::CommitRow;
use super::engine_error;
use super::guard::WAY_OUT;
use super::journal_check::JournalledCommits;
use super::sorted_runs::SortedRuns;
use crate::per_space::PerSpace;
use crate::{Batch, BlockSize, ErrorKind, Result, Space, StoreError};
use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy, PartitioningPolicy, RestartIntervalPolicy};
use fjall::{AbstractTree, CompressionType, Database, Keyspace, KeyspaceCreateOptions};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// The keyspace of the [`CommitRow`]. Created first, so that its number in the journal is known.
const SYSTEM: &str = "system";

const MIB: u64 = 1024 * 1024;

const SYSTEM_BUFFER_BYTES: u64 = MIB / 2;

/// The engine numbers keyspaces from 1 in the order of their creation.
pub(super) const SYSTEM_ID: u64 = 1;

/// Folders of the engine: its own catalogue (0), [`SYSTEM`], and one per space.
pub(super) const FOLDERS: std::ops::RangeInclusive<u64> = 0..=(SYSTEM_ID + Space::COUNT as u64);

/// The engine's folder of a space.
pub(super) fn folder_of(space: Space) -> u64 {
    SYSTEM_ID + 1 + space.index() as u64
}

/// When journals exceed this size, the engine flushes the buffers that keep the oldest one. This bounds disk
/// use and the time to open. Half of it would cost 5 % of write throughput where the same rows are written
/// again and again.
const JOURNAL_BYTES_MAX: u64 = 128 * MIB;

/// Tables are merged when one of so many rows is a deletion. The share must be higher where a merge takes
/// long, because closing waits for it.
const WORTH_MERGING: u64 = 10;
const WORTH_MERGING_LARGE: u64 = 3;
const SOON_MERGED_BYTES: u64 = 1024 * MIB;

/// Creating a directory reads next to nothing.
const CACHE_BYTES_WHILE_CREATING: u64 = MIB;

/// Handles to all keyspaces.
pub(super) struct Keyspaces {
    system: Keyspace,
    spaces: PerSpace<Keyspace>,
}

/// Makes a new database in `path` with every keyspace, and closes it.
pub(super) fn create(path: &Path, block_size: BlockSize) -> Result<()> {
    caught(path, || open_engine(path, CACHE_BYTES_WHILE_CREATING, block_size)).map(drop)
}

/// Opens the database in `path`, which has every keyspace.
pub(super) fn open(path: &Path, cache_bytes: u64) -> Result<(Database, Keyspaces)> {
    // Sizes of blocks come from what the engine has written down.
    caught(path, || open_engine(path, cache_bytes, BlockSize::default()))
}

/// The engine panics on some damaged directories; that becomes an error here.
fn caught<T>(path: &Path, open: impl FnOnce() -> fjall::Result<T>) -> Result<T> {
    let attempt = catch_unwind(AssertUnwindSafe(open));
    let opened = attempt.map_err(|_| {
        let message = format!("the files in {} do not fit together. {WAY_OUT}", path.display());
        StoreError::new(ErrorKind::Damaged, message)
    })?;
    opened.map_err(|error| engine_error::while_opening(path, error))
}

fn open_engine(path: &Path, cache_bytes: u64, new_blocks: BlockSize) -> fjall::Result<(Database, Keyspaces)> {
    let db = Database::builder(path)
        .cache_size(cache_bytes)
        .max_journaling_size(JOURNAL_BYTES_MAX)
        .manual_journal_persist(true)
        .worker_threads(background_threads())
        .open()?;
    let system = db.keyspace(SYSTEM, || options(SYSTEM_BUFFER_BYTES))?;
    let open_space = |space: Space| db.keyspace(space.name(), || options_of(space, new_blocks));
    let spaces = PerSpace::try_new(open_space)?;
    Ok((db, Keyspaces { system, spaces }))
}

/// How many of the engine's threads write buffers to tables and merge tables. Of several threads, the engine
/// keeps one free for buffers, which busy-waits while another merges. That costs too much on a machine with
/// two processors.
fn background_threads() -> usize {
    match std::thread::available_parallelism().map_or(1, NonZero::get) {
        ..=2 => 1,
        processors => processors.min(4),
    }
}

/// Fixed when a directory is created: the engine writes the options down.
fn options(write_buffer_bytes: u64) -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(write_buffer_bytes)
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
}

fn options_of(space: Space, block_size: BlockSize) -> KeyspaceCreateOptions {
    let options = options(write_buffer_bytes(space));
    match space {
        Space::Items | Space::Index => for_reading(options, block_size),
        Space::Changes | Space::Meta | Space::Expiry => options,
    }
}

/// For rows that are overwritten, and read by range and by key.
fn for_reading(options: KeyspaceCreateOptions, block_size: BlockSize) -> KeyspaceCreateOptions {
    // A range reads a row from every table that has a version of it, so only few tables may wait to be
    // merged. The tables are larger, so that the first level, and the amount that each merge rewrites, are as
    // large as with the defaults.
    let merging = Leveled::default()
        .with_l0_threshold(2)
        .with_table_target_size(128 * MIB);
    options
        .compaction_strategy(Arc::new(merging))
        // These tables are merged soon, and compressed then.
        .data_block_compression_policy(CompressionPolicy::new([
            CompressionType::None,
            CompressionType::Lz4,
        ]))
        .data_block_size_policy(BlockSizePolicy::all(block_size.bytes()))
        // Keys are stored whole, so that reads need not copy them; compression removes the repetition.
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(1))
        // Partitioned, so that a read loads only the parts of a large table's index and filter that it needs.
        .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
}

/// The engine lets up to four full buffers per keyspace wait for the disk, so these bound memory under load.
fn write_buffer_bytes(space: Space) -> u64 {
    match space {
        Space::Items => 32 * MIB,
        Space::Index | Space::Changes => 16 * MIB,
        Space::Meta | Space::Expiry => 4 * MIB,
    }
}

impl Keyspaces {
    pub(super) fn of(&self, space: Space) -> &Keyspace {
        self.spaces.of(space)
    }

    /// The size of blocks that the engine has stored.
    pub(super) fn block_size(&self) -> Result<BlockSize> {
        let of_levels = &self.of(Space::Items).config.data_block_size_policy;
        let bytes = of_levels.last();
        let size = bytes.map(|bytes| BlockSize::from_bytes(*bytes));
        size.ok_or_else(|| apart("the size of blocks is not written down"))
    }

    /// Hands the batch and its commit row to the engine's batch.
    pub(super) fn fill(&self, write: &mut fjall::OwnedWriteBatch, batch: Batch, row: CommitRow) {
        write.insert(&self.system, CommitRow::KEY, row.encode());
        for (space, key, value) in batch.into_changes() {
            match value {
                Some(value) => write.insert(self.of(space), key.into_engine(), value.into_engine()),
                None => write.remove(self.of(space), key.into_engine()),
            }
        }
    }

    /// Sets full buffers aside, to be written to disk in the background.
    ///
    /// The engine leaves this to its background threads and sends them another request with every commit
    /// until it is done. During a merge their queue fills up; a single thread that finds the queue full then
    /// waits for itself forever.
    pub(super) fn seal_full_buffers(&self) {
        for (keyspace, buffer_bytes) in self.all() {
            if keyspace.tree.active_memtable().size() > buffer_bytes {
                seal(keyspace);
            }
        }
    }

    /// Sets aside the buffer that is written in the shortest time. Every commit adds to it.
    pub(super) fn seal_smallest_buffer(&self) {
        seal(&self.system);
    }

    /// Sets all buffers aside that hold anything.
    pub(super) fn seal_buffers(&self) {
        for (keyspace, _) in self.all() {
            if keyspace.tree.active_memtable().size() > 0 {
                seal(keyspace);
            }
        }
    }

    /// Whether buffers that were set aside are not yet on disk.
    pub(super) fn has_sealed_buffers(&self) -> bool {
        self.all()
            .any(|(keyspace, _)| keyspace.tree.sealed_memtable_count() > 0)
    }

    /// The keyspaces in whose tables many rows are deletions. Merging all tables of a keyspace removes the
    /// deleted rows and the deletions.
    pub(super) fn worth_merging(&self) -> impl Iterator<Item = &Keyspace> {
        let is_worth_it = |keyspace: &&Keyspace| {
            let deletions = keyspace.tree.tombstone_count();
            let rows = keyspace.tree.approximate_len() as u64;
            let share = match keyspace.disk_space() {
                ..=SOON_MERGED_BYTES => WORTH_MERGING,
                _ => WORTH_MERGING_LARGE,
            };
            deletions > 0 && deletions >= rows / share
        };
        self.all().map(|(keyspace, _)| keyspace).filter(is_worth_it)
    }

    /// The keyspaces that are read by range and have several runs of tables that are cheap to merge into one.
    pub(super) fn worth_sorting(&self) -> impl Iterator<Item = &Keyspace> {
        let read_by_range = [Space::Items, Space::Index];
        let keyspaces = read_by_range.into_iter().map(|space| self.of(space));
        keyspaces.filter(|keyspace| SortedRuns::of(keyspace).are_worth_merging())
    }

    /// The approximate size of all buffers, which the next start would read from the journal.
    pub(super) fn buffered_bytes(&self) -> u64 {
        let bytes = |(keyspace, buffer_bytes): (&Keyspace, u64)| {
            keyspace.tree.active_memtable().size()
                + keyspace.tree.sealed_memtable_count() as u64 * buffer_bytes
        };
        self.all().map(bytes).sum()
    }

    /// Whether the engine might wait inside the next commit. It waits at four full buffers or at 30 tables
    /// that are not merged yet; a commit can fill one more buffer.
    pub(super) fn is_nearly_full(&self) -> bool {
        self.all().any(|(keyspace, buffer_bytes)| {
            let filled = usize::from(keyspace.tree.active_memtable().size() > buffer_bytes);
            keyspace.tree.sealed_memtable_count() + filled >= 3 || keyspace.tree.l0_run_count() >= 26
        })
    }

    /// Every keyspace, and how large its buffers are.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Keyspace, u64)> {
        let spaces = Space::ALL
            .iter()
            .map(|space| (self.of(*space), write_buffer_bytes(*space)));
        spaces.chain([(&self.system, SYSTEM_BUFFER_BYTES)])
    }

    /// The newest commit, after checking that journals and tables are consistent, and that everything up to
    /// `synced` is there.
    pub(super) fn last_commit(&self, journals: Option<JournalledCommits>, synced: u64) -> Result<CommitRow> {
        let last = self.newest_commit()?;
        if last.number < synced {
            let last = last.number;
            return Err(apart(&format!(
                "commit {synced} was acknowledged, and the last one is {last}; the newest journal is missing or empty"
            )));
        }
        if journals.is_some_and(|journals| journals.last.number != last.number) {
            return Err(apart("they disagree about the last commit"));
        }
        // Journals are removed only when their rows are in tables. The commits that tables contain cannot be
        // determined once tables are merged, so this detects a missing journal only while there are no
        // tables.
        let has_tables = self.system.tree.get_highest_persisted_seqno().is_some();
        if !has_tables && journals.is_some_and(|journals| journals.first.number != 1) {
            return Err(apart("the first commits are missing"));
        }
        // Every batch writes the commit row, so no space can hold anything newer.
        let newest = self.system.tree.get_highest_seqno();
        let is_ahead = |space: &&Keyspace| space.tree.get_highest_persisted_seqno() > newest;
        match self.spaces.iter().find(is_ahead) {
            Some(space) => Err(apart(&format!(
                "space {} holds rows newer than the last commit",
                &**space.name()
            ))),
            None => Ok(last),
        }
    }

    fn newest_commit(&self) -> Result<CommitRow> {
        let stored = self.system.get(CommitRow::KEY);
        let stored = stored.map_err(|error| engine_error::while_doing("reading the last commit", error))?;
        stored.map_or(Ok(CommitRow::default()), |bytes| {
            CommitRow::decode(&bytes).ok_or_else(|| apart("the row of the last commit is unreadable"))
        })
    }
}

/// Sets a buffer aside.
fn seal(keyspace: &Keyspace) {
    // The commit is durable whether or not this succeeds; the next commit notices a failing disk.
    if let Err(error) = keyspace.rotate_memtable() {
        tracing::warn!(%error, keyspace = &**keyspace.name(), "a full buffer could not be set aside");
    }
}

fn apart(how: &str) -> StoreError {
    let message = format!(
        "journals and tables do not fit together: {how}. A file is missing or older than the rest. {WAY_OUT}"
    );
    StoreError::new(ErrorKind::Damaged, message)
}
