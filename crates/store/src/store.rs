//! The two traits that all code above the store uses.

use crate::{Batch, BlockSize, Bytes, ReadCounts, ReadPurpose, Result};
use std::fmt;
use std::ops::Bound;

/// One of the store's sorted maps. The set is fixed: tables share spaces and are told apart by key prefixes,
/// so creating a table adds a row and no files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Tables, settings, tokens: what describes the rest.
    Meta,
    /// The items themselves.
    Items,
    /// Rows of secondary indexes.
    Index,
    /// The change log.
    Changes,
    /// The expiry times of items.
    Expiry,
}

impl Space {
    /// How many spaces there are.
    pub const COUNT: usize = 5;

    /// Every space, in the order of [`Space::index`].
    pub const ALL: [Space; Space::COUNT] = [
        Space::Meta,
        Space::Items,
        Space::Index,
        Space::Changes,
        Space::Expiry,
    ];

    /// The position of this space in [`Space::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name of the space on disk.
    pub const fn name(self) -> &'static str {
        match self {
            Space::Meta => "meta",
            Space::Items => "items",
            Space::Index => "index",
            Space::Changes => "changes",
            Space::Expiry => "expiry",
        }
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which end of a range comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Smallest key first.
    Forward,
    /// Largest key first.
    Reverse,
}

/// The rows of a range, key and value, read lazily. The iterator ends after an error.
pub type RowIterator<'a> = Box<dyn Iterator<Item = Result<(Bytes, Bytes)>> + Send + 'a>;

/// Five sorted maps that change together.
pub trait Store: Send + Sync + fmt::Debug {
    /// The newest committed value under `key`.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>>;

    /// Everything committed so far, frozen. Cheap, but rows it can still see are not reclaimed until it is
    /// dropped: keep it for one request, not for a session.
    fn snapshot(&self) -> Box<dyn Snapshot>;

    /// Makes all changes of the batch visible and durable, or none.
    ///
    /// When this returns `Ok`, the batch is as durable as the store was opened to be. When it returns an error, no
    /// reader will see any part of the batch as long as this store is open. [`ErrorKind`](crate::ErrorKind) says
    /// whether trying again can help.
    fn commit(&self, batch: Batch) -> Result<()>;

    /// Returns when everything committed so far would survive a power cut. A store without a disk has nothing to do.
    fn sync(&self) -> Result<()>;

    /// Figures for operators.
    fn stats(&self) -> Stats;

    /// What reads for this purpose have cost since the store was opened.
    fn reads(&self, purpose: ReadPurpose) -> ReadCounts;
}

/// A frozen view of all spaces.
pub trait Snapshot: Send + Sync {
    /// The value under `key`.
    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Bytes>>;

    /// The rows between two bounds. Bounds that exclude everything, or are in the wrong order, give no rows.
    fn range(
        &self,
        space: Space,
        start: Bound<&[u8]>,
        end: Bound<&[u8]>,
        direction: Direction,
    ) -> RowIterator<'_>;

    /// Orders the snapshots of one open store: a snapshot with a larger number contains every commit that one
    /// with a smaller number contains.
    fn version(&self) -> u64;
}

/// Figures for operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes taken on disk, or in memory for a store that has no disk; an estimate.
    pub size_bytes: u64,
    /// Number of the last committed batch; 0 before the first.
    pub last_commit: u64,
    /// How large the blocks of tables are; `None` for a store that has no disk.
    pub block_size: Option<BlockSize>,
}
