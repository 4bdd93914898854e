//! Bytes to requests.

use serde_json::Value;
use trestle_api::{Error, OperationName, Request};

use crate::bounds::within_bounds;
use crate::conform::{Mismatch, conform};
use crate::constraints::broken;
use crate::json_size::JsonSize;
use crate::refusal::refused;
use crate::shapes::input_of;

const TOO_DEEP: &str = "Nesting Levels have exceeded supported limits: \
     Attributes in the item have nested levels beyond supported limit";

/// A tree takes up to sixty times the bytes of its text, so it is built only up to this size, which is enough
/// for a hundred thousand attribute values.
const TREE_BYTES_MAX: usize = 64 * 1024 * 1024;

const TOO_MANY_VALUES: &str = "The request is not valid, and has too many values to say why.";

/// Reads the body of a request to an operation.
///
/// # Errors
///
/// DynamoDB's answer to an invalid body: see the crate's documentation for the order of checks.
pub fn decode(operation: OperationName, body: &[u8]) -> Result<Request, Error> {
    match decode_directly(operation, body) {
        Some(request) if within_bounds(&request) => Ok(request),
        _ => decode_carefully(operation, body),
    }
}

/// The common case: serde alone, without a tree. The reason of a failure does not matter here.
pub(crate) fn decode_directly(operation: OperationName, body: &[u8]) -> Option<Request> {
    // Serde would also accept a structure as a list of its members.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    read_request(operation, body).ok()
}

/// Reads a request that this program wrote, or that was checked before. Every request is parsed from bytes
/// and in this function, because each other kind of deserializer would compile the code for all operations
/// again.
///
/// # Errors
///
/// Errors of the deserializer.
pub fn read_request(operation: OperationName, body: &[u8]) -> Result<Request, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let request = Request::deserialize(operation, &mut deserializer)?;
    deserializer.end().map(|()| request)
}

pub(crate) fn decode_carefully(operation: OperationName, body: &[u8]) -> Result<Request, Error> {
    let input = input_of(operation);
    let mut tree = parse(body)?;
    conform(&mut tree, input).map_err(|Mismatch(text)| Error::serialization(text))?;
    if let Some(message) = broken(&tree, input) {
        return Err(Error::validation(message));
    }
    read_request(operation, tree.to_string().as_bytes()).map_err(|_| {
        // A converted tree can be refused only for its attribute values.
        match refused(&tree, input) {
            Some(message) => Error::validation(message),
            None => Error::serialization("Unexpected value type in payload"),
        }
    })
}

fn parse(body: &[u8]) -> Result<Value, Error> {
    if JsonSize::of(body).tree_bytes() > TREE_BYTES_MAX {
        return Err(Error::serialization(TOO_MANY_VALUES));
    }
    serde_json::from_slice(body).map_err(|error| {
        // The parser's limit is far beyond DynamoDB's, so the item is too deep whatever else is wrong.
        if error.to_string().starts_with("recursion limit exceeded") {
            Error::validation(TOO_DEEP)
        } else {
            Error::serialization("")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{TOO_MANY_VALUES, decode, decode_carefully, decode_directly};
    use trestle_api::ErrorKind;

    #[test]
    fn no_tree_is_made_of_too_many_values() {
        let values = |count: usize| {
            let values = vec![r#"{"N":"1"}"#; count].join(",");
            format!(r#"{{"TableName":"abc","Item":{{"pk":{{"L":[{values}]}},"wrong":{{"N":"x"}}}}}}"#)
        };
        let refusal = |count: usize| {
            let operation = "PutItem".parse().unwrap();
            decode(operation, values(count).as_bytes()).unwrap_err()
        };
        assert_eq!(refusal(1_000).kind(), ErrorKind::Validation);
        assert_eq!(refusal(110_000).message(), TOO_MANY_VALUES);
    }

    #[test]
    fn both_ways_of_reading_agree() {
        for (operation, body) in [
            (
                "PutItem",
                r#"{"TableName":"abc","Item":{"pk":{"S":"a"},"n":{"N":"1.50"},"l":{"L":[{"NULL":true}]}}}"#,
            ),
            (
                "GetItem",
                r#"{"TableName":"abc","Key":{"pk":{"B":"AAEC"}},"ConsistentRead":true,"Unknown":[1]}"#,
            ),
            (
                "Query",
                r##"{"TableName":"abc","KeyConditionExpression":"#a = :a","Limit":5,"ExpressionAttributeNames":{"#a":"a"},"ExpressionAttributeValues":{":a":{"SS":["b","a"]}}}"##,
            ),
            (
                "Scan",
                r#"{"TableName":"abc","Segment":0,"TotalSegments":2,"Select":"COUNT","ScanFilter":{"a":{"ComparisonOperator":"EQ","AttributeValueList":[{"S":"x"}]}}}"#,
            ),
            (
                "BatchWriteItem",
                r#"{"RequestItems":{"abc":[{"PutRequest":{"Item":{"pk":{"S":"a"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"b"}}}}]}}"#,
            ),
            (
                "TransactWriteItems",
                r#"{"ClientRequestToken":"t","TransactItems":[{"Update":{"TableName":"abc","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET a = :a"}}]}"#,
            ),
        ] {
            let operation = operation.parse().unwrap();
            let direct = decode_directly(operation, body.as_bytes()).unwrap();
            assert_eq!(
                direct,
                decode_carefully(operation, body.as_bytes()).unwrap(),
                "{body}"
            );
        }
    }
}
