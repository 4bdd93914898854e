//! The metrics of reads of storage, for Prometheus.

use super::render::Page;
use trestle_api::OperationName;
use trestle_embedded::{OperationReads, StorageReads};

/// One figure of an operation: its name, its help, and its value.
type Figure = (&'static str, &'static str, fn(&OperationReads) -> u64);

const FIGURES: [Figure; 3] = [
    (
        "storage_point_lookups_total",
        "Looks for one key in storage.",
        |reads| reads.point_lookups,
    ),
    (
        "storage_ranges_total",
        "Ranges that were read from storage, whatever the number of rows in each.",
        |reads| reads.ranges,
    ),
    (
        "storage_double_reads_total",
        "Looks into former places, while a migration is under way.",
        |reads| reads.double_reads,
    ),
];

const BLOCKS: &str = "storage_blocks_read_total";

/// The page of all operations that read something. Reads without an operation have the label `other`.
pub(crate) fn render(reads: &StorageReads) -> String {
    let operations = OperationName::ALL.iter();
    let operations = operations.map(|name| (name.as_str(), reads.of(*name)));
    let all: Vec<_> = operations.chain([("other", reads.other())]).collect();
    let mut page = Page::default();
    for (name, help, read) in FIGURES {
        page.head(name, "counter", help);
        for (operation, reads) in &all {
            page.sample(name, operation, read(reads) as f64);
        }
    }
    page.head(
        BLOCKS,
        "counter",
        "Blocks of rows, indexes and filters that were read, from files or from the cache. Blocks of rows that a range \
         (Query, Scan) finds in the cache are not counted.",
    );
    for (operation, reads) in &all {
        for (source, blocks) in [
            ("disk", reads.blocks_from_disk),
            ("cache", reads.blocks_from_cache),
        ] {
            if blocks > 0 {
                let labels = format!("operation=\"{operation}\",source=\"{source}\"");
                page.line(BLOCKS, &labels, blocks as f64);
            }
        }
    }
    page.0
}
