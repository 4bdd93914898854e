//! One page of a Query or Scan: reads rows in order until the limit, the page size or the end.

use trestle_api::Error;
use trestle_expr::{Condition, KeySelection, Projection};
use trestle_item::{Item, Items, StoredItem, size};
use trestle_store::{Direction, RowIterator, Snapshot, Space};

use crate::capacity::Read;
use crate::catalog::{Index, Table};
use crate::former;
use crate::layout::{self, ItemKey};
use crate::range::Range;
use crate::shared::internal;

/// A page ends with the row that takes it past this many bytes.
pub(crate) const PAGE_BYTES_MAX: usize = 1 << 20;

/// What is read: a table or one of its indexes.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) table: &'a Table,
    pub(crate) index: Option<&'a Index>,
}

impl Source<'_> {
    pub(crate) fn space(&self) -> Space {
        if self.index.is_some() {
            Space::Index
        } else {
            Space::Items
        }
    }

    /// The id of the table or index that is read.
    pub(crate) fn owner(&self) -> u32 {
        self.index.map_or(self.table.id.0, |index| index.id.0)
    }

    /// The bytes of the table key of the row with this storage key.
    pub(crate) fn table_key_bytes<'p>(&self, place: &'p [u8]) -> Option<&'p [u8]> {
        let before = match self.index {
            Some(index) => layout::index_group(&index.key, place)?.len(),
            None => layout::TABLE_BYTES,
        };
        place.get(before..)
    }

    /// The table key of the row with this storage key.
    pub(crate) fn table_key_at(&self, place: &[u8]) -> Option<Item> {
        layout::key_attributes(&self.table.key, self.table_key_bytes(place)?)
    }

    /// The key attributes of a row of `item` here: those of the index, then those of the table.
    pub(crate) fn key_of(&self, item: &Item) -> Item {
        let mut key = self.table.key.key_of(item);
        if let Some(index) = self.index {
            index.key.copy_key(item, &mut key);
        }
        key
    }
}

/// How to read a page.
pub(crate) struct PageRequest<'a> {
    pub(crate) range: Range,
    /// The selection from which the range was computed; `None` for a scan.
    pub(crate) selection: Option<&'a KeySelection>,
    pub(crate) direction: Direction,
    pub(crate) limit: Option<usize>,
    pub(crate) filter: Option<&'a Condition>,
    pub(crate) projection: Option<&'a Projection>,
    /// Fetch whole items from the table for rows of an index that does not keep all attributes.
    pub(crate) fetch: bool,
    /// Count only.
    pub(crate) count_only: bool,
}

/// A page and its cost.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) items: Items,
    pub(crate) count: usize,
    pub(crate) scanned: usize,
    /// The key of the last row read, if there may be more.
    pub(crate) last: Option<Item>,
    /// Bytes of all rows read.
    pub(crate) bytes: usize,
    /// Sizes of the items fetched from the table for an index.
    pub(crate) fetched: Vec<usize>,
}

impl PageRequest<'_> {
    /// Whether rows can be shown or counted without decoding them.
    fn shows_rows_as_stored(&self) -> bool {
        self.filter.is_none() && self.projection.is_none() && !self.fetch
    }
}

impl Page {
    /// Adds a row that must be decoded, if it passes the filter, with the requested attributes.
    fn look_at(
        &mut self,
        row: StoredItem<'_>,
        snapshot: &dyn Snapshot,
        source: Source<'_>,
        request: &PageRequest<'_>,
    ) -> Result<(), Error> {
        let mut item = row.decode();
        if request.fetch {
            item = fetch(snapshot, source.table, &item)?;
            self.fetched.push(size::of_item(&item));
        }
        if !request.filter.is_none_or(|filter| filter.holds(&item)) {
            return Ok(());
        }
        self.count += 1;
        match request.projection {
            _ if request.count_only => {}
            Some(wanted) => self.items.push(&wanted.apply(&item)),
            None if request.fetch => self.items.push(&item),
            None => self.items.push_stored(row),
        }
        Ok(())
    }

    /// The units for fetching whole items for an index.
    pub(crate) fn fetched_units(&self, read: Read) -> f64 {
        // Starts from zero: an empty sum of floats is minus zero, and would be shown as such.
        self.fetched
            .iter()
            .fold(0.0, |sum, bytes| sum + read.units(*bytes))
    }
}

/// Reads one page.
pub(crate) fn read<'s>(
    snapshot: &'s dyn Snapshot,
    source: Source<'s>,
    request: &PageRequest<'_>,
) -> Result<Page, Error> {
    let mut page = Page::default();
    for row in rows(snapshot, source, request)? {
        let (_, value) = row.map_err(internal)?;
        let stored = StoredItem::check(&value).map_err(internal)?;
        page.scanned += 1;
        page.bytes += stored.size();
        let full = page.bytes > PAGE_BYTES_MAX || request.limit.is_some_and(|limit| page.scanned >= limit);
        if request.shows_rows_as_stored() {
            page.count += 1;
            if !request.count_only {
                page.items.push_stored(stored);
            }
        } else {
            page.look_at(stored, snapshot, source, request)?;
        }
        if full {
            page.last = Some(source.key_of(&stored.decode()));
            break;
        }
    }
    Ok(page)
}

/// The rows to read, in former places or in their own.
fn rows<'s>(
    snapshot: &'s dyn Snapshot,
    source: Source<'s>,
    request: &PageRequest<'_>,
) -> Result<RowIterator<'s>, Error> {
    match source
        .table
        .former
        .as_ref()
        .filter(|former| former.may_hold_rows())
    {
        Some(former) => former::rows(snapshot, &**former, source, request),
        None => Ok(request.range.rows(snapshot, source.space(), request.direction)),
    }
}

/// The whole item of an index row.
fn fetch(snapshot: &dyn Snapshot, table: &Table, row: &Item) -> Result<Item, Error> {
    let found = match ItemKey::of(&table.key, row) {
        Some(key) => former::find_in(snapshot, table, &key)?,
        None => None,
    };
    found.ok_or_else(|| internal("an index row has no item; run `trestle verify` on the data directory"))
}
