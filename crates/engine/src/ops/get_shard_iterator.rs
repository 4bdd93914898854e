//! `GetShardIterator`.

use std::sync::atomic::Ordering;

use trestle_api::{Error, GetShardIterator, GetShardIteratorOutput, ShardIteratorType};
use trestle_env::Timestamp;

use crate::catalog::Stream;
use crate::horizon::Horizon;
use crate::shards::unknown;
use crate::shared::Shared;
use crate::stream_position::{Iterator, parse_sequence, parse_shard_id};

pub(crate) fn run(
    shared: &Shared,
    request: &GetShardIterator,
    horizon: Horizon,
) -> Result<GetShardIteratorOutput, Error> {
    let catalog = shared.catalog.load();
    let stream = shared.stream(&catalog, &request.stream_arn, horizon)?;
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
            let from = Timestamp::from_millis(from.to_millis()).max(shared.oldest_shown(horizon));
            shared.first_since(stream, shard, stream.begins_after(shard) + 1, from)?
        }
        (_, None) => {
            return Err(Error::validation(format!(
                "SequenceNumber is required when ShardIteratorType is {kind}"
            )));
        }
        (_, Some(text)) => {
            let sequence = parse_sequence(text).ok_or_else(|| Error::validation("Invalid SequenceNumber"))?;
            let next = sequence.saturating_add(u64::from(kind == ShardIteratorType::AfterSequenceNumber));
            let is_trimmed = match horizon {
                Horizon::Retention => is_hidden(shared, stream, shard, sequence)?,
                Horizon::Held => next <= stream.trimmed(shard),
            };
            if is_trimmed {
                return Err(Error::trimmed_data_access());
            }
            next
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

/// Whether a number is older than the oldest record that clients see.
fn is_hidden(shared: &Shared, stream: &Stream, shard: u16, sequence: u64) -> Result<bool, Error> {
    let cutoff = shared.oldest_shown(Horizon::Retention);
    if stream.created >= cutoff {
        return Ok(false);
    }
    let begin = stream.begins_after(shard) + 1;
    let oldest = shared.first_since(stream, shard, begin, cutoff)?;
    // Without a record, everything within the stream's age has been trimmed or was never written.
    let has_none = oldest > shared.last_sequence.load(Ordering::Acquire);
    Ok(has_none || sequence < oldest)
}
