//! `DescribeStream`.

use trestle_api::{
    DescribeStream, DescribeStreamOutput, Error, SequenceNumberRange, Shard, ShardFilter, StreamDescription,
    StreamStatus,
};

use crate::catalog::Stream;
use crate::describe;
use crate::horizon::Horizon;
use crate::shared::Shared;
use crate::stream_position::{parse_shard_id, sequence_text, shard_id};

/// Shards on a page, unless fewer are asked for.
const SHARDS_MAX: usize = 100;

pub(crate) fn run(
    shared: &Shared,
    request: &DescribeStream,
    horizon: Horizon,
) -> Result<DescribeStreamOutput, Error> {
    let catalog = shared.catalog.load();
    let stream = shared.stream(&catalog, &request.stream_arn, horizon)?;
    let first = match &request.exclusive_start_shard_id {
        // After an unknown shard there are no others.
        Some(id) => parse_shard_id(stream, id).map_or(u16::MAX, |shard| shard.saturating_add(1)),
        None => 0,
    };
    let numbers: Vec<u16> = match &request.shard_filter {
        Some(filter) => children(stream, filter).filter(|shard| *shard >= first).collect(),
        None => (first..stream.shard_count()).collect(),
    };
    let limit = request.limit.map_or(SHARDS_MAX, |limit| limit as usize);
    let more = numbers.len() > limit;
    let shards: Vec<Shard> = numbers
        .into_iter()
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

/// The children of the shard that the filter names; none, if it names no shard.
fn children<'a>(stream: &'a Stream, filter: &ShardFilter) -> impl Iterator<Item = u16> + 'a {
    let parent = filter
        .shard_id
        .as_deref()
        .and_then(|id| parse_shard_id(stream, id));
    parent.into_iter().flat_map(|parent| stream.children_of(parent))
}

fn describe_shard(stream: &Stream, shard: u16) -> Shard {
    Shard {
        shard_id: shard_id(stream, shard),
        sequence_number_range: SequenceNumberRange {
            starting_sequence_number: Some(sequence_text(stream.begins_after(shard) + 1)),
            ending_sequence_number: stream.last_of(shard).map(sequence_text),
        },
        parent_shard_id: stream.child(shard).map(|child| shard_id(stream, child.parent)),
    }
}
