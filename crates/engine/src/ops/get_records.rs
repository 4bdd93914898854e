//! `GetRecords`.

use std::ops::Bound;

use trestle_api::{
    Error, GetRecords, GetRecordsOutput, Identity, MIGRATION_PRINCIPAL, OperationType, Record, StreamRecord,
    TIME_TO_LIVE_PRINCIPAL, TOUCH_PRINCIPAL,
};
use trestle_item::size;
use trestle_store::{Direction, Space};

use crate::catalog::Stream;
use crate::change_log::{self, Event, Recorded};
use crate::horizon::Horizon;
use crate::range::Range;
use crate::shared::{Shared, internal};
use crate::stream_position::{Iterator, sequence_text};
use crate::transaction::Actor;
use crate::{describe, layout};

/// Records in one answer.
const RECORDS_MAX: usize = 1000;
/// Bytes in one answer.
const ANSWER_BYTES_MAX: usize = 1 << 20;

pub(crate) fn run(
    shared: &Shared,
    request: &GetRecords,
    horizon: Horizon,
) -> Result<GetRecordsOutput, Error> {
    let now = shared.clock.now();
    let mut iterator = Iterator::parse(&request.shard_iterator, now)?;
    let catalog = shared.catalog.load();
    let stream = shared.stream(&catalog, &iterator.stream_arn, horizon)?;
    if iterator.shard >= stream.shard_count() {
        return Err(Error::validation("Invalid ShardIterator"));
    }
    let limit = request.limit.map_or(RECORDS_MAX, |limit| limit as usize);
    let cutoff = shared.oldest_shown(horizon);
    if horizon == Horizon::Retention {
        // There may be very many older records that are kept for routes.
        iterator.next = shared.first_since(stream, iterator.shard, iterator.next, cutoff)?;
    }
    let range = Range {
        start: Bound::Included(layout::change(stream.id, iterator.shard, iterator.next)),
        end: Bound::Included(layout::change(stream.id, iterator.shard, u64::MAX)),
    };
    let snapshot = shared.store.snapshot();
    let mut records = Vec::new();
    let mut bytes = 0;
    let mut over = true;
    for row in range.rows(&*snapshot, Space::Changes, Direction::Forward) {
        if records.len() == limit || bytes > ANSWER_BYTES_MAX {
            over = false;
            break;
        }
        let (key, value) = row.map_err(internal)?;
        let (sequence, recorded) = recorded(&key, &value)?;
        iterator.next = sequence + 1;
        // If the clock was set back, older records can be among younger ones.
        if recorded.time < cutoff {
            continue;
        }
        let record = record(shared, stream, sequence, recorded);
        // The size in the response counts, because it is limited; the stored size may be smaller.
        bytes += record.dynamodb.size_bytes as usize;
        records.push(record);
    }
    iterator.issued = now;
    let ended = over && stream.last_of(iterator.shard).is_some();
    Ok(GetRecordsOutput {
        records,
        next_shard_iterator: (!ended).then(|| iterator.text()),
    })
}

/// A stored change record and its number.
pub(crate) fn recorded(key: &[u8], value: &[u8]) -> Result<(u64, Recorded), Error> {
    let sequence = layout::change_sequence(key)
        .ok_or_else(|| internal("a change record has no sequence number; run `trestle verify`"))?;
    let unreadable = || {
        internal(format!(
            "change record {sequence} of space changes cannot be read; run `trestle verify`"
        ))
    };
    Ok((sequence, change_log::decode(value).ok_or_else(unreadable)?))
}

/// The service that made a change, if the application did not.
fn principal(actor: Actor) -> Option<&'static str> {
    match actor {
        Actor::Client => None,
        Actor::TimeToLive => Some(TIME_TO_LIVE_PRINCIPAL),
        Actor::Migration => Some(MIGRATION_PRINCIPAL),
        Actor::Touch => Some(TOUCH_PRINCIPAL),
    }
}

/// A change record in the form of the API.
pub(crate) fn record(shared: &Shared, stream: &Stream, sequence: u64, recorded: Recorded) -> Record {
    let images = recorded
        .new
        .iter()
        .chain(&recorded.old)
        .map(size::of_item)
        .sum::<usize>();
    Record {
        event_id: format!("{:08x}{sequence:024x}", stream.id.0),
        event_name: match recorded.event {
            Event::Insert => OperationType::Insert,
            Event::Modify => OperationType::Modify,
            Event::Remove => OperationType::Remove,
        },
        event_version: "1.1".to_owned(),
        event_source: "aws:dynamodb".to_owned(),
        aws_region: shared.options.region.clone(),
        user_identity: principal(recorded.actor).map(|principal| Identity {
            principal_id: Some(principal.to_owned()),
            identity_type: Some("Service".to_owned()),
        }),
        dynamodb: StreamRecord {
            approximate_creation_date_time: Some(describe::time(recorded.time)),
            size_bytes: (size::of_item(&recorded.keys) + images) as u64,
            keys: recorded.keys,
            new_image: recorded.new,
            old_image: recorded.old,
            sequence_number: sequence_text(sequence),
            stream_view_type: stream.view,
        },
    }
}
