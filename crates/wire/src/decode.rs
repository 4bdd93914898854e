//! Bytes to requests.

use serde_json::Value;
use trestle_api::{Error, Request, UNSUPPORTED};

use crate::bounds::within_bounds;
use crate::conform::{Mismatch, conform};
use crate::constraints::broken;
use crate::refusal::refused;
use crate::shapes::input_of;

const TOO_DEEP: &str = "Nesting Levels have exceeded supported limits: \
     Attributes in the item have nested levels beyond supported limit";

/// Reads the body of a request to the operation called `operation`.
///
/// # Errors
///
/// What DynamoDB would answer: see the crate's documentation for the order of checks.
pub fn decode(operation: &str, body: &[u8]) -> Result<Request, Error> {
    match decode_directly(operation, body) {
        Some(request) if within_bounds(&request) => Ok(request),
        _ => decode_carefully(operation, body),
    }
}

/// The common case: serde alone, without a tree. Why it failed, if it did, does not matter here.
pub(crate) fn decode_directly(operation: &str, body: &[u8]) -> Option<Request> {
    // Serde would also read a structure from a list of its members.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let request = Request::deserialize(operation, &mut deserializer)?.ok()?;
    deserializer.end().ok()?;
    Some(request)
}

pub(crate) fn decode_carefully(operation: &str, body: &[u8]) -> Result<Request, Error> {
    let input = input_of(operation).ok_or_else(|| no_such_operation(operation))?;
    let mut tree = parse(body)?;
    conform(&mut tree, input).map_err(|Mismatch(text)| Error::serialization(text))?;
    if let Some(message) = broken(&tree, input) {
        return Err(Error::validation(message));
    }
    match Request::deserialize(operation, &tree) {
        Some(Ok(request)) => Ok(request),
        // A conforming tree is refused for its attribute values only.
        Some(Err(_)) => Err(match refused(&tree, input) {
            Some(message) => Error::validation(message),
            None => Error::serialization("Unexpected value type in payload"),
        }),
        None => Err(no_such_operation(operation)),
    }
}

fn parse(body: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(body).map_err(|error| {
        // The parser's limit is far beyond DynamoDB's, so the item is too deep whatever else is wrong.
        if error.to_string().starts_with("recursion limit exceeded") {
            Error::validation(TOO_DEEP)
        } else {
            Error::serialization("")
        }
    })
}

/// Tells an operation that Trestle does not have from one that does not exist.
pub(crate) fn no_such_operation(name: &str) -> Error {
    if UNSUPPORTED.contains(&name) {
        Error::unsupported_operation(name)
    } else {
        Error::unknown_operation()
    }
}

#[cfg(test)]
mod tests {
    use super::{decode_carefully, decode_directly};
    use crate::shapes::input_of;
    use trestle_api::SUPPORTED;

    #[test]
    fn every_supported_operation_has_a_shape() {
        for (name, _) in SUPPORTED {
            assert!(input_of(name).is_some(), "{name}");
        }
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
            let direct = decode_directly(operation, body.as_bytes()).unwrap();
            assert_eq!(
                direct,
                decode_carefully(operation, body.as_bytes()).unwrap(),
                "{body}"
            );
        }
    }
}
