//! `DescribeStream`.

use std::sync::Arc;

use trestle_api::{
    DescribeStream, DescribeStreamOutput, Error, SequenceNumberRange, Shard, StreamDescription, StreamStatus,
};

use crate::catalog::{Catalog, Stream};
use crate::describe;
use crate::shared::Shared;
use crate::stream_position::{parse_shard_id, sequence_text, shard_id};

/// Shards on a page, unless fewer are asked for.
const SHARDS_MAX: usize = 100;

pub(crate) fn run(shared: &Shared, request: &DescribeStream) -> Result<DescribeStreamOutput, Error> {
    let catalog = shared.catalog.load();
    let stream = find(&catalog, &request.stream_arn)?;
    let first = match &request.exclusive_start_shard_id {
        Some(id) => parse_shard_id(stream, id).map_or(0, |shard| shard.saturating_add(1)),
        None => 0,
    };
    // Shards have no children here, so a filter for the children of one leaves nothing.
    let numbers = if request.shard_filter.is_some() {
        stream.shards..stream.shards
    } else {
        first..stream.shards
    };
    let limit = request.limit.map_or(SHARDS_MAX, |limit| limit as usize);
    let more = numbers.len() > limit;
    let shards: Vec<Shard> = numbers
        .take(limit)
        .map(|shard| describe_shard(stream, shard))
        .collect();
    Ok(DescribeStreamOutput {
        stream_description: Box::new(StreamDescription {
            stream_arn: stream.arn.clone(),
            stream_label: stream.label.clone(),
            stream_status: if stream.is_enabled() {
                StreamStatus::Enabled
            } else {
                StreamStatus::Disabled
            },
            stream_view_type: stream.view,
            creation_request_date_time: Some(describe::time(stream.created)),
            table_name: stream.table_name.clone(),
            key_schema: describe::key_schema(&stream.key),
            last_evaluated_shard_id: shards.last().filter(|_| more).map(|shard| shard.shard_id.clone()),
            shards,
        }),
    })
}

fn describe_shard(stream: &Stream, shard: u16) -> Shard {
    Shard {
        shard_id: shard_id(stream, shard),
        sequence_number_range: SequenceNumberRange {
            starting_sequence_number: Some(sequence_text(stream.first_sequence + 1)),
            ending_sequence_number: stream.closed.map(|(_, last)| sequence_text(last)),
        },
        parent_shard_id: None,
    }
}

/// The stream with this ARN.
pub(crate) fn find<'a>(catalog: &'a Catalog, arn: &str) -> Result<&'a Arc<Stream>, Error> {
    catalog
        .streams
        .values()
        .find(|stream| stream.arn == arn)
        .ok_or_else(|| Error::stream_not_found(arn))
}
