//! A page's rows while some lie in former places: one list in the order of own places, so that a bookmark means the same
//! before, during and after a move.

use std::iter::Peekable;
use std::ops::Bound;

use trestle_api::Error;
use trestle_hook::{Belongs, Former, FormerRange, Sources};
use trestle_item::{Item, codec, key, size};
use trestle_store::{Bytes, Direction, RowIterator, Snapshot, Space, StoreError};

use super::candidates::Candidates;
use super::count_look;
use super::find::{former_place, own_key};
use super::neighbours::Neighbours;
use crate::catalog::{Index, Table};
use crate::layout::{self, ItemKey};
use crate::page::{PAGE_BYTES_MAX, PageRequest, Source};
use crate::range::{self, Range};
use crate::shared::internal;

/// The rows of a page of a table that may have some in former places.
pub(crate) fn rows<'s>(
    snapshot: &'s dyn Snapshot,
    former: &'s dyn Former,
    source: Source<'s>,
    request: &PageRequest<'_>,
) -> Result<RowIterator<'s>, Error> {
    let mut gathering = Gathering {
        snapshot,
        former,
        source,
        wanted: &request.range,
        direction: request.direction,
        candidates: Candidates::new(request.direction, request.limit, PAGE_BYTES_MAX),
    };
    gathering.gather(request)?;
    let own = request
        .range
        .rows(snapshot, source.space(), request.direction)
        .filter(move |row| !is_elsewhere(former, source, row));
    Ok(Box::new(Merged {
        own: (Box::new(own) as RowIterator<'s>).peekable(),
        renewed: gathering.candidates.into_rows().into_iter().peekable(),
        direction: request.direction,
    }))
}

/// Finds out where rows lie that a scan of the table from its beginning will want.
pub(super) fn look_ahead(snapshot: &dyn Snapshot, former: &dyn Former, table: &Table) -> Result<(), Error> {
    let all = Range::prefix(table.id.0.to_be_bytes().to_vec());
    let gathering = Gathering {
        snapshot,
        former,
        source: Source { table, index: None },
        wanted: &all,
        direction: Direction::Forward,
        candidates: Candidates::new(Direction::Forward, Some(0), PAGE_BYTES_MAX),
    };
    table.windows.from(&gathering, &all.start).map(drop)
}

/// Whether a row lies in a former place: it is listed where it belongs. What cannot be read is left to whoever shows it.
fn is_elsewhere(former: &dyn Former, source: Source<'_>, row: &Result<(Bytes, Bytes), StoreError>) -> bool {
    let Ok((place, _)) = row else { return false };
    source
        .table_key_at(place)
        .is_some_and(|key| former.is_former(&key))
}

/// Looking for rows in former places that belong into a page.
pub(super) struct Gathering<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    former: &'a dyn Former,
    pub(super) source: Source<'a>,
    /// The page's own places: those behind the bookmark that the request selects.
    wanted: &'a Range,
    direction: Direction,
    candidates: Candidates,
}

impl Gathering<'_> {
    fn gather(&mut self, request: &PageRequest<'_>) -> Result<(), Error> {
        let name = self.source.index.map(|index| index.name.as_str());
        let sources = self.former.sources(name, request.selection);
        if sources == Sources::default() {
            return Ok(());
        }
        count_look(self.former);
        if sources.everywhere {
            return match self.direction {
                Direction::Forward => self.through_windows(),
                Direction::Reverse => self.everywhere(),
            };
        }
        if let Some(index) = self.source.index.filter(|_| sources.same) {
            self.same(index)?;
        }
        sources.ranges.iter().try_for_each(|part| self.part(part))
    }

    /// Goes through the rows in the order of their own places, which somebody has found out, or finds it out.
    fn through_windows(&mut self) -> Result<(), Error> {
        let mut start = self.wanted.start.clone();
        let mut table = Neighbours::new(self.snapshot);
        loop {
            let window = self.source.table.windows.from(self, &start)?;
            for (own, former) in window.rows(&start) {
                if self.candidates.is_full() || !self.wanted.contains(own) {
                    return Ok(());
                }
                // Gone if it has been moved or removed since.
                if let Some(bytes) = table.get(former).map_err(internal)? {
                    self.take(&bytes)?;
                }
            }
            match window.next() {
                Some(next) if self.wanted.contains(next) => start = Bound::Excluded(next.to_vec()),
                _ => return Ok(()),
            }
        }
    }

    /// The own place of a row of the table, in what is read, if the row lies in a former one.
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
            None => Ok(self.renewed(row)?.0),
        }
    }

    /// A row of the table as it will be, and its place in what is read.
    fn renewed(&self, row: &[u8]) -> Result<(Option<Vec<u8>>, Item), Error> {
        let row = self.former.renew(codec::decode(row).map_err(internal)?)?;
        let Source { table, index } = self.source;
        let own = own_key(table, &row)?;
        Ok(match index {
            None => (Some(own.in_table(table.id)), row),
            Some(index) => (layout::index_row(index.id, &index.key, &row, &own), row),
        })
    }

    /// Looks at every row of the table.
    fn everywhere(&mut self) -> Result<(), Error> {
        let table = self.source.table;
        let all = Range::prefix(table.id.0.to_be_bytes().to_vec());
        for row in all.rows(self.snapshot, Space::Items, Direction::Forward) {
            let (place, bytes) = row.map_err(internal)?;
            let own = self.own_place(&place, &bytes)?;
            if own.is_some_and(|own| self.wanted.contains(&own) && self.candidates.wants(&own)) {
                self.take(&bytes)?;
            }
        }
        Ok(())
    }

    /// Looks at the same part of the index. Rows with equal index keys are in the order of the table's keys, which
    /// changes: so each such group is looked at whole.
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
                break;
            }
            self.consider(&place, bytes, Some(group))?;
        }
        Ok(())
    }

    /// Looks at a part of the table or index in the former layout.
    fn part(&mut self, part: &FormerRange) -> Result<(), Error> {
        let range = match self.source.index {
            Some(index) => range::in_index(index.id, &part.selection),
            None => range::in_table(self.source.table.id, &part.selection),
        };
        let Some(range) = range else { return Ok(()) };
        let range = if part.ordered { self.resumed(range) } else { range };
        for row in range.rows(self.snapshot, self.source.space(), self.direction) {
            let (place, bytes) = row.map_err(internal)?;
            let goes_on = self.consider(&place, bytes, None)?;
            if part.ordered && !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// The part of a range in the order of own places that lies behind the bookmark.
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

    /// Takes in a row of what is read, if it lies in a former place and belongs into the page. Tells whether rows behind
    /// it might. `group` is what its place in the index begins with, if that stays.
    fn consider(&mut self, place: &[u8], row: Bytes, group: Option<&[u8]>) -> Result<bool, Error> {
        let Source { table, index } = self.source;
        let key = self.source.table_key_at(place);
        let key =
            key.ok_or_else(|| internal("a row has no key; run `trestle verify` on the data directory"))?;
        let own = match self.former.belongs(&key) {
            Belongs::Here => return Ok(true),
            Belongs::At(own) => ItemKey::of(&table.key, &own),
            Belongs::Elsewhere => None,
        };
        let own = match (own, index, group) {
            (Some(own), None, _) => Some(own.in_table(table.id)),
            (Some(own), Some(_), Some(group)) => Some([group, &own.0].concat()),
            _ => None,
        };
        // What the page cannot show need not be made anew.
        if let Some(own) = own {
            if !self.wanted.contains(&own) {
                return Ok(true);
            }
            if !self.candidates.wants(&own) {
                return Ok(false);
            }
        }
        match index.filter(|index| !index.projects_all()) {
            Some(_) => self.take(&self.row_behind(&key)?),
            None => self.take(&row),
        }
    }

    /// The whole row behind an index row.
    fn row_behind(&self, key: &Item) -> Result<Bytes, Error> {
        let table = self.source.table;
        let place = ItemKey::of(&table.key, key).map(|key| key.in_table(table.id));
        let bytes = match place {
            Some(place) => self.snapshot.get(Space::Items, &place).map_err(internal)?,
            None => None,
        };
        bytes.ok_or_else(|| internal("an index row has no item; run `trestle verify` on the data directory"))
    }

    /// Takes in a row from a former place, if it belongs into the page. Tells whether rows behind it might.
    fn take(&mut self, row: &[u8]) -> Result<bool, Error> {
        let (place, row) = self.renewed(row)?;
        let Some(place) = place.filter(|place| self.wanted.contains(place)) else {
            return Ok(true);
        };
        let is_wanted = self.candidates.wants(&place);
        if is_wanted {
            let row = match self.source.index.filter(|index| !index.projects_all()) {
                Some(index) => index.project(self.source.table, &row),
                None => row,
            };
            let bytes = Bytes::from(codec::encode(&row));
            self.candidates.add(place, bytes, size::of_item(&row));
        }
        Ok(is_wanted)
    }
}

/// The range with the groups of equal index keys at its ends made whole.
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

/// Rows in their own places and rows from former ones, in one order.
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
            // The row in its own place is the newer one.
            self.renewed.next_if(|(renewed, _)| renewed == place);
        }
        own
    }
}
