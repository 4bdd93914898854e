//! Rows that were read with `Scan`, until they can be handed over in order with the changes.
//!
//! Rows and the position of a stream cannot be read at one moment at an endpoint. So a page is held after it was read, and the
//! route goes on being given changes. A change of a row that is held tells more than the row. The page is handed over when no
//! change from before it can follow any more: every shard has been read beyond the time at which the page was read, and the
//! route is done with what was read up to there, durably. The rows that no change has told of are then newer than every
//! change before them, and older than every change behind them, also after a crash.

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
/// So many answers without a record, one after another, tell that a shard has been read to its end: an endpoint may answer
/// some parts of a shard without records though there are later ones.
const EMPTY_ANSWERS: u32 = 3;

/// The rows that are held for a route, and how far its shards have been read meanwhile.
pub(super) struct ScannedRows {
    settings: ScanSettings,
    /// The names of the table's key attributes, once they are known.
    pub(super) key: Option<Vec<String>>,
    pages: VecDeque<ScannedPage>,
    /// By their number, those of all pages.
    rows: BTreeMap<u64, HeldRow>,
    /// The number of each item's row.
    numbers: HashMap<Vec<u8>, u64>,
    bytes: usize,
    shards: HashMap<Arc<ShardName>, ShardReading>,
}

/// When a page was read, and what it waits for.
struct ScannedPage {
    /// It was there then, by the clock of this process.
    read: Timestamp,
    /// The records of what was written before are not dated later.
    records_up_to: Timestamp,
    /// The shards that have been read beyond it, each with the position then.
    beyond: HashMap<Arc<ShardName>, Option<SequenceNumber>>,
    /// Changes that its rows contain since they were read.
    contained: HashMap<Arc<ShardName>, SequenceNumber>,
    end: RowPlace,
}

struct HeldRow {
    read: ReadChange,
    item: Vec<u8>,
    /// A change that was handed over tells all that the row does.
    is_told: bool,
}

/// How far a shard has been read since the backfill began.
#[derive(Default)]
struct ShardReading {
    /// The latest time of a record.
    records_up_to: Timestamp,
    /// Answers without records, one after another.
    empty_answers: u32,
    /// When the last of them was asked for.
    asked: Timestamp,
}

impl ShardReading {
    /// Whether everything from before a page has been read.
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

    /// Holds a page that was read just now.
    pub(super) fn hold(&mut self, rows: Vec<(u64, ReadChange)>, end: RowPlace, now: Timestamp) {
        for (number, read) in rows {
            let item = item_name(&read.typed.change);
            // A walk that began again may come to a row a second time: this time it is not older.
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

    /// The walk begins again: no place that is held is one any more.
    pub(super) fn forget_places(&mut self, layout: &str) {
        for page in &mut self.pages {
            page.end.begin_again(layout);
        }
    }

    /// There was no record in an answer that was asked for then.
    pub(super) fn found_nothing(&mut self, shard: &Arc<ShardName>, asked: Timestamp) {
        let reading = self.shards.entry(Arc::clone(shard)).or_default();
        reading.empty_answers += 1;
        reading.asked = asked;
    }

    /// A shard is read from another position than where it was left.
    pub(super) fn lost_place(&mut self, shard: &Arc<ShardName>) {
        self.shards.remove(shard);
    }

    /// The route is given these changes; `is_taken` says which of them are for it.
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

    /// A change of a row that is held tells all that the row does, unless it is not for the route: then the row is as it was
    /// left by the change.
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
            // A row that moves is removed at its former key, and is there.
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

    /// Notes which of the open shards have been read beyond which page.
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

    /// Whether the streams have to be looked at before the first page can be handed over: shards may have come.
    pub(super) fn needs_look(&self, looked: Timestamp, now: Timestamp) -> bool {
        let due = |page: &ScannedPage| page.read.plus(self.settings.stream_delay);
        let due = self.pages.front().map(due);
        due.is_some_and(|due| looked < due && due <= now)
    }

    /// Whether the first page can be handed over: all open shards have been read beyond it, as of a look at the streams then,
    /// and what was read is done.
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
