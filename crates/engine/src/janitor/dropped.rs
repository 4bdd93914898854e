//! Finishes the deletion of tables, and clears the rows of dropped tables and indexes.

use trestle_api::Error;
use trestle_store::{Direction, Space};

use super::{Progress, Worker};
use crate::catalog::State;
use crate::range::Range;
use crate::shared::internal;
use crate::{layout, meta};

/// Rows cleared per commit.
const ROWS_PER_COMMIT: usize = 1000;

pub(crate) fn run(worker: &Worker) -> Result<Progress, Error> {
    let tables = finish_deletions(worker)?;
    let items = clear(worker, meta::DROPPED_TABLE_PREFIX, Space::Items)?;
    let rows = clear(worker, meta::DROPPED_INDEX_PREFIX, Space::Index)?;
    let some = [tables, items, rows].contains(&Progress::Some);
    Ok(if some { Progress::Some } else { Progress::None })
}

/// Drops tables whose time in `DELETING` is over.
fn finish_deletions(worker: &Worker) -> Result<Progress, Error> {
    let now = worker.shared.clock.now();
    let catalog = worker.shared.catalog.load();
    let due = catalog
        .tables
        .values()
        .find(|table| matches!(table.state, State::Deleting(at) if at <= now))
        .cloned();
    let Some(table) = due else {
        return Ok(Progress::None);
    };
    worker.commit(false, move |transaction| {
        transaction.drop_table(&table);
        Ok(())
    })?;
    Ok(Progress::Some)
}

/// Clears some rows of the first note, and the note when none is left.
fn clear(worker: &Worker, notes: &[u8], space: Space) -> Result<Progress, Error> {
    let snapshot = worker.shared.store.snapshot();
    let Some(note) = Range::prefix(notes.to_vec())
        .rows(&*snapshot, Space::Meta, Direction::Forward)
        .next()
    else {
        return Ok(Progress::None);
    };
    let (note, _) = note.map_err(internal)?;
    let owner = layout::behind(&note, notes.len(), "rows of what was dropped")?;
    let mut rows = Vec::new();
    for row in Range::prefix(owner.to_vec())
        .rows(&*snapshot, space, Direction::Forward)
        .take(ROWS_PER_COMMIT)
    {
        rows.push(row.map_err(internal)?.0.to_vec());
    }
    let note = note.to_vec();
    worker.commit(false, move |transaction| {
        if rows.is_empty() {
            transaction.delete_row(Space::Meta, note);
        }
        for row in rows {
            transaction.delete_row(space, row);
        }
        Ok(())
    })?;
    Ok(Progress::Some)
}
