//! Moves the rows that no client writes, a page of the table at a time, so that other requests run between
//! pages.

use std::ops::Bound;
use std::sync::Arc;

use parking_lot::Mutex;
use trestle_api::{Error, ListTablesOutput, Response};
use trestle_hook::{Lying, MovedPage, Remaining, Stuck};
use trestle_item::Item;
use trestle_store::{Direction, Space};

use super::find::lies_at;
use super::merge::look_ahead;
use super::moving::Relocation;
use super::swept::Swept;
use super::windows::ROWS_MAX;
use crate::Engine;
use crate::catalog::Table;
use crate::consequences::checked;
use crate::image::Image;
use crate::layout::{self, ItemKey};
use crate::range::Range;
use crate::shared::internal;
use crate::transaction::Transaction;

/// The fraction of a table, from 0 to 1, that is before a position. Rows are ordered by a hash, hence evenly
/// distributed.
#[must_use]
pub fn walked(place: &[u8]) -> f64 {
    ItemKey(place.to_vec()).hash() as f64 / u64::MAX as f64
}

/// Some rows of a table in their places, and the position of the next page.
struct Page {
    rows: Vec<(ItemKey, Arc<Image>)>,
    next: Option<Vec<u8>>,
}

impl Engine {
    /// Moves the rows in former places among the next `at_most` rows of a table, from `from` on, in one
    /// commit. A row that was written or removed meanwhile is skipped. Repeating the call does no harm.
    pub fn move_rows(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<MovedPage, Error> {
        loop {
            let table = self.table(table)?;
            let page = self.rows_as_they_lie(&table, from, at_most)?;
            if let Some(moved) = self.move_page(&table, page)? {
                self.note_swept(&table, from, &moved);
                return Ok(moved);
            }
        }
    }

    /// Informs reads that a page has no rows in former places any more, if all of them could move.
    fn note_swept(&self, table: &Table, from: Option<&[u8]>, page: &MovedPage) {
        if page.stuck.is_empty() {
            let next = page.next.clone().unwrap_or_else(|| Swept::END.to_vec());
            // Snapshots from now on show the page after the move.
            let version = self.shared().store.snapshot().version();
            table.swept.page(from, next, version);
        }
    }

    /// Moves the rows of a page; `None` if the table has changed meanwhile.
    fn move_page(&self, table: &Arc<Table>, page: Page) -> Result<Option<MovedPage>, Error> {
        let mut moved = MovedPage {
            looked_at: page.rows.len() as u64,
            next: page.next,
            ..MovedPage::default()
        };
        let mut relocations = Vec::new();
        for (key, image) in page.rows {
            match Relocation::of(table, key, Arc::clone(&image)) {
                Ok(relocation) => relocations.extend(relocation),
                Err(error) => moved.stuck.push(Stuck {
                    key: table.key.key_of(&image),
                    reason: error.message().to_owned(),
                }),
            }
        }
        if relocations.is_empty() {
            return Ok(Some(moved));
        }
        let relocated = self.relocate(Arc::clone(table), relocations)?;
        Ok(relocated.map(|rows| MovedPage {
            moved: rows,
            cost: rows,
            ..moved
        }))
    }

    /// Reads a table in advance, so that the first scan during a migration need not. Does nothing if there
    /// are too many rows to keep in memory, or if it was done before; errors are left to the scan.
    pub fn look_ahead(&self, table: &str) {
        let Ok(table) = self.table(table) else { return };
        let former = table.former.as_ref().filter(|former| former.may_hold_rows());
        let Some(former) = former else { return };
        if table.stats.read().0 <= ROWS_MAX as u64 && table.windows.is_first_look_ahead() {
            let _ = look_ahead(&*self.shared().store.snapshot(), &**former, &table);
        }
    }

    /// Finds the rows in former places among the next `at_most` rows of a table, from `from` on.
    pub fn rows_to_move(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Remaining, Error> {
        let table = self.table(table)?;
        let page = self.rows_as_they_lie(&table, from, at_most)?;
        let former = page.rows.iter().filter(|(_, image)| lies_at(&table, image));
        Ok(Remaining {
            looked_at: page.rows.len() as u64,
            keys: former.map(|(_, image)| table.key.key_of(image)).collect(),
            next: page.next,
        })
    }

    /// The next `at_most` rows of a table in their places, from `from` on.
    pub fn lying(&self, table: &str, from: Option<&[u8]>, at_most: usize) -> Result<Lying, Error> {
        let table = self.table(table)?;
        let page = self.rows_as_they_lie(&table, from, at_most)?;
        let rows = page.rows.into_iter();
        Ok(Lying {
            rows: rows
                .map(|(_, image)| Image::into_item(Arc::unwrap_or_clone(image)))
                .collect(),
            next: page.next,
        })
    }

    /// Checks whether a table could hold a row like this, by the rules for rows that clients write.
    pub fn could_hold(&self, table: &str, row: &Item) -> Result<(), Error> {
        let table = self.table(table)?;
        let key = table.key.item_key_in(row)?;
        checked(&table, &key, Arc::new(row.clone())).map(drop)
    }

    fn table(&self, name: &str) -> Result<Arc<Table>, Error> {
        let shared = self.shared();
        let catalog = shared.catalog.load();
        catalog.table(name, shared.clock.now()).cloned()
    }

    fn rows_as_they_lie(&self, table: &Table, from: Option<&[u8]>, at_most: usize) -> Result<Page, Error> {
        let mut range = Range::prefix(table.id.0.to_be_bytes().to_vec());
        if let Some(from) = from {
            range.start = Bound::Included(ItemKey(from.to_vec()).in_table(table.id));
        }
        let snapshot = self.shared().store.snapshot();
        let mut page = Page {
            rows: Vec::new(),
            next: None,
        };
        for row in range.rows(&*snapshot, Space::Items, Direction::Forward) {
            let (place, bytes) = row.map_err(internal)?;
            let key = ItemKey(layout::behind(&place, layout::TABLE_BYTES, "rows as they lie")?.to_vec());
            if page.rows.len() == at_most.max(1) {
                page.next = Some(key.0);
                break;
            }
            let image = Image::stored(bytes).map_err(internal)?;
            page.rows.push((key, Arc::new(image)));
        }
        Ok(page)
    }

    /// Moves rows and returns how many; `None` if the table has gained an index meanwhile, or its former
    /// places changed.
    fn relocate(&self, table: Arc<Table>, relocations: Vec<Relocation>) -> Result<Option<u64>, Error> {
        let moved = Arc::new(Mutex::new(None));
        let told = Arc::clone(&moved);
        let work = move |transaction: &mut Transaction<'_>| {
            if Arc::ptr_eq(&transaction.table(&table.name)?, &table) {
                let mut rows = 0;
                for row in &relocations {
                    rows += u64::from(transaction.relocate_if_unchanged(&table, row)?);
                }
                *told.lock() = Some(rows);
            }
            // The committer answers with responses; this work has none, so any empty one will do.
            Ok(Response::from(ListTablesOutput::default()))
        };
        self.submit(Box::new(work), None).wait()?;
        Ok(*moved.lock())
    }
}
