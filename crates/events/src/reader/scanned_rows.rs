//! Rows that were read with `Scan`, held until they can be handed over in order with the changes.
//!
//! At an endpoint, rows and the position of a stream cannot be read at the same moment. So a page is held
//! after it was read, and the route continues to get changes. A change of a held row replaces the row. The
//! page is handed over when no earlier change can follow any more: every shard has been read beyond the time
//! at which the page was read, and the route has durably finished these changes. The remaining rows are then
//! newer than every change before them, and older than every change after them, also after a crash.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use trestle_env::Timestamp;
use trestle_item::{codec, size};

use super::walk::{ReadPoint, ShardPosition};
use crate::backfill::{RowMark, RowsToHand};
use crate::live::ReadChange;
use crate::record;
use crate::row_source::ScanSettings;
use crate::rows::RowPlace;
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;
use crate::{Change, ChangeEvent, Maintenance};

/// The most rows that are held.
const ROWS_MAX: usize = 50_000;
/// The most bytes of rows that are held.
const BYTES_MAX: usize = 32 << 20;
/// This many consecutive responses without a record mean that a shard has been read to its end: an endpoint
/// may return parts of a shard without records although there are later ones.
const EMPTY_ANSWERS: u32 = 3;

/// The rows that are held for a route, and how far its shards have been read since.
pub(super) struct ScannedRows {
    settings: ScanSettings,
    /// The names of the table's key attributes, once they are known.
    pub(super) key: Option<Vec<String>>,
    pages: VecDeque<ScannedPage>,
    /// The rows of all pages, by their number.
    rows: BTreeMap<u64, HeldRow>,
    /// The number of each item's row.
    numbers: HashMap<Vec<u8>, u64>,
    bytes: usize,
    shards: HashMap<Arc<ShardName>, ShardReading>,
}

/// When a page was read, and the conditions for handing it over.
struct ScannedPage {
    /// The time of the response, by the clock of this process.
    read: Timestamp,
    /// The records of earlier writes have no later time than this.
    records_up_to: Timestamp,
    /// The shards that have been read beyond it, each with its position at that moment.
    beyond: HashMap<Arc<ShardName>, Option<SequenceNumber>>,
    /// Changes after the rows were read that they contain.
    contained: HashMap<Arc<ShardName>, SequenceNumber>,
    end: RowPlace,
}

struct HeldRow {
    read: ReadChange,
    item: Vec<u8>,
    /// A change was handed over that includes the row.
    is_told: bool,
}

/// How far a shard has been read since the backfill began.
#[derive(Default)]
struct ShardReading {
    /// The latest time of a record.
    records_up_to: Timestamp,
    /// Consecutive responses without records.
    empty_answers: u32,
    /// When the last of them was requested.
    asked: Timestamp,
}

impl ShardReading {
    /// Whether all changes before a page have been read.
    fn is_beyond(&self, page: &ScannedPage, settings: &ScanSettings) -> bool {
        let is_at_end =
            self.empty_answers >= EMPTY_ANSWERS && self.asked >= page.read.plus(settings.stream_delay);
        is_at_end || self.records_up_to > page.records_up_to
    }
}

fn item_name(change: &Change) -> Vec<u8> {
    codec::encode(change.item_key())
}

impl ScannedRows {
    pub(super) fn new(settings: ScanSettings) -> Self {
        Self {
            settings,
            key: None,
            pages: VecDeque::new(),
            rows: BTreeMap::new(),
            numbers: HashMap::new(),
            bytes: 0,
            shards: HashMap::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(super) fn has_room(&self) -> bool {
        self.rows.len() < ROWS_MAX && self.bytes < BYTES_MAX
    }

    /// Holds a page that was just read.
    pub(super) fn hold(&mut self, rows: Vec<(u64, ReadChange)>, end: RowPlace, now: Timestamp) {
        for (number, read) in rows {
            let item = item_name(&read.typed.change);
            // A walk that restarted may read a row a second time: the second version is not older.
            if let Some(before) = self.numbers.insert(item.clone(), number) {
                self.drop_row(before);
            }
            self.bytes += read.bytes;
            let is_told = false;
            self.rows.insert(number, HeldRow { read, item, is_told });
        }
        self.pages.push_back(ScannedPage {
            read: now,
            records_up_to: self.settings.records_up_to(now),
            beyond: HashMap::new(),
            contained: HashMap::new(),
            end,
        });
    }

    fn drop_row(&mut self, number: u64) -> Option<HeldRow> {
        let row = self.rows.remove(&number)?;
        self.bytes = self.bytes.saturating_sub(row.read.bytes);
        Some(row)
    }

    /// The walk restarts: the positions held so far are invalid.
    pub(super) fn forget_places(&mut self, layout: &str) {
        for page in &mut self.pages {
            page.end.begin_again(layout);
        }
    }

    /// A response to a request at the time `asked` had no record.
    pub(super) fn found_nothing(&mut self, shard: &Arc<ShardName>, asked: Timestamp) {
        let reading = self.shards.entry(Arc::clone(shard)).or_default();
        reading.empty_answers += 1;
        reading.asked = asked;
    }

    /// A shard is read from a different position than before.
    pub(super) fn lost_place(&mut self, shard: &Arc<ShardName>) {
        self.shards.remove(shard);
    }

    /// The route is given these changes; `is_taken` returns which of them are for it.
    pub(super) fn given(
        &mut self,
        shard: &Arc<ShardName>,
        changes: &[ReadChange],
        is_taken: impl Fn(&ReadChange) -> bool,
    ) {
        if changes.is_empty() {
            return;
        }
        let times = changes.iter().map(|read| read.typed.change.at);
        let reading = self.shards.entry(Arc::clone(shard)).or_default();
        reading.records_up_to = times.max().unwrap_or_default().max(reading.records_up_to);
        reading.empty_answers = 0;
        for read in changes {
            self.changed(shard, read, &is_taken);
        }
    }

    /// Handles a change of a held row. It replaces the row; if it is not for the route, the row is updated to
    /// the state after the change.
    fn changed(
        &mut self,
        shard: &Arc<ShardName>,
        read: &ReadChange,
        is_taken: &impl Fn(&ReadChange) -> bool,
    ) {
        if self.numbers.is_empty() {
            return;
        }
        let change = &read.typed.change;
        let is_removal = matches!(change.event, ChangeEvent::Remove | ChangeEvent::Expire);
        let is_move = change.maintenance == Some(Maintenance::Move);
        let Some(number) = self.numbers.get(&item_name(change)).copied() else {
            return;
        };
        let Some(row) = self.rows.get_mut(&number) else {
            debug_assert!(false, "a row that has a number is held");
            return;
        };
        if is_taken(read) {
            row.is_told = true;
            return;
        }
        if is_removal {
            // A moving row is removed at its former key, but still exists.
            row.is_told |= !is_move;
            return;
        }
        let Some(later) = record::row_after(&row.read.typed.change, change) else {
            return;
        };
        let bytes = later.new.as_ref().map_or(0, size::of_item);
        self.bytes = self.bytes.saturating_sub(row.read.bytes) + bytes;
        row.is_told = false;
        row.read = ReadChange::new(later, bytes);
        let page = self.pages.iter_mut().find(|page| number <= page.end.rows);
        if let Some(page) = page {
            page.contained.insert(Arc::clone(shard), read.sequence.clone());
        }
    }

    /// Records which of the open shards have been read beyond which page.
    pub(super) fn note_beyond(&mut self, open: &[ReadPoint]) {
        for page in &mut self.pages {
            for (shard, position) in open {
                let reading = self.shards.get(shard);
                let is_beyond = reading.is_some_and(|reading| reading.is_beyond(page, &self.settings));
                if is_beyond && !page.beyond.contains_key(shard) {
                    let position = match position {
                        ShardPosition::After(sequence) => Some(sequence.clone()),
                        ShardPosition::TrimHorizon | ShardPosition::Latest | ShardPosition::End => None,
                    };
                    page.beyond.insert(Arc::clone(shard), position);
                }
            }
        }
    }

    /// Whether the streams must be described again before the first page can be handed over: there may be new
    /// shards.
    pub(super) fn needs_look(&self, looked: Timestamp, now: Timestamp) -> bool {
        let due = |page: &ScannedPage| page.read.plus(self.settings.stream_delay);
        let due = self.pages.front().map(due);
        due.is_some_and(|due| looked < due && due <= now)
    }

    /// Whether the first page can be handed over: all open shards, as described at that time, have been read
    /// beyond it, and the changes read are done.
    pub(super) fn is_settled(
        &self,
        open: &[ReadPoint],
        looked: Timestamp,
        has_passed: impl Fn(&ShardName, &SequenceNumber) -> bool,
    ) -> bool {
        let Some(page) = self.pages.front() else {
            return false;
        };
        let is_done = |(shard, position): (&Arc<ShardName>, &Option<SequenceNumber>)| {
            position
                .as_ref()
                .is_none_or(|sequence| has_passed(shard, sequence))
        };
        let mut contained = page.contained.iter();
        looked >= page.read.plus(self.settings.stream_delay)
            && open.iter().all(|(shard, _)| page.beyond.contains_key(shard))
            && page.beyond.iter().all(is_done)
            && contained.all(|(shard, sequence)| has_passed(shard, sequence))
    }

    /// Takes the first page out.
    pub(super) fn release(&mut self) -> Option<RowsToHand> {
        let page = self.pages.pop_front()?;
        let mut rows = Vec::new();
        while let Some((number, _)) = self.rows.first_key_value()
            && *number <= page.end.rows
        {
            let number = *number;
            let Some(row) = self.drop_row(number) else { break };
            self.numbers.remove(&row.item);
            if !row.is_told {
                rows.push((number, row.read));
            }
        }
        Some(RowsToHand {
            rows,
            mark: RowMark::Settled,
            end: page.end,
        })
    }
}

#[cfg(test)]
#[path = "scanned_rows_tests.rs"]
mod tests;
