//! What storage read to find rows, by operation.

use std::cell::Cell;
use std::fmt;
use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};

use trestle_api::OperationName;
use trestle_store::{ReadCounts, ReadPurpose, Store};

use crate::Engine;

/// What storage read to find rows for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationReads {
    /// Lookups of one key.
    pub point_lookups: u64,
    /// Ranges that were opened, regardless of the number of rows read from each.
    pub ranges: u64,
    /// Lookups in former places during a migration. Their point lookups and ranges are also counted above.
    pub double_reads: u64,
    /// Blocks (of rows, indexes and filters) that were read from files. A database in memory has none.
    pub blocks_from_disk: u64,
    /// Blocks that were found in the cache, except blocks of rows that a range found there. Rows that were
    /// just written count in neither.
    pub blocks_from_cache: u64,
}

impl OperationReads {
    fn new(counted: ReadCounts, double_reads: u64) -> Self {
        Self {
            point_lookups: counted.point_lookups,
            ranges: counted.ranges,
            double_reads,
            blocks_from_disk: counted.blocks_from_disk,
            blocks_from_cache: counted.blocks_from_cache,
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            point_lookups: self.point_lookups.saturating_sub(before.point_lookups),
            ranges: self.ranges.saturating_sub(before.ranges),
            double_reads: self.double_reads.saturating_sub(before.double_reads),
            blocks_from_disk: self.blocks_from_disk.saturating_sub(before.blocks_from_disk),
            blocks_from_cache: self.blocks_from_cache.saturating_sub(before.blocks_from_cache),
        }
    }
}

impl Add for OperationReads {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            point_lookups: self.point_lookups + other.point_lookups,
            ranges: self.ranges + other.ranges,
            double_reads: self.double_reads + other.double_reads,
            blocks_from_disk: self.blocks_from_disk + other.blocks_from_disk,
            blocks_from_cache: self.blocks_from_cache + other.blocks_from_cache,
        }
    }
}

/// What storage has read to find rows since the database was opened. Counters only increase; the difference
/// of two values is the cost in between:
///
/// ```
/// use trestle_api::{ListTables, OperationName};
/// use trestle_engine::{Engine, OperationReads, Options};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let engine = Engine::in_memory(Options::default())?;
/// let before = engine.storage_reads();
/// engine.run(ListTables::default())?;
/// let cost = engine.storage_reads().since(&before);
/// assert_eq!(cost.of(OperationName::ListTables), OperationReads::default());
/// # Ok(())
/// # }
/// ```
///
/// Lookups, ranges and double reads are exact. Each block counts once; while operations overlap, it may be
/// counted for another operation that read at the same time.
#[derive(Clone, PartialEq, Eq)]
pub struct StorageReads {
    /// One for each purpose, in the order of the purposes' numbers.
    counted: Vec<OperationReads>,
}

impl StorageReads {
    /// For one operation: reads on the client's thread, and those of the commit if it writes.
    #[must_use]
    pub fn of(&self, operation: OperationName) -> OperationReads {
        self.numbered(purpose_of(operation))
    }

    /// For no operation: background work such as expiry, migrations and filling indexes; verification,
    /// backups.
    #[must_use]
    pub fn other(&self) -> OperationReads {
        self.numbered(ReadPurpose::default())
    }

    /// The sum of everything.
    #[must_use]
    pub fn total(&self) -> OperationReads {
        let counted = self.counted.iter().copied();
        counted.fold(OperationReads::default(), Add::add)
    }

    /// The reads after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let both = self.counted.iter().zip(&before.counted);
        Self {
            counted: both.map(|(now, before)| now.since(*before)).collect(),
        }
    }

    fn numbered(&self, purpose: ReadPurpose) -> OperationReads {
        let counted = self.counted.get(usize::from(purpose.0));
        debug_assert!(counted.is_some(), "every purpose is looked at");
        counted.copied().unwrap_or_default()
    }
}

/// Shows only purposes with reads.
impl fmt::Debug for StorageReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations = OperationName::ALL.iter();
        let operations = operations.map(|name| (name.as_str(), self.of(*name)));
        let all = operations.chain([("other", self.other())]);
        let read = all.filter(|(_, reads)| *reads != OperationReads::default());
        f.debug_map().entries(read).finish()
    }
}

/// Operations, and one for reads without an operation.
const PURPOSES: usize = OperationName::ALL.len() + 1;
const _: () = assert!(PURPOSES <= 256, "the store numbers purposes with a byte");

/// Numbers begin with 1: 0 is for reads without an operation.
pub(crate) const fn purpose_of(operation: OperationName) -> ReadPurpose {
    ReadPurpose(operation as u8 + 1)
}

thread_local! {
    /// How often this thread has searched former places.
    static DOUBLE_READS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a lookup in former places.
pub(crate) fn count_double_read() {
    DOUBLE_READS.set(DOUBLE_READS.get() + 1);
}

/// Lookups in former places by purpose; the store counts the rest.
pub(crate) struct DoubleReads([AtomicU64; PURPOSES]);

impl Default for DoubleReads {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl DoubleReads {
    /// Runs `work`; reads on this thread meanwhile are counted for `purpose`.
    pub(crate) fn during<T>(&self, purpose: ReadPurpose, work: impl FnOnce() -> T) -> T {
        let before = DOUBLE_READS.get();
        let done = purpose.during(work);
        let looked = DOUBLE_READS.get() - before;
        if looked > 0
            && let Some(counter) = self.0.get(usize::from(purpose.0))
        {
            counter.fetch_add(looked, Ordering::Relaxed);
        }
        done
    }

    fn read(&self, store: &dyn Store) -> StorageReads {
        let counters = (0_u8..).map(ReadPurpose).zip(&self.0);
        let read = |(purpose, counter): (ReadPurpose, &AtomicU64)| {
            OperationReads::new(store.reads(purpose), counter.load(Ordering::Relaxed))
        };
        StorageReads {
            counted: counters.map(read).collect(),
        }
    }
}

impl Engine {
    /// What storage has read to find rows since the database was opened.
    #[must_use]
    pub fn storage_reads(&self) -> StorageReads {
        let shared = self.shared();
        shared.double_reads.read(&*shared.store)
    }
}
