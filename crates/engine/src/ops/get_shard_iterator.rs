//! `GetShardIterator`.

use std::sync::atomic::Ordering;

use trestle_api::{Error, GetShardIterator, GetShardIteratorOutput, ShardIteratorType};
use trestle_env::Timestamp;
use trestle_store::{Direction, Space};

use crate::catalog::Stream;
use crate::range::Range;
use crate::shards::unknown;
use crate::shared::{Shared, internal};
use crate::stream_position::{Iterator, parse_sequence, parse_shard_id};
use crate::{change_log, layout};

pub(crate) fn run(shared: &Shared, request: &GetShardIterator) -> Result<GetShardIteratorOutput, Error> {
    let catalog = shared.catalog.load();
    let stream = catalog.stream(&request.stream_arn)?;
    let shard = parse_shard_id(stream, &request.shard_id).ok_or_else(|| unknown(&request.shard_id))?;
    let kind = request.shard_iterator_type;
    let by_number = matches!(
        kind,
        ShardIteratorType::AtSequenceNumber | ShardIteratorType::AfterSequenceNumber
    );
    let next = match (kind, &request.sequence_number) {
        (ShardIteratorType::TrimHorizon, _) => stream.begins_after(shard) + 1,
        (ShardIteratorType::Latest, _) => shared.last_sequence.load(Ordering::Acquire) + 1,
        (ShardIteratorType::AtTimestamp, _) => {
            let from = request
                .timestamp
                .ok_or_else(|| Error::validation("Timestamp is required for AT_TIMESTAMP"))?;
            first_since(shared, stream, shard, Timestamp::from_millis(from.to_millis()))?
        }
        (_, None) => {
            return Err(Error::validation(format!(
                "SequenceNumber is required when ShardIteratorType is {kind}"
            )));
        }
        (_, Some(text)) => {
            let sequence = parse_sequence(text).ok_or_else(|| Error::validation("Invalid SequenceNumber"))?;
            check_trimmed(shared, stream, shard, sequence)?;
            sequence.saturating_add(u64::from(kind == ShardIteratorType::AfterSequenceNumber))
        }
    };
    if !by_number && request.sequence_number.is_some() {
        return Err(Error::validation(format!(
            "SequenceNumber must not be specified when ShardIteratorType is {kind}"
        )));
    }
    let iterator = Iterator {
        stream_arn: stream.arn.clone(),
        shard,
        next,
        issued: shared.clock.now(),
    };
    Ok(GetShardIteratorOutput {
        shard_iterator: Some(iterator.text()),
    })
}

/// Refuses a number that is older than the oldest record that was kept.
fn check_trimmed(shared: &Shared, stream: &Stream, shard: u16, sequence: u64) -> Result<(), Error> {
    let cutoff = shared.clock.now().minus(shared.options.stream_retention);
    let snapshot = shared.store.snapshot();
    let rows = Range::prefix(shard_prefix(stream, shard));
    let oldest = rows.rows(&*snapshot, Space::Changes, Direction::Forward).next();
    let oldest = oldest
        .transpose()
        .map_err(internal)?
        .and_then(|(key, _)| layout::change_sequence(&key));
    // Without a record, everything up to the stream's age has been trimmed or never was.
    let trimmed = match oldest {
        Some(oldest) => sequence < oldest && stream.created < cutoff,
        None => stream.created < cutoff,
    };
    if trimmed {
        Err(Error::trimmed_data_access())
    } else {
        Ok(())
    }
}

/// The first sequence number of a record at or after `from`.
fn first_since(shared: &Shared, stream: &Stream, shard: u16, from: Timestamp) -> Result<u64, Error> {
    let snapshot = shared.store.snapshot();
    for row in Range::prefix(shard_prefix(stream, shard)).rows(&*snapshot, Space::Changes, Direction::Forward)
    {
        let (key, value) = row.map_err(internal)?;
        if change_log::time_of(&value).is_some_and(|time| time >= from) {
            return layout::change_sequence(&key)
                .ok_or_else(|| internal("a change record has no sequence number"));
        }
    }
    Ok(shared.last_sequence.load(Ordering::Acquire) + 1)
}

/// What the keys of all records of a shard begin with.
fn shard_prefix(stream: &Stream, shard: u16) -> Vec<u8> {
    [&stream.id.0.to_be_bytes()[..], &shard.to_be_bytes()].concat()
}
