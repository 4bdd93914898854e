//! A page's rows while some lie in former places: one list in the order of own places, so that a bookmark means the same
//! before, during and after a move.

use std::iter::Peekable;
use std::ops::Bound;

use trestle_api::Error;
use trestle_item::{Item, StoredItem, codec, key, size};
use trestle_store::{Bytes, Direction, Rows, Snapshot, Space, StoreError};

use super::candidates::Candidates;
use super::find::{former_place, own_key};
use super::{Former, FormerRange, Sources};
use crate::catalog::{Index, Table};
use crate::layout::{self, ItemKey};
use crate::page::{PAGE_BYTES_MAX, PageRequest, Source};
use crate::range::{self, Range};
use crate::shared::internal;

/// The rows of a page of a table that may have some in former places.
pub(crate) fn rows<'s>(
    snapshot: &'s dyn Snapshot,
    former: &'s dyn Former,
    source: Source<'_>,
    request: &PageRequest<'_>,
) -> Result<Rows<'s>, Error> {
    let mut gathering = Gathering {
        snapshot,
        former,
        table: source.table,
        index: source.index,
        wanted: &request.range,
        direction: request.direction,
        candidates: Candidates::new(request.direction, request.limit, PAGE_BYTES_MAX),
    };
    gathering.gather(request)?;
    let own = request
        .range
        .rows(snapshot, source.space(), request.direction)
        .filter(|row| !is_elsewhere(former, row));
    Ok(Box::new(Merged {
        own: (Box::new(own) as Rows<'s>).peekable(),
        renewed: gathering.candidates.into_rows().into_iter().peekable(),
        direction: request.direction,
    }))
}

/// Whether a row lies in a former place: it is listed where it belongs. What cannot be read is left to whoever shows it.
fn is_elsewhere(former: &dyn Former, row: &Result<(Bytes, Bytes), StoreError>) -> bool {
    let Ok((_, bytes)) = row else { return false };
    StoredItem::check(bytes).is_ok_and(|row| former.is_former(&row.decode()))
}

/// Looking for rows in former places that belong into a page.
pub(super) struct Gathering<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    former: &'a dyn Former,
    pub(super) table: &'a Table,
    pub(super) index: Option<&'a Index>,
    /// The page's own places: those behind the bookmark that the request selects.
    wanted: &'a Range,
    direction: Direction,
    candidates: Candidates,
}

impl Gathering<'_> {
    /// The number of what is read: the table, or its index.
    pub(super) fn owner(&self) -> u32 {
        self.index.map_or(self.table.id.0, |index| index.id.0)
    }

    fn gather(&mut self, request: &PageRequest<'_>) -> Result<(), Error> {
        let name = self.index.map(|index| index.name.as_str());
        let sources = self.former.sources(name, request.selection);
        if sources == Sources::default() {
            return Ok(());
        }
        self.former.looked();
        if sources.everywhere {
            return match self.direction {
                Direction::Forward => self.through_windows(),
                Direction::Reverse => self.everywhere(),
            };
        }
        if let Some(index) = self.index.filter(|_| sources.same) {
            self.same(index)?;
        }
        sources.ranges.iter().try_for_each(|part| self.part(part))
    }

    /// Goes through the rows in the order of their own places, which somebody has found out, or finds it out.
    fn through_windows(&mut self) -> Result<(), Error> {
        let mut start = self.wanted.start.clone();
        loop {
            let window = self.table.windows.from(self, &start)?;
            for (own, former) in window.rows(&start) {
                if self.candidates.is_full() || !self.wanted.contains(own) {
                    return Ok(());
                }
                // Gone if it has been moved or removed since.
                if let Some(bytes) = self.snapshot.get(Space::Items, former).map_err(internal)? {
                    self.consider(codec::decode(&bytes).map_err(internal)?)?;
                }
            }
            match window.next() {
                Some(next) if self.wanted.contains(next) => start = Bound::Excluded(next.to_vec()),
                _ => return Ok(()),
            }
        }
    }

    /// The own place of a row of the table, if it lies in a former one.
    pub(super) fn own_place(&self, row: &Item) -> Result<Option<Vec<u8>>, Error> {
        let Some(row) = self.former.renew(row)? else {
            return Ok(None);
        };
        let own = own_key(self.table, &row)?;
        Ok(match self.index {
            None => Some(own.in_table(self.table.id)),
            Some(index) => layout::index_row(index.id, &index.key, &row, &own),
        })
    }

    /// Looks at every row of the table.
    fn everywhere(&mut self) -> Result<(), Error> {
        let all = Range::prefix(self.table.id.0.to_be_bytes().to_vec());
        for row in all.rows(self.snapshot, Space::Items, Direction::Forward) {
            let (_, bytes) = row.map_err(internal)?;
            self.consider(codec::decode(&bytes).map_err(internal)?)?;
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
            self.consider_behind(&codec::decode(&bytes).map_err(internal)?)?;
        }
        Ok(())
    }

    /// Looks at a part of the table or index in the former layout.
    fn part(&mut self, part: &FormerRange) -> Result<(), Error> {
        let (range, space) = match self.index {
            Some(index) => (range::in_index(index.id, &part.selection), Space::Index),
            None => (range::in_table(self.table.id, &part.selection), Space::Items),
        };
        let Some(range) = range else { return Ok(()) };
        let range = if part.ordered { self.resumed(range) } else { range };
        for row in range.rows(self.snapshot, space, self.direction) {
            let (_, bytes) = row.map_err(internal)?;
            let row = codec::decode(&bytes).map_err(internal)?;
            let goes_on = match self.index {
                Some(_) => self.consider_behind(&row)?,
                None => self.consider(row)?,
            };
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
        let own = bookmark.get(4..).map(|place| ItemKey(place.to_vec()));
        let before = own.and_then(|own| former_place(self.former, self.table, &own));
        match before.map(|before| before.in_table(self.table.id)) {
            Some(before) if self.index.is_none() && range.contains(&before) => range.after(before, forward),
            _ => range,
        }
    }

    /// Takes in the row behind an index row, if it lies in a former place and belongs into the page. Tells whether rows
    /// behind it might.
    fn consider_behind(&mut self, row: &Item) -> Result<bool, Error> {
        if !self.former.is_former(row) {
            return Ok(true);
        }
        let place = ItemKey::of(&self.table.key, row).map(|key| key.in_table(self.table.id));
        let bytes = match place {
            Some(place) => self.snapshot.get(Space::Items, &place).map_err(internal)?,
            None => None,
        };
        let bytes = bytes.ok_or_else(|| {
            internal("an index row has no item; run `trestle verify` on the data directory")
        })?;
        self.consider(codec::decode(&bytes).map_err(internal)?)
    }

    /// Takes in a row of the table, if it lies in a former place and belongs into the page. Tells whether rows behind it
    /// might.
    fn consider(&mut self, row: Item) -> Result<bool, Error> {
        let Some(row) = self.former.renew(&row)? else {
            return Ok(true);
        };
        let own = own_key(self.table, &row)?;
        let (place, row) = match self.index {
            None => (Some(own.in_table(self.table.id)), row),
            Some(index) => {
                let place = layout::index_row(index.id, &index.key, &row, &own);
                (place, index.project(self.table, &row))
            }
        };
        let Some(place) = place.filter(|place| self.wanted.contains(place)) else {
            return Ok(true);
        };
        let is_wanted = self.candidates.wants(&place);
        if is_wanted {
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
    own: Peekable<Rows<'s>>,
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
