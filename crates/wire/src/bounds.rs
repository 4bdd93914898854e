//! The cheap check on the hot path: is every value of a request within the bounds of the table in `shapes.rs`?
//!
//! It may answer "no" wrongly, which costs a second parse; it never answers "yes" wrongly. Types and
//! enumerations need no check, because serde has refused wrong ones. For operations that are not frequent it
//! always answers "no".

use trestle_api::{
    BatchExecuteStatement, BatchGetItem, BatchWriteItem, ExecuteStatement, ExecuteTransaction, Query,
    Request, Scan, TransactGetItems, TransactWriteItem, TransactWriteItems,
};

/// Whether the request breaks no constraint.
pub(crate) fn within_bounds(request: &Request) -> bool {
    match request {
        Request::PutItem(put) => is_name(&put.table_name),
        Request::DeleteItem(delete) => is_name(&delete.table_name),
        Request::UpdateItem(update) => is_name(&update.table_name),
        Request::GetItem(get) => {
            is_name(&get.table_name) && are_names_to_get(get.attributes_to_get.as_deref())
        }
        Request::Query(query) => query_within(query),
        Request::Scan(scan) => scan_within(scan),
        Request::BatchGetItem(batch) => batch_get_within(batch),
        Request::BatchWriteItem(batch) => batch_write_within(batch),
        Request::TransactGetItems(gets) => gets_within(gets),
        Request::TransactWriteItems(writes) => writes_within(writes),
        Request::ExecuteStatement(statement) => statement_within(statement),
        Request::BatchExecuteStatement(batch) => batch_statements_within(batch),
        Request::ExecuteTransaction(transaction) => transaction_within(transaction),
        Request::GetRecords(get) => {
            within(&get.shard_iterator, 1, 2048) && get.limit.is_none_or(|limit| (1..=1000).contains(&limit))
        }
        _ => false,
    }
}

fn query_within(query: &Query) -> bool {
    is_name(&query.table_name)
        && query.index_name.as_deref().is_none_or(is_name)
        && is_limit(query.limit)
        && are_names_to_get(query.attributes_to_get.as_deref())
}

fn scan_within(scan: &Scan) -> bool {
    is_name(&scan.table_name)
        && scan.index_name.as_deref().is_none_or(is_name)
        && is_limit(scan.limit)
        && scan.segment.is_none_or(|segment| segment <= 999_999)
        && scan
            .total_segments
            .is_none_or(|total| (1..=1_000_000).contains(&total))
        && are_names_to_get(scan.attributes_to_get.as_deref())
}

fn batch_get_within(batch: &BatchGetItem) -> bool {
    !batch.request_items.is_empty()
        && batch.request_items.iter().all(|(table, wanted)| {
            is_name(table)
                && (1..=100).contains(&wanted.keys.len())
                && are_names_to_get(wanted.attributes_to_get.as_deref())
        })
}

fn batch_write_within(batch: &BatchWriteItem) -> bool {
    !batch.request_items.is_empty()
        && batch
            .request_items
            .iter()
            .all(|(table, writes)| is_name(table) && (1..=25).contains(&writes.len()))
}

fn gets_within(gets: &TransactGetItems) -> bool {
    (1..=100).contains(&gets.transact_items.len())
        && gets
            .transact_items
            .iter()
            .all(|each| is_name(&each.get.table_name))
}

fn writes_within(writes: &TransactWriteItems) -> bool {
    (1..=100).contains(&writes.transact_items.len())
        && is_token(writes.client_request_token.as_deref())
        && writes.transact_items.iter().all(write_within)
}

fn write_within(write: &TransactWriteItem) -> bool {
    write.put.as_ref().is_none_or(|put| is_name(&put.table_name))
        && write
            .delete
            .as_ref()
            .is_none_or(|delete| is_name(&delete.table_name))
        && write
            .update
            .as_ref()
            .is_none_or(|update| is_name(&update.table_name))
        && write
            .condition_check
            .as_ref()
            .is_none_or(|check| is_name(&check.table_name))
}

fn statement_within(statement: &ExecuteStatement) -> bool {
    is_statement(&statement.statement)
        && are_parameters(statement.parameters.as_deref())
        && statement
            .next_token
            .as_deref()
            .is_none_or(|token| within(token, 1, 32_768))
        && is_limit(statement.limit)
}

fn batch_statements_within(batch: &BatchExecuteStatement) -> bool {
    (1..=25).contains(&batch.statements.len())
        && batch
            .statements
            .iter()
            .all(|each| is_statement(&each.statement) && are_parameters(each.parameters.as_deref()))
}

fn transaction_within(transaction: &ExecuteTransaction) -> bool {
    (1..=100).contains(&transaction.transact_statements.len())
        && is_token(transaction.client_request_token.as_deref())
        && transaction
            .transact_statements
            .iter()
            .all(|each| is_statement(&each.statement) && are_parameters(each.parameters.as_deref()))
}

/// A table's or an index's name. An ARN is not one: the second parse converts it to one.
fn is_name(name: &str) -> bool {
    (3..=255).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

fn is_limit(limit: Option<u32>) -> bool {
    // The wire's integers are signed.
    limit.is_none_or(|limit| (1..=i32::MAX.unsigned_abs()).contains(&limit))
}

fn are_names_to_get(names: Option<&[String]>) -> bool {
    names.is_none_or(|names| (1..=255).contains(&names.len()))
}

fn is_token(token: Option<&str>) -> bool {
    token.is_none_or(|token| within(token, 1, 36))
}

fn is_statement(statement: &str) -> bool {
    within(statement, 1, 8192)
}

fn are_parameters(parameters: Option<&[trestle_item::AttributeValue]>) -> bool {
    parameters.is_none_or(|parameters| !parameters.is_empty())
}

/// There are at least as many bytes as UTF-16 units, which DynamoDB counts, so the error is on the safe side.
fn within(text: &str, min: usize, max: usize) -> bool {
    (min..=max).contains(&text.len())
}
