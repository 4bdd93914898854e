//! Checks each change record separately: readable, in its stream and shard, within its stream's sequence
//! numbers, with the images that the stream's view type requires.

use std::ops::Bound;

use trestle_api::StreamViewType;
use trestle_item::Item;
use trestle_store::{Direction, Snapshot, Space, StoreError};

use super::DisagreementKind as Kind;
use super::known::{Known, Owner, leading_id};
use super::report::{Found, Reporter};
use crate::catalog::Stream;
use crate::change_log::{self, Event, Recorded};
use crate::layout::{self, ItemKey, StreamId};

/// Walks all records; returns their number.
pub(super) fn check(
    snapshot: &dyn Snapshot,
    known: &Known,
    reporter: &mut Reporter<'_>,
) -> Result<u64, StoreError> {
    reporter.walking("change records");
    for row in snapshot.range(
        Space::Changes,
        Bound::Unbounded,
        Bound::Unbounded,
        Direction::Forward,
    ) {
        let (key, value) = row?;
        reporter.row();
        match leading_id(&key).map_or(Owner::None, |id| known.stream(StreamId(id))) {
            Owner::Known(stream) => {
                reporter.summary.change_records += 1;
                if let Err((kind, what)) = check_record(known, stream, &key, &value) {
                    let found = Found::new(kind, Space::Changes, &key, what);
                    reporter.found(found.table(&stream.table_name));
                }
            }
            Owner::Dropped => reporter.summary.rows_to_clear += 1,
            Owner::None => {
                let what = "a record of a stream that does not exist";
                reporter.found(Found::new(Kind::NoOwner, Space::Changes, &key, what));
            }
        }
    }
    Ok(reporter.summary.change_records)
}

/// The record's item and event; `None` if it cannot be read.
pub(super) fn read(stream: &Stream, value: &[u8]) -> Option<(ItemKey, Recorded)> {
    let record = change_log::decode(value)?;
    let key = ItemKey::of(&stream.key, &record.keys)?;
    Some((key, record))
}

fn check_record(known: &Known, stream: &Stream, key: &[u8], value: &[u8]) -> Result<(), (Kind, String)> {
    let wrong = |what: &str| (Kind::WrongChange, what.to_owned());
    let place = (key.len() == 14).then(|| shard(key).zip(layout::change_sequence(key)));
    let Some((shard, sequence)) = place.flatten() else {
        return Err((Kind::Unreadable, "the key is not that of a record".to_owned()));
    };
    let Some((item_key, record)) = read(stream, value) else {
        return Err((Kind::Unreadable, "the record cannot be read".to_owned()));
    };
    if sequence > known.counters.sequence {
        let newest = known.counters.sequence;
        return Err((
            Kind::WrongCounter,
            format!("change {sequence} is newer than the newest, {newest}"),
        ));
    }
    let last = stream.closed.map_or(u64::MAX, |(_, last)| last);
    if sequence <= stream.first_sequence || sequence > last {
        return Err(wrong("the record is older or newer than its stream"));
    }
    let its_shard = stream.shard_at(item_key.hash(), sequence);
    if shard != its_shard {
        return Err((Kind::Misplaced, format!("an item of shard {its_shard}")));
    }
    check_images(stream, &record).map_err(wrong)
}

fn check_images(stream: &Stream, record: &Recorded) -> Result<(), &'static str> {
    if record.keys != stream.key.key_of(&record.keys) {
        return Err("the record's keys have other attributes than the key's");
    }
    let wants_new = matches!(
        stream.view,
        StreamViewType::NewImage | StreamViewType::NewAndOldImages
    );
    let wants_old = matches!(
        stream.view,
        StreamViewType::OldImage | StreamViewType::NewAndOldImages
    );
    if record.new.is_some() != (wants_new && record.event != Event::Remove) {
        return Err("the new image is there and should not be, or the reverse");
    }
    if record.old.is_some() != (wants_old && record.event != Event::Insert) {
        return Err("the old image is there and should not be, or the reverse");
    }
    let has_key = |image: &Item| stream.key.key_of(image) == record.keys;
    if !record.new.iter().chain(&record.old).all(has_key) {
        return Err("an image is that of another item");
    }
    Ok(())
}

fn shard(key: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(key.get(4..6)?.try_into().ok()?))
}
