//! A page of a table's rows together with the position of the streams at the same moment.

use std::sync::atomic::Ordering;

use trestle_api::{Error, RowPage, Scan};
use trestle_item::{Item, key};
use trestle_store::{Direction, Snapshot, Space};

use crate::catalog::Catalog;
use crate::ops::scan;
use crate::range::Range;
use crate::shared::{Shared, internal};
use crate::stream_position::sequence_text;
use crate::{Engine, meta};

/// How often at most a commit is checked for being published, which normally takes a few microseconds.
const PUBLISHED_LOOKS_MAX: usize = 1_000_000;

impl Engine {
    /// Reads up to `limit` rows after the row with the key `after`. The layout of the page is the list of
    /// documents whose names begin with `prefix`: they determine the order of the rows.
    pub fn row_page(
        &self,
        table: &str,
        after: Option<&Item>,
        limit: u32,
        prefix: &str,
    ) -> Result<RowPage, Error> {
        let shared = self.shared();
        let request = Scan {
            table_name: table.to_owned(),
            exclusive_start_key: after.cloned(),
            limit: Some(limit.max(1)),
            ..Scan::default()
        };
        shared.in_one_layout(|catalog| read(shared, catalog, &request, prefix))
    }
}

fn read(shared: &Shared, catalog: &Catalog, request: &Scan, prefix: &str) -> Result<RowPage, Error> {
    let snapshot = shared.store.snapshot();
    let page = scan::read(shared, catalog, request, &*snapshot)?;
    let table = catalog.table(&request.table_name, shared.clock.now())?;
    let newest = newest_sequence(&*snapshot)?;
    await_published(shared, newest)?;
    Ok(RowPage {
        rows: page.items.unwrap_or_default().to_vec(),
        key: table.key.attributes().map(|part| part.name.clone()).collect(),
        next: page.last_evaluated_key,
        mark: sequence_text(newest),
        layout: document_names(&*snapshot, prefix)?,
    })
}

/// A commit becomes readable a moment before the shards that it opened become visible. A reader of the
/// streams up to the mark needs those shards.
fn await_published(shared: &Shared, sequence: u64) -> Result<(), Error> {
    for _ in 0..PUBLISHED_LOOKS_MAX {
        if shared.last_sequence.load(Ordering::Acquire) >= sequence {
            return Ok(());
        }
        std::thread::yield_now();
    }
    Err(internal(
        "a commit was stored and has not been published; try again",
    ))
}

fn newest_sequence(snapshot: &dyn Snapshot) -> Result<u64, Error> {
    let row = snapshot.get(Space::Meta, meta::COUNTERS_KEY).map_err(internal)?;
    let counters = match row {
        Some(row) => meta::Counters::decode(&row),
        None => Some(meta::Counters::default()),
    };
    let counters = counters.ok_or_else(|| internal("the counters cannot be read; run `trestle verify`"))?;
    Ok(counters.sequence)
}

fn document_names(snapshot: &dyn Snapshot, prefix: &str) -> Result<String, Error> {
    let mut names = Vec::new();
    let range = Range::prefix(meta::document_key(prefix));
    for row in range.rows(snapshot, Space::Meta, Direction::Forward) {
        let (key, _) = row.map_err(internal)?;
        names.extend_from_slice(&key);
        names.push(0);
    }
    Ok(format!("{:016x}", key::hash(&names)))
}
