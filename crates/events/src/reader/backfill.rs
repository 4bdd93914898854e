//! Reads the rows of a route's table, a page at a time, coordinated with its reading of the stream.
//!
//! If possible, a page is read together with the position of the stream at that moment, its mark. It is held
//! until the route has been given every change up to the mark in every shard; meanwhile no shard is read
//! beyond the mark. Then the rows are handed over, followed by the changes after the mark: so for each item,
//! a row comes after the changes that it contains and before the others. Rows of an endpoint are read without
//! a mark and are held in a different way (`scanned_rows.rs`).

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use trestle_api::RowPage;
use trestle_env::Timestamp;
use trestle_item::{Item, size};

use super::scanned_rows::ScannedRows;
use super::walk::ShardPosition;
use crate::Typer;
use crate::backfill::{RowMark, RowsToHand, StreamPosition};
use crate::live::{Live, ReadChange};
use crate::record::{self, BackfilledRow};
use crate::row_source::RowReading;
use crate::rows::{BackfillRow, RowPlace};
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// The most rows on a page.
const PAGE_ROWS_MAX: u32 = 1_000;
/// Represents the order of rows after a walk over an endpoint has restarted.
const MOVED: &str = "moved";
/// With a rate, this many pages are read per second, if they are large enough.
const PAGES_A_SECOND: u32 = 10;

/// The position of a route among the rows of its table.
pub(crate) struct BackfillWalk {
    id: String,
    /// The position after the last page.
    place: RowPlace,
    rate: Option<u32>,
    /// The next page is not read before this time.
    due: Timestamp,
    held: Held,
}

/// Pages that were read and cannot be handed over yet.
enum Held {
    /// A page with a mark.
    AtMark(Option<HeldPage>),
    /// Pages without one.
    Scanned(Box<ScannedRows>),
}

/// A page that waits until the route has been given everything up to its mark.
struct HeldPage {
    rows: Vec<(u64, ReadChange)>,
    mark: SequenceNumber,
    /// The shards in which the route has reached the mark.
    reached: HashSet<Arc<ShardName>>,
    end: RowPlace,
}

/// A page of rows of the walk.
pub(super) struct WalkedPage<'p> {
    pub(super) rows: Vec<Item>,
    /// The names of the table's key attributes.
    pub(super) key: &'p [String],
    /// The key after which the next page begins; `None` if this is the last.
    pub(super) next: Option<Item>,
}

/// The part of the changes read in a shard that a route is given now.
pub(super) struct Portion {
    /// The number of changes.
    pub(super) changes: usize,
    /// The position after them.
    pub(super) next: ShardPosition,
}

impl BackfillWalk {
    /// The walk of a running backfill, from its stored position.
    pub(crate) fn of(row: &BackfillRow, rows: &RowReading) -> Option<Self> {
        row.is_running().then(|| Self {
            id: row.id.clone(),
            place: row.place.clone(),
            rate: row.rate,
            due: Timestamp::EPOCH,
            held: match rows {
                RowReading::AtOneMoment(_) => Held::AtMark(None),
                RowReading::Scanned(settings) => Held::Scanned(Box::new(ScannedRows::new(settings.clone()))),
            },
        })
    }

    /// The rows that are held without a mark.
    pub(super) fn scanned(&mut self) -> Option<&mut ScannedRows> {
        match &mut self.held {
            Held::AtMark(_) => None,
            Held::Scanned(rows) => Some(rows),
        }
    }

    fn held_at_mark(&mut self) -> Option<&mut HeldPage> {
        match &mut self.held {
            Held::AtMark(page) => page.as_mut(),
            Held::Scanned(_) => None,
        }
    }

    /// The key after which the next page begins, and its maximum number of rows.
    pub(super) fn request(&self) -> (Option<&Item>, u32) {
        let limit = self.rate.map_or(PAGE_ROWS_MAX, |rate| {
            (rate / PAGES_A_SECOND).clamp(1, PAGE_ROWS_MAX)
        });
        (self.place.after.as_ref(), limit)
    }

    /// When the next page should be read; `None` while enough is held, or after the last page.
    pub(super) fn due(&self) -> Option<Timestamp> {
        let has_room = match &self.held {
            Held::AtMark(page) => page.is_none(),
            Held::Scanned(rows) => rows.has_room(),
        };
        (has_room && !self.place.is_end).then_some(self.due)
    }

    /// Delays the next page until this time.
    pub(super) fn postpone(&mut self, until: Timestamp) {
        self.due = until;
    }

    pub(super) fn has_ended(&self) -> bool {
        let is_empty = match &self.held {
            Held::AtMark(page) => page.is_none(),
            Held::Scanned(rows) => rows.is_empty(),
        };
        is_empty && self.place.is_end
    }

    /// Whether the page has the same order of rows as the previous ones.
    pub(super) fn fits(&self, page: &RowPage) -> bool {
        self.place.layout.as_ref() == Some(&page.layout)
    }

    /// The order of rows has changed: the walk restarts, and rows may be delivered twice.
    pub(super) fn begin_again(&mut self, layout: &str) {
        self.place.begin_again(layout);
    }

    /// The order of the rows of an endpoint has changed, as shown by records of moving rows or by a refused
    /// key. This is stored with the next position, so that the walk restarts only once.
    pub(super) fn begin_scan_again(&mut self, live: &Live) {
        self.begin_again(MOVED);
        if let Held::Scanned(rows) = &mut self.held {
            rows.forget_places(MOVED);
        }
        live.forget_row_places(MOVED);
    }

    /// Whether the walk has restarted because rows move.
    pub(super) fn has_begun_again(&self) -> bool {
        self.place.layout.as_deref() == Some(MOVED)
    }

    /// Holds a page until its mark is reached.
    pub(super) fn hold(&mut self, page: RowPage, table: &Arc<str>, typer: &dyn Typer, now: Timestamp) {
        let read = WalkedPage {
            rows: page.rows,
            key: &page.key,
            next: page.next,
        };
        let rows = self.walked(read, table, typer, now);
        self.held = Held::AtMark(Some(HeldPage {
            rows,
            mark: SequenceNumber::new(&page.mark),
            reached: HashSet::new(),
            end: self.place.clone(),
        }));
    }

    /// Holds a page that was read without a mark.
    pub(super) fn hold_scanned(
        &mut self,
        page: WalkedPage<'_>,
        table: &Arc<str>,
        typer: &dyn Typer,
        now: Timestamp,
    ) {
        let rows = self.walked(page, table, typer, now);
        let end = self.place.clone();
        if let Held::Scanned(held) = &mut self.held {
            held.hold(rows, end, now);
        }
    }

    /// Moves to the position after a page, and numbers its rows.
    fn walked(
        &mut self,
        page: WalkedPage<'_>,
        table: &Arc<str>,
        typer: &dyn Typer,
        now: Timestamp,
    ) -> Vec<(u64, ReadChange)> {
        let count = page.rows.len() as u64;
        let numbers = self.place.rows + 1..;
        let rows = numbers.zip(page.rows).map(|(number, row)| {
            let bytes = size::of_item(&row);
            let row = BackfilledRow {
                id: &self.id,
                number,
                at: now,
                key: page.key,
                row,
            };
            (
                number,
                ReadChange::new(record::row_change(row, table, typer), bytes),
            )
        });
        let rows = rows.collect();
        self.place.rows += count;
        self.place.is_end = page.next.is_none();
        self.place.after = page.next;
        if let Some(rate) = self.rate {
            let takes = Duration::from_secs_f64(count as f64 / f64::from(rate.max(1)));
            self.due = self.due.max(now).plus(takes);
        }
        rows
    }

    /// Whether a shard must not be read now, because the route has reached the mark.
    pub(super) fn stops(&self, shard: &Arc<ShardName>) -> bool {
        match &self.held {
            Held::AtMark(Some(page)) => page.reached.contains(shard),
            Held::AtMark(None) | Held::Scanned(_) => false,
        }
    }

    /// Whether a page is held, and the mark is reached in all these shards.
    pub(super) fn is_at_mark<'s>(&self, mut open: impl Iterator<Item = &'s Arc<ShardName>>) -> bool {
        match &self.held {
            Held::AtMark(Some(page)) => open.all(|shard| page.reached.contains(shard)),
            Held::AtMark(None) | Held::Scanned(_) => false,
        }
    }

    /// No more records were found in an open shard, by a request at the time `asked`.
    pub(super) fn found_nothing(&mut self, shard: &Arc<ShardName>, asked: Timestamp) {
        match &mut self.held {
            Held::AtMark(Some(page)) => {
                page.reached.insert(Arc::clone(shard));
            }
            Held::AtMark(None) => {}
            Held::Scanned(rows) => rows.found_nothing(shard, asked),
        }
    }

    /// How many of the changes read the route is given: none after the mark.
    pub(super) fn portion(
        &mut self,
        shard: &Arc<ShardName>,
        changes: &[ReadChange],
        next: &ShardPosition,
    ) -> Portion {
        let whole = Portion {
            changes: changes.len(),
            next: next.clone(),
        };
        let Some(page) = self.held_at_mark() else {
            return whole;
        };
        let up_to = changes.partition_point(|change| change.sequence <= page.mark);
        if up_to == changes.len() {
            return whole;
        }
        page.reached.insert(Arc::clone(shard));
        Portion {
            changes: up_to,
            next: ShardPosition::After(page.mark.clone()),
        }
    }

    /// Takes out the first page that is held.
    pub(super) fn release(
        &mut self,
        stream: Option<Arc<str>>,
        shards: Arc<[Arc<ShardName>]>,
    ) -> Option<RowsToHand> {
        let page = match &mut self.held {
            Held::AtMark(page) => page.take()?,
            Held::Scanned(rows) => return rows.release(),
        };
        Some(RowsToHand {
            rows: page.rows,
            mark: RowMark::At(StreamPosition {
                stream: stream.unwrap_or_else(|| "".into()),
                sequence: page.mark,
                shards,
            }),
            end: page.end,
        })
    }
}
