//! Requests that a gateway forwards, and their answers, read as far as necessary without decoding their
//! values.

use serde::Deserialize;
use serde::de::IgnoredAny;
use trestle_api::OperationName;

/// A request that names one table. A repeated member, or one of another type, makes it another request.
#[derive(Deserialize)]
struct TableRead<'b> {
    #[serde(rename = "TableName")]
    table_name: &'b str,
    /// The answer must be decoded, because consumed capacity is counted.
    #[serde(rename = "ReturnConsumedCapacity", default)]
    return_consumed_capacity: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct ReadAnswer {
    #[serde(rename = "Item", default)]
    item: Option<IgnoredAny>,
    #[serde(rename = "Count", default)]
    count: u64,
}

/// The table that a request reads, if only the endpoint with the table needs the rest; `None` for any request
/// that must be decoded.
#[must_use]
pub fn table_of_plain_read(operation: OperationName, body: &[u8]) -> Option<&str> {
    let is_read = matches!(operation, OperationName::GetItem | OperationName::Query);
    // Serde would also accept a structure as a list of its members.
    if !is_read || body.first() != Some(&b'{') {
        return None;
    }
    let read: TableRead<'_> = serde_json::from_slice(body).ok()?;
    read.return_consumed_capacity.is_none().then_some(read.table_name)
}

/// The number of items in an answer to such a request; `None` if it is not such an answer.
#[must_use]
pub fn items_of_plain_read(answer: &[u8]) -> Option<u64> {
    if answer.first() != Some(&b'{') {
        return None;
    }
    let answer: ReadAnswer = serde_json::from_slice(answer).ok()?;
    Some(answer.count + u64::from(answer.item.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_of_which_nothing_but_the_table_matters_are_plain() {
        let table = |operation, body: &'static str| table_of_plain_read(operation, body.as_bytes());
        let get = r#"{"TableName":"abc","Key":{"pk":{"S":"a"}},"ConsistentRead":true}"#;
        assert_eq!(table(OperationName::GetItem, get), Some("abc"));
        assert_eq!(table(OperationName::Query, get), Some("abc"));
        for operation in [
            OperationName::PutItem,
            OperationName::Scan,
            OperationName::UpdateItem,
        ] {
            assert_eq!(table(operation, get), None, "{operation}");
        }
        for body in [
            r#"{"TableName":"abc","ReturnConsumedCapacity":"TOTAL"}"#,
            r#"{"TableName":"abc","TableName":"abd"}"#,
            r#"{"TableName":"a\u0062c"}"#,
            r#"{"TableName":7}"#,
            r#"{"Key":{}}"#,
            r#"{"TableName":"abc"} 1"#,
            r#"["abc"]"#,
            "",
        ] {
            assert_eq!(table(OperationName::GetItem, body), None, "{body}");
        }
    }

    #[test]
    fn items_are_counted_without_reading_them() {
        for (answer, items) in [
            ("{}", Some(0)),
            (r#"{"Item":{"pk":{"S":"a"}}}"#, Some(1)),
            (r#"{"Items":[{},{}],"Count":2,"ScannedCount":7}"#, Some(2)),
            (r#"{"Count":-1}"#, None),
            (r#"{"Item":{"#, None),
            ("<html>", None),
            ("", None),
        ] {
            assert_eq!(items_of_plain_read(answer.as_bytes()), items, "{answer}");
        }
    }
}
