//! The one table of what a request may look like: every operation, its members, their types and their bounds.
//!
//! Where an order or a wording looks odd, it is DynamoDB's.

use crate::shape::Structure;

mod batch;
mod common;
mod items;
mod statements;
mod streams;
mod tables;
mod transactions;

use batch::{BATCH_GET_ITEM, BATCH_WRITE_ITEM};
use items::{DELETE_ITEM, GET_ITEM, PUT_ITEM, QUERY, SCAN, UPDATE_ITEM};
use statements::{BATCH_EXECUTE_STATEMENT, EXECUTE_STATEMENT, EXECUTE_TRANSACTION};
use streams::{DESCRIBE_STREAM, GET_RECORDS, GET_SHARD_ITERATOR, LIST_STREAMS};
use tables::{
    CREATE_TABLE, EMPTY, LIST_TABLES, LIST_TAGS_OF_RESOURCE, TABLE_ONLY, TAG_RESOURCE, UNTAG_RESOURCE,
    UPDATE_TABLE, UPDATE_TIME_TO_LIVE,
};
use transactions::{TRANSACT_GET_ITEMS, TRANSACT_WRITE_ITEMS};

/// The request of the operation called `name`.
pub(crate) fn input_of(name: &str) -> Option<&'static Structure> {
    Some(match name {
        "CreateTable" => &CREATE_TABLE,
        "UpdateTable" => &UPDATE_TABLE,
        "DeleteTable" | "DescribeTable" | "DescribeTimeToLive" | "DescribeContinuousBackups" => &TABLE_ONLY,
        "ListTables" => &LIST_TABLES,
        "PutItem" => &PUT_ITEM,
        "GetItem" => &GET_ITEM,
        "UpdateItem" => &UPDATE_ITEM,
        "DeleteItem" => &DELETE_ITEM,
        "Query" => &QUERY,
        "Scan" => &SCAN,
        "BatchGetItem" => &BATCH_GET_ITEM,
        "BatchWriteItem" => &BATCH_WRITE_ITEM,
        "TransactGetItems" => &TRANSACT_GET_ITEMS,
        "TransactWriteItems" => &TRANSACT_WRITE_ITEMS,
        "UpdateTimeToLive" => &UPDATE_TIME_TO_LIVE,
        "TagResource" => &TAG_RESOURCE,
        "UntagResource" => &UNTAG_RESOURCE,
        "ListTagsOfResource" => &LIST_TAGS_OF_RESOURCE,
        "DescribeLimits" | "DescribeEndpoints" => &EMPTY,
        "ExecuteStatement" => &EXECUTE_STATEMENT,
        "BatchExecuteStatement" => &BATCH_EXECUTE_STATEMENT,
        "ExecuteTransaction" => &EXECUTE_TRANSACTION,
        "ListStreams" => &LIST_STREAMS,
        "DescribeStream" => &DESCRIBE_STREAM,
        "GetShardIterator" => &GET_SHARD_ITERATOR,
        "GetRecords" => &GET_RECORDS,
        _ => return None,
    })
}
