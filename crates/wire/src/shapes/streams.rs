//! DynamoDB Streams.

use super::common::NAME_OR_ARN;
use crate::shape::{Member, Range, Rule, Shape, Structure, Text, member, required, structure, text};

/// The engine checks the ARN, however short it is.
static STREAM_ARN: Text = text(&[Rule::LengthMax(1024)]);
static SHARD_ID: Text = text(&[Rule::LengthMin(28), Rule::LengthMax(65)]);
static SHARD_ITERATOR: Text = text(&[Rule::LengthMin(1), Rule::LengthMax(2048)]);
static SEQUENCE_NUMBER: Text = text(&[Rule::LengthMin(21), Rule::LengthMax(40)]);
static ITERATOR_TYPE: Text = text(&[Rule::OneOf(&[
    "TRIM_HORIZON",
    "LATEST",
    "AT_SEQUENCE_NUMBER",
    "AFTER_SEQUENCE_NUMBER",
    "AT_TIMESTAMP",
])]);
static SHARD_FILTER_TYPE: Text = text(&[Rule::OneOf(&["CHILD_SHARDS"])]);

const STREAM: Member = required("StreamArn", Shape::Text(&STREAM_ARN));

/// How many streams or records a request may ask for.
const fn limit(max: i64) -> Member {
    member("Limit", Shape::Integer(Range::between(1, max)))
}

pub(crate) static LIST_STREAMS: Structure = structure(
    "ListStreamsInput",
    &[
        member("TableName", Shape::Text(&NAME_OR_ARN)),
        limit(100),
        member("ExclusiveStartStreamArn", Shape::Text(&STREAM_ARN)),
    ],
);

pub(crate) static DESCRIBE_STREAM: Structure = structure(
    "DescribeStreamInput",
    &[
        STREAM,
        member("Limit", Shape::Integer(Range::at_least(1))),
        member("ExclusiveStartShardId", Shape::Text(&SHARD_ID)),
        member("ShardFilter", Shape::Structure(&SHARD_FILTER)),
    ],
);

static SHARD_FILTER: Structure = structure(
    "ShardFilter",
    &[
        required("Type", Shape::Text(&SHARD_FILTER_TYPE)),
        required("ShardId", Shape::Text(&SHARD_ID)),
    ],
);

pub(crate) static GET_SHARD_ITERATOR: Structure = structure(
    "GetShardIteratorInput",
    &[
        STREAM,
        required("ShardId", Shape::Text(&SHARD_ID)),
        required("ShardIteratorType", Shape::Text(&ITERATOR_TYPE)),
        member("SequenceNumber", Shape::Text(&SEQUENCE_NUMBER)),
        member("Timestamp", Shape::Time),
    ],
);

pub(crate) static GET_RECORDS: Structure = structure(
    "GetRecordsInput",
    &[
        required("ShardIterator", Shape::Text(&SHARD_ITERATOR)),
        limit(1000),
    ],
);
