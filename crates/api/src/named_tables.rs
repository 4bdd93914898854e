//! Which tables a request names.

use crate::{Request, TransactGetItem, TransactWriteItem};

/// The name inside the ARN of a table or of its stream, or the name itself.
#[must_use]
pub fn table_name(name_or_arn: &str) -> &str {
    match name_or_arn.strip_prefix("arn:") {
        Some(arn) => arn
            .split_once(":table/")
            .map_or(name_or_arn, |(_, rest)| rest.split('/').next().unwrap_or(rest)),
        None => name_or_arn,
    }
}

impl Request {
    /// The tables that this request names, by name or by an ARN. PartiQL statements are not parsed, and a
    /// shard iterator names no table.
    #[must_use]
    pub fn named_tables(&self) -> Vec<&str> {
        let named = match self {
            Self::CreateTable(request) => vec![request.table_name.as_str()],
            Self::UpdateTable(request) => vec![request.table_name.as_str()],
            Self::DeleteTable(request) => vec![request.table_name.as_str()],
            Self::DescribeTable(request) => vec![request.table_name.as_str()],
            Self::PutItem(request) => vec![request.table_name.as_str()],
            Self::GetItem(request) => vec![request.table_name.as_str()],
            Self::UpdateItem(request) => vec![request.table_name.as_str()],
            Self::DeleteItem(request) => vec![request.table_name.as_str()],
            Self::Query(request) => vec![request.table_name.as_str()],
            Self::Scan(request) => vec![request.table_name.as_str()],
            Self::BatchGetItem(request) => request.request_items.keys().map(String::as_str).collect(),
            Self::BatchWriteItem(request) => request.request_items.keys().map(String::as_str).collect(),
            Self::TransactGetItems(request) => request.transact_items.iter().map(read).collect(),
            Self::TransactWriteItems(request) => request.transact_items.iter().filter_map(written).collect(),
            Self::UpdateTimeToLive(request) => vec![request.table_name.as_str()],
            Self::DescribeTimeToLive(request) => vec![request.table_name.as_str()],
            Self::TagResource(request) => vec![request.resource_arn.as_str()],
            Self::UntagResource(request) => vec![request.resource_arn.as_str()],
            Self::ListTagsOfResource(request) => vec![request.resource_arn.as_str()],
            Self::DescribeContinuousBackups(request) => vec![request.table_name.as_str()],
            Self::ListStreams(request) => request.table_name.as_deref().into_iter().collect(),
            Self::DescribeStream(request) => vec![request.stream_arn.as_str()],
            Self::GetShardIterator(request) => vec![request.stream_arn.as_str()],
            Self::ListTables(_)
            | Self::DescribeLimits(_)
            | Self::DescribeEndpoints(_)
            | Self::ExecuteStatement(_)
            | Self::BatchExecuteStatement(_)
            | Self::ExecuteTransaction(_)
            | Self::GetRecords(_) => Vec::new(),
        };
        named.into_iter().map(table_name).collect()
    }
}

fn read(part: &TransactGetItem) -> &str {
    &part.get.table_name
}

fn written(part: &TransactWriteItem) -> Option<&str> {
    let check = part
        .condition_check
        .as_ref()
        .map(|check| check.table_name.as_str());
    let put = part.put.as_ref().map(|put| put.table_name.as_str());
    let delete = part.delete.as_ref().map(|delete| delete.table_name.as_str());
    let update = part.update.as_ref().map(|update| update.table_name.as_str());
    check.or(put).or(delete).or(update)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchWriteItem, DescribeStream, GetRecords, Put, TransactWriteItems};

    #[test]
    fn an_arn_of_a_table_or_of_a_stream_stands_for_the_name() {
        let arn = "arn:aws:dynamodb:us-east-1:0:table/orders";
        assert_eq!(table_name(arn), "orders");
        assert_eq!(table_name("orders"), "orders");
        let stream = Request::DescribeStream(DescribeStream {
            stream_arn: format!("{arn}/stream/2026-01-01T00:00:00.000"),
            ..DescribeStream::default()
        });
        assert_eq!(stream.named_tables(), ["orders"]);
    }

    #[test]
    fn every_table_of_a_batch_and_of_a_transaction_is_named() {
        let batch = BatchWriteItem {
            request_items: [("a".to_owned(), Vec::new()), ("b".to_owned(), Vec::new())].into(),
            ..BatchWriteItem::default()
        };
        assert_eq!(Request::BatchWriteItem(batch).named_tables(), ["a", "b"]);
        let put = |table: &str| TransactWriteItem {
            put: Some(Box::new(Put {
                table_name: table.to_owned(),
                ..Put::default()
            })),
            ..TransactWriteItem::default()
        };
        let transaction = TransactWriteItems {
            transact_items: vec![put("a"), put("b")],
            ..TransactWriteItems::default()
        };
        assert_eq!(
            Request::TransactWriteItems(transaction).named_tables(),
            ["a", "b"]
        );
        assert!(
            Request::GetRecords(GetRecords::default())
                .named_tables()
                .is_empty()
        );
    }
}
