//! The table of valid requests: every operation, its members, their types and their bounds.
//!
//! Where an order or a wording seems strange, it is DynamoDB's.

use trestle_api::OperationName;

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

/// The request of an operation.
pub(crate) fn input_of(operation: OperationName) -> &'static Structure {
    match operation {
        OperationName::CreateTable => &CREATE_TABLE,
        OperationName::UpdateTable => &UPDATE_TABLE,
        OperationName::DeleteTable
        | OperationName::DescribeTable
        | OperationName::DescribeTimeToLive
        | OperationName::DescribeContinuousBackups => &TABLE_ONLY,
        OperationName::ListTables => &LIST_TABLES,
        OperationName::PutItem => &PUT_ITEM,
        OperationName::GetItem => &GET_ITEM,
        OperationName::UpdateItem => &UPDATE_ITEM,
        OperationName::DeleteItem => &DELETE_ITEM,
        OperationName::Query => &QUERY,
        OperationName::Scan => &SCAN,
        OperationName::BatchGetItem => &BATCH_GET_ITEM,
        OperationName::BatchWriteItem => &BATCH_WRITE_ITEM,
        OperationName::TransactGetItems => &TRANSACT_GET_ITEMS,
        OperationName::TransactWriteItems => &TRANSACT_WRITE_ITEMS,
        OperationName::UpdateTimeToLive => &UPDATE_TIME_TO_LIVE,
        OperationName::TagResource => &TAG_RESOURCE,
        OperationName::UntagResource => &UNTAG_RESOURCE,
        OperationName::ListTagsOfResource => &LIST_TAGS_OF_RESOURCE,
        OperationName::DescribeLimits | OperationName::DescribeEndpoints => &EMPTY,
        OperationName::ExecuteStatement => &EXECUTE_STATEMENT,
        OperationName::BatchExecuteStatement => &BATCH_EXECUTE_STATEMENT,
        OperationName::ExecuteTransaction => &EXECUTE_TRANSACTION,
        OperationName::ListStreams => &LIST_STREAMS,
        OperationName::DescribeStream => &DESCRIBE_STREAM,
        OperationName::GetShardIterator => &GET_SHARD_ITERATOR,
        OperationName::GetRecords => &GET_RECORDS,
    }
}
