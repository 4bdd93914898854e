//! The measurements to make, and their conditions.

use crate::dataset::BLOCK;
use crate::target::{Places, Target};
use crate::workload::Workload;
use std::path::PathBuf;
use std::time::Duration;

/// All settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The paths of the programs.
    pub places: Places,
    /// Which servers to measure; those that are not found are skipped, and the report says so.
    pub targets: Vec<Target>,
    /// The workloads.
    pub workloads: Vec<Workload>,
    /// Numbers of connections, one after the other.
    pub connections: Vec<usize>,
    /// How long each workload is measured, in each round.
    pub measured: Duration,
    /// The number of rounds; the least disturbed one counts.
    pub rounds: usize,
    /// Rows in the table before measuring begins.
    pub rows: u64,
    /// How long loading them may take; a slower server is measured with fewer rows.
    pub load_within: Duration,
    /// Whether to measure the two limits as well.
    pub limits: bool,
    /// The measurements of Trestle alone.
    pub alone: Vec<Alone>,
    /// Rows for [`Alone::Start`].
    pub start_rows: u64,
    /// Rows for [`Alone::Scale`].
    pub scale_rows: u64,
    /// Rows for [`Alone::Migrations`].
    pub migration_rows: u64,
    /// Rows for [`Alone::Reindex`].
    pub reindex_rows: u64,
    /// Tables for [`Alone::Tables`].
    pub tables: usize,
    /// The directory for data; should be on the disk to be measured.
    pub directory: PathBuf,
}

/// Enough rows for every connection to have its own, even in batches of 25 from 64 connections.
const ROWS_MIN: u64 = 4 * BLOCK;

impl Settings {
    /// The time before measuring begins: a JVM needs more, the others none.
    pub(crate) fn warm_up(&self) -> Duration {
        self.measured / 3
    }

    /// Whole blocks, so that every query finds its twenty rows.
    pub(crate) fn whole_rows(rows: u64) -> u64 {
        rows.div_ceil(BLOCK).saturating_mul(BLOCK).max(ROWS_MIN)
    }
}

/// A measurement that applies only to Trestle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    /// Reads with blocks of several sizes, in the same process.
    Blocks,
    /// GetItem in the same process, without a socket.
    Embedded,
    /// Reads and writes before, during and after a migration, in the same process.
    Migrations,
    /// Writes with a model, compared with the same writes without, in the same process.
    Model,
    /// Messages sent, received and deleted, compared with moto's server.
    Queues,
    /// Puts during a reindex, compared with the same puts without; rows touched per second.
    Reindex,
    /// From a write to its delivery, and writes with routes compared with the same writes without, in the same process.
    Routes,
    /// Memory when idle and after loading, and the time from start to first answer.
    Start,
    /// Writes with many tables, compared with one.
    Tables,
    /// Reads from many rows, compared with few.
    Scale,
}

impl Alone {
    /// All of them, the quick ones first.
    pub const ALL: [Alone; 10] = [
        Alone::Embedded,
        Alone::Model,
        Alone::Queues,
        Alone::Routes,
        Alone::Migrations,
        Alone::Reindex,
        Alone::Tables,
        Alone::Blocks,
        Alone::Start,
        Alone::Scale,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Alone::Blocks => "blocks",
            Alone::Embedded => "embedded",
            Alone::Migrations => "migrations",
            Alone::Model => "model",
            Alone::Queues => "queues",
            Alone::Reindex => "reindex",
            Alone::Routes => "routes",
            Alone::Start => "start",
            Alone::Tables => "tables",
            Alone::Scale => "scale",
        }
    }
}

impl std::str::FromStr for Alone {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Alone::ALL.into_iter().find(|alone| alone.name() == text);
        found.ok_or_else(|| {
            let names: Vec<_> = Alone::ALL.iter().map(|alone| alone.name()).collect();
            format!("there is no measurement `{text}`; there are {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_in_whole_blocks_and_suffice_for_every_connection() {
        assert_eq!(Settings::whole_rows(1), 1_600);
        assert_eq!(Settings::whole_rows(10_000), 10_000);
        assert_eq!(Settings::whole_rows(10_001), 10_400);
        const { assert!(ROWS_MIN / 25 >= 64) };
    }
}
