//! The rows of a page while some are in former places: one list in the order of own places, so that a
//! bookmark has the same meaning before, during and after a move.

use std::iter::Peekable;
use std::ops::Bound;

use trestle_api::Error;
use trestle_hook::{Belongs, Former, FormerRange};
use trestle_item::{Item, key};
use trestle_store::{Bytes, Direction, RowIterator, Snapshot, Space, StoreError};

use super::candidates::Candidates;
use super::find::former_place;
use super::neighbours::Neighbours;
use super::renewed::{Lies, Renewed, lies};
use crate::catalog::{Index, Table};
use crate::layout::{self, ItemKey};
use crate::page::{PAGE_BYTES_MAX, PageRequest, Source};
use crate::range::{self, Range};
use crate::shared::internal;

/// How many rows in their own places are kept when a search passes them; if there are more, they are read
/// again. Few in debug builds, so that tests cover both.
const OWN_ROWS_MAX: usize = if cfg!(debug_assertions) { 8 } else { 256 };

/// The rows of a page of a table that may have some in former places.
pub(crate) fn rows<'s>(
    snapshot: &'s dyn Snapshot,
    former: &'s dyn Former,
    source: Source<'s>,
    request: &PageRequest<'_>,
) -> Result<RowIterator<'s>, Error> {
    if source.table.swept.is_all(snapshot.version()) {
        return Ok(request.range.rows(snapshot, source.space(), request.direction));
    }
    let mut gathering = Gathering {
        snapshot,
        former,
        source,
        wanted: &request.range,
        direction: request.direction,
        candidates: Candidates::new(request.direction, request.limit, PAGE_BYTES_MAX),
        own: None,
    };
    gathering.gather(request)?;
    let own: RowIterator<'s> = match gathering.own.take() {
        Some(rows) => Box::new(rows.into_iter().map(Ok)),
        None => Box::new(
            request
                .range
                .rows(snapshot, source.space(), request.direction)
                .filter(move |row| !is_elsewhere(former, source, row)),
        ),
    };
    Ok(Box::new(Merged {
        own: own.peekable(),
        renewed: gathering.candidates.into_rows().into_iter().peekable(),
        direction: request.direction,
    }))
}

/// Finds the rows in former places that a scan from the beginning of the table will need.
pub(super) fn look_ahead(snapshot: &dyn Snapshot, former: &dyn Former, table: &Table) -> Result<(), Error> {
    let all = Range::prefix(table.id.0.to_be_bytes().to_vec());
    let gathering = Gathering {
        snapshot,
        former,
        source: Source { table, index: None },
        wanted: &all,
        direction: Direction::Forward,
        candidates: Candidates::new(Direction::Forward, Some(0), PAGE_BYTES_MAX),
        own: None,
    };
    table.windows.from(&gathering, &all.start).map(drop)
}

/// Whether a row is in a former place: it is listed in its own. Unreadable rows are reported by the read that
/// shows them.
fn is_elsewhere(former: &dyn Former, source: Source<'_>, row: &Result<(Bytes, Bytes), StoreError>) -> bool {
    let Ok((place, _)) = row else { return false };
    let Some(key) = source.table_key_bytes(place) else {
        return false;
    };
    // For most keys this is decided without decoding them.
    layout::key_parts(key).is_some_and(|(hash, range)| former.may_be_former(hash, range))
        && layout::key_attributes(&source.table.key, key).is_some_and(|key| former.is_former(&key))
}

/// The search for rows in former places that belong to a page.
pub(super) struct Gathering<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    former: &'a dyn Former,
    pub(super) source: Source<'a>,
    /// The page's own places: those after the bookmark that the request selects.
    wanted: &'a Range,
    direction: Direction,
    candidates: Candidates,
    /// All of the page's rows in their own places, if the search passed all of them.
    own: Option<Vec<(Bytes, Bytes)>>,
}

impl Gathering<'_> {
    fn gather(&mut self, request: &PageRequest<'_>) -> Result<(), Error> {
        let name = self.source.index.map(|index| index.name.as_str());
        let sources = self.former.sources(name, request.selection);
        let parts: Vec<(Range, bool)> = sources
            .ranges
            .iter()
            .filter_map(|part| self.unswept(part))
            .collect();
        if !sources.same && !sources.everywhere && parts.is_empty() {
            return Ok(());
        }
        super::count_look(self.former);
        if sources.everywhere {
            return match self.direction {
                Direction::Forward => self.through_windows(),
                Direction::Reverse => self.everywhere(),
            };
        }
        if let Some(index) = self.source.index.filter(|_| sources.same) {
            self.own = Some(Vec::new());
            self.same(index)?;
        }
        // Rows in other parts of the index were passed already, if they belong to the page.
        let own = self.own.take();
        for (range, ordered) in parts {
            self.part(range, ordered)?;
        }
        self.own = own;
        Ok(())
    }

    /// A part of the table or index in the former layout, and whether it has the order of own places; `None`
    /// if it has no row any more.
    fn unswept(&self, part: &FormerRange) -> Option<(Range, bool)> {
        let Source { table, index } = self.source;
        let range = match index {
            Some(index) => range::in_index(index.id, &part.selection),
            None => range::in_table(table.id, &part.selection).filter(|range| !self.is_swept(range)),
        };
        Some((range?, part.ordered))
    }

    /// Whether the sweep has finished a partition of the table.
    fn is_swept(&self, partition: &Range) -> bool {
        let (Bound::Included(start) | Bound::Excluded(start)) = &partition.start else {
            return false;
        };
        let hash = start
            .get(layout::TABLE_BYTES..)
            .map(|place| ItemKey(place.to_vec()).hash());
        hash.is_some_and(|hash| hash < self.swept_before())
    }

    /// No row before this hash is in a former place.
    fn swept_before(&self) -> u64 {
        self.source.table.swept.before(self.snapshot.version())
    }

    /// The part of the table that may have rows in former places.
    pub(super) fn unswept_rows(&self) -> Range {
        let table = self.source.table.id.0.to_be_bytes();
        let mut rows = Range::prefix(table.to_vec());
        rows.start = Bound::Included([&table[..], &self.swept_before().to_be_bytes()].concat());
        rows
    }

    /// Goes through the rows in the order of their own places, which is read from storage unless it is known.
    fn through_windows(&mut self) -> Result<(), Error> {
        let mut start = self.wanted.start.clone();
        let mut table = Neighbours::new(self.snapshot);
        loop {
            let window = self.source.table.windows.from(self, &start)?;
            for (own, former) in window.rows(&start) {
                if self.candidates.is_full() || !self.wanted.contains(own) {
                    return Ok(());
                }
                // The row may have been moved or removed since.
                if let Some(bytes) = table.get(former).map_err(internal)? {
                    self.take(Renewed::of(self.former, &bytes)?)?;
                }
            }
            match window.next() {
                Some(next) if self.wanted.contains(next) => start = Bound::Excluded(next.to_vec()),
                _ => return Ok(()),
            }
        }
    }

    /// The own place of a row of the table, in the table or index that is read, if the row is in a former
    /// place.
    pub(super) fn own_place(&self, former: &[u8], row: &Bytes) -> Result<Option<Vec<u8>>, Error> {
        let table = self.source.table;
        let key = layout::key_attributes(
            &table.key,
            layout::behind(former, layout::TABLE_BYTES, "own place")?,
        );
        let belongs = key.map_or(Belongs::Elsewhere, |key| self.former.belongs(&key));
        let key = match belongs {
            Belongs::Here => return Ok(None),
            Belongs::At(key) if self.source.index.is_none() => ItemKey::of(&table.key, &key),
            _ => None,
        };
        match key {
            Some(key) => Ok(Some(key.in_table(table.id))),
            None => Renewed::of(self.former, row)?.place(self.source),
        }
    }

    /// Reads every row of the table that may be in a former place.
    fn everywhere(&mut self) -> Result<(), Error> {
        for row in self
            .unswept_rows()
            .rows(self.snapshot, Space::Items, Direction::Forward)
        {
            let (place, bytes) = row.map_err(internal)?;
            let own = self.own_place(&place, &bytes)?;
            if own.is_some_and(|own| self.wanted.contains(&own) && self.candidates.wants(&own)) {
                self.take(Renewed::of(self.former, &bytes)?)?;
            }
        }
        Ok(())
    }

    /// Reads the same part of the index. Rows with equal index keys are in the order of the table's keys,
    /// which changes, so each group of such rows is read completely.
    fn same(&mut self, index: &Index) -> Result<(), Error> {
        let part = whole_groups(index, self.wanted);
        for row in part.rows(self.snapshot, Space::Index, self.direction) {
            let (place, bytes) = row.map_err(internal)?;
            let group = layout::index_group(&index.key, &place).unwrap_or(&place);
            let past = self
                .candidates
                .farthest()
                .is_some_and(|far| !far.starts_with(group));
            if past && self.candidates.is_full() {
                // Rows in their own places may follow.
                self.own = None;
                break;
            }
            self.consider(&place, bytes, Some(group))?;
        }
        Ok(())
    }

    /// Reads a part of the table or index in the former layout.
    fn part(&mut self, range: Range, ordered: bool) -> Result<(), Error> {
        let range = if ordered { self.resumed(range) } else { range };
        for row in range.rows(self.snapshot, self.source.space(), self.direction) {
            let (place, bytes) = row.map_err(internal)?;
            let goes_on = self.consider(&place, bytes, None)?;
            if ordered && !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// The part, after the bookmark, of a range in the order of own places.
    fn resumed(&self, range: Range) -> Range {
        let forward = self.direction == Direction::Forward;
        let bookmark = if forward {
            &self.wanted.start
        } else {
            &self.wanted.end
        };
        let Bound::Excluded(bookmark) = bookmark else {
            return range;
        };
        let Source { table, index } = self.source;
        let own = bookmark.get(4..).map(|place| ItemKey(place.to_vec()));
        let before = own.and_then(|own| former_place(self.former, table, &own));
        match before.map(|before| before.in_table(table.id)) {
            Some(before) if index.is_none() && range.contains(&before) => range.after(before, forward),
            _ => range,
        }
    }

    /// Adds a row if it is in a former place and belongs to the page. Returns whether later rows might.
    /// `group` is the prefix of its place in the index, if that does not change.
    fn consider(&mut self, place: &Bytes, row: Bytes, group: Option<&[u8]>) -> Result<bool, Error> {
        let Source { table, index } = self.source;
        if index.is_none_or(Index::projects_all) {
            match lies(self.former, &row) {
                Lies::Here => return Ok(self.come_across(place, row)),
                Lies::Elsewhere(renewed) => return self.take(renewed),
                Lies::Untold => {}
            }
        }
        let key = self.source.table_key_at(place);
        let key =
            key.ok_or_else(|| internal("a row has no key; run `trestle verify` on the data directory"))?;
        let own = match self.former.belongs(&key) {
            Belongs::Here => return Ok(self.come_across(place, row)),
            Belongs::At(own) => ItemKey::of(&table.key, &own),
            Belongs::Elsewhere => None,
        };
        let own = match (own, index, group) {
            (Some(own), None, _) => Some(own.in_table(table.id)),
            (Some(own), Some(_), Some(group)) => Some([group, &own.0].concat()),
            _ => None,
        };
        // Rows that the page cannot show need not be renewed.
        if let Some(own) = own {
            if !self.wanted.contains(&own) {
                return Ok(true);
            }
            if !self.candidates.wants(&own) {
                return Ok(false);
            }
        }
        let renewed = match index.filter(|index| !index.projects_all()) {
            Some(_) => Renewed::of(self.former, &self.row_behind(&key)?),
            None => Renewed::of(self.former, &row),
        };
        self.take(renewed?)
    }

    /// Keeps a row that is in its own place, unless there are too many. Later rows might belong to the page.
    fn come_across(&mut self, place: &Bytes, row: Bytes) -> bool {
        let is_wanted = self.wanted.contains(place);
        if let Some(own) = &mut self.own
            && is_wanted
        {
            own.push((place.clone(), row));
        }
        self.own = self.own.take().filter(|own| own.len() <= OWN_ROWS_MAX);
        true
    }

    /// The complete row of an index row.
    fn row_behind(&self, key: &Item) -> Result<Bytes, Error> {
        let table = self.source.table;
        let place = ItemKey::of(&table.key, key).map(|key| key.in_table(table.id));
        let bytes = match place {
            Some(place) => self.snapshot.get(Space::Items, &place).map_err(internal)?,
            None => None,
        };
        bytes.ok_or_else(|| internal("an index row has no item; run `trestle verify` on the data directory"))
    }

    /// Adds a row from a former place, if it belongs to the page. Returns whether later rows might.
    fn take(&mut self, renewed: Renewed) -> Result<bool, Error> {
        let place = renewed.place(self.source)?;
        let Some(place) = place.filter(|place| self.wanted.contains(place)) else {
            return Ok(true);
        };
        let is_wanted = self.candidates.wants(&place);
        if is_wanted {
            let row = match self.source.index.filter(|index| !index.projects_all()) {
                Some(index) => renewed.projected(self.source.table, index)?,
                None => renewed.stored,
            };
            self.candidates.add(place, Bytes::from(row)).map_err(internal)?;
        }
        Ok(is_wanted)
    }
}

/// The range extended to complete groups of equal index keys at its ends.
fn whole_groups(index: &Index, range: &Range) -> Range {
    let group = |place: &[u8]| layout::index_group(&index.key, place).map(<[u8]>::to_vec);
    let start = match &range.start {
        Bound::Excluded(place) => group(place).map(Bound::Included),
        _ => None,
    };
    let end = match &range.end {
        Bound::Excluded(place) => group(place)
            .and_then(|group| key::after_prefix(&group))
            .map(Bound::Excluded),
        _ => None,
    };
    Range {
        start: start.unwrap_or_else(|| range.start.clone()),
        end: end.unwrap_or_else(|| range.end.clone()),
    }
}

/// Merges rows in their own places and rows from former ones.
struct Merged<'s> {
    own: Peekable<RowIterator<'s>>,
    renewed: Peekable<std::vec::IntoIter<(Bytes, Bytes)>>,
    direction: Direction,
}

impl Iterator for Merged<'_> {
    type Item = Result<(Bytes, Bytes), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_renewed_next = match (self.own.peek(), self.renewed.peek()) {
            (_, None) | (Some(Err(_)), _) => false,
            (None, Some(_)) => true,
            (Some(Ok((own, _))), Some((renewed, _))) => match self.direction {
                Direction::Forward => renewed < own,
                Direction::Reverse => renewed > own,
            },
        };
        if is_renewed_next {
            return self.renewed.next().map(Ok);
        }
        let own = self.own.next();
        if let Some(Ok((place, _))) = &own {
            // The row in its own place is newer.
            self.renewed.next_if(|(renewed, _)| renewed == place);
        }
        own
    }
}
