//! Checks the sequence of change records of each item: the newest leads to the current item, every other one
//! to the start of the next.
//!
//! A stream is read backwards, child shards before their parent. For every item, the state before its last
//! record read is remembered as a hash. A log with more items than may be remembered at once is read several
//! times, each time for a part of the items.

use std::collections::HashMap;

use trestle_item::{Item, codec, key};
use trestle_store::{Direction, Snapshot, Space, StoreError};

use super::DisagreementKind as Kind;
use super::changes;
use super::known::Known;
use super::report::{Found, Reporter};
use crate::catalog::{Stream, Table};
use crate::change_log::{Event, Recorded};
use crate::layout::ItemKey;
use crate::range::Range;

/// Items remembered at once: about 50 MB.
const ITEMS_AT_ONCE: u64 = 1_000_000;

pub(super) fn check(
    snapshot: &dyn Snapshot,
    known: &Known,
    records: u64,
    reporter: &mut Reporter<'_>,
) -> Result<(), StoreError> {
    if records == 0 {
        return Ok(());
    }
    let shares = records.div_ceil(ITEMS_AT_ONCE).max(1);
    reporter.walking("histories of items");
    for share in 0..shares {
        for stream in known.streams.values() {
            let table = known.tables.get(&stream.table);
            let history = History {
                snapshot,
                stream,
                // A closed stream has no records of later changes.
                table: table.filter(|table| stream.is_enabled() && table.stream == Some(stream.id)),
                share: (share, shares),
            };
            let mut later = HashMap::new();
            // Children first, because everything is read backwards.
            for shard in (0..stream.shard_count()).rev() {
                history.check_shard(shard, &mut later, reporter)?;
            }
        }
    }
    Ok(())
}

struct History<'a> {
    snapshot: &'a dyn Snapshot,
    stream: &'a Stream,
    table: Option<&'a Table>,
    share: (u64, u64),
}

/// The known state of an item at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Absent,
    /// It exists; its hash, if the record has its image.
    Present(Option<u64>),
}

impl State {
    fn of(image: Option<&Item>) -> Self {
        State::Present(image.map(|image| key::hash(&codec::encode(image))))
    }

    fn agrees(self, other: State) -> bool {
        match (self, other) {
            (State::Absent, State::Absent) => true,
            (State::Present(Some(one)), State::Present(Some(other))) => one == other,
            (State::Present(_), State::Present(_)) => true,
            _ => false,
        }
    }
}

impl History<'_> {
    /// `later` has the states before the records read so far.
    fn check_shard(
        &self,
        shard: u16,
        later: &mut HashMap<u128, State>,
        reporter: &mut Reporter<'_>,
    ) -> Result<(), StoreError> {
        let prefix = [&self.stream.id.0.to_be_bytes()[..], &shard.to_be_bytes()].concat();
        for row in Range::prefix(prefix).rows(self.snapshot, Space::Changes, Direction::Reverse) {
            let (place, value) = row?;
            reporter.row();
            // A record that cannot be read has been reported already.
            let Some((item_key, record)) = changes::read(self.stream, &value) else {
                continue;
            };
            let name = digest(&item_key);
            if name as u64 % self.share.1 != self.share.0 {
                continue;
            }
            let (before, after) = states(&record);
            let (next, what) = match later.get(&name) {
                Some(next) => (
                    Some(*next),
                    "the item's next change does not begin where this one ends",
                ),
                None => (
                    self.present(&item_key)?,
                    "the item is not as its newest change left it",
                ),
            };
            if next.is_some_and(|next| !after.agrees(next)) {
                let found = Found::new(Kind::WrongChange, Space::Changes, &place, what);
                reporter.found(found.table(&self.stream.table_name).item(&record.keys));
            }
            later.insert(name, before);
        }
        Ok(())
    }

    /// The current item, if the stream must lead to it.
    fn present(&self, item_key: &ItemKey) -> Result<Option<State>, StoreError> {
        let Some(table) = self.table else { return Ok(None) };
        let stored = self.snapshot.get(Space::Items, &item_key.in_table(table.id))?;
        Ok(Some(match stored {
            // An item has one stored form, so this is the hash of its image.
            Some(stored) => State::Present(Some(key::hash(&stored))),
            None => State::Absent,
        }))
    }
}

/// The item before and after the change.
fn states(record: &Recorded) -> (State, State) {
    let before = match record.event {
        Event::Insert => State::Absent,
        Event::Modify | Event::Remove => State::of(record.old.as_ref()),
    };
    let after = match record.event {
        Event::Remove => State::Absent,
        Event::Insert | Event::Modify => State::of(record.new.as_ref()),
    };
    (before, after)
}

/// Identifies an item in 16 bytes: the hash of its partition key with the hash of its whole key.
fn digest(item_key: &ItemKey) -> u128 {
    u128::from(item_key.hash()) << 64 | u128::from(key::hash(&item_key.0))
}
