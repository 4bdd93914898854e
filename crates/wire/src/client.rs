//! The other direction: from requests to bytes and from bytes to answers, for a client of a remote endpoint.

use serde::Deserialize;
use trestle_api::{CancellationReason, Error, ErrorKind, OperationName, Request, Response, Taken};
use trestle_item::Item;

use crate::empty_maps;
use crate::encode::to_json;
use crate::target::service;

/// The body of a request.
#[must_use]
pub fn encode_request(request: &Request) -> Vec<u8> {
    to_json(request)
}

/// The header `X-Amz-Target` of requests to an operation.
#[must_use]
pub fn target_of(operation: OperationName) -> String {
    format!("{}.{operation}", service(operation.family()))
}

/// Reads the answer to a successful request to an operation.
///
/// # Errors
///
/// `InternalServerError` if the other side did not send an answer of that operation.
pub fn decode_response(operation: OperationName, body: &[u8]) -> Result<Response, Error> {
    // TagResource and UntagResource have empty answers.
    let body = if body.is_empty() { b"{}" } else { body };
    let error = match read_response(operation, body) {
        Ok(response) => return Ok(response),
        Err(error) => error,
    };
    if operation == OperationName::GetRecords
        && let Some(Ok(response)) = empty_maps::written_out(body).map(|body| read_response(operation, &body))
    {
        return Ok(response);
    }
    Err(Error::internal(not_understood(operation, body, &error)))
}

/// Reads an answer in the format of this program. Every answer is read here, for the reason given at
/// [`read_request`](crate::read_request).
///
/// # Errors
///
/// Errors of the deserializer.
pub fn read_response(operation: OperationName, body: &[u8]) -> Result<Response, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let response = Response::deserialize(operation, &mut deserializer)?;
    deserializer.end().map(|()| response)
}

/// Describes what came instead of an answer. A server of many services may take a request without a signature
/// for one to another service, and answer accordingly.
fn not_understood(operation: OperationName, body: &[u8], error: &serde_json::Error) -> String {
    if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() {
        return format!("The answer to {operation} is not understood: {error}");
    }
    let text = String::from_utf8_lossy(body);
    let begins: String = text.chars().filter(|c| !c.is_control()).take(60).collect();
    format!(
        "The answer to {operation} is not JSON; it begins with `{begins}`. Either the endpoint does not speak DynamoDB's protocol, or \
         it selects the service by the signature: give it credentials (--access-key and --secret-key, or AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY)"
    )
}

/// Reads an error. Anything else than an error of DynamoDB (such as a proxy's page) becomes
/// `InternalServerError`.
#[must_use]
pub fn decode_error(status: u16, body: &[u8]) -> Error {
    let Ok(found) = serde_json::from_slice::<Body>(body) else {
        return Error::internal(format!(
            "The endpoint answered with status {status} and no error that is understood"
        ));
    };
    let name = found.name.rsplit('#').next().unwrap_or_default();
    match ErrorKind::from_wire(name) {
        Some(kind) => Error::new(kind, found.message)
            .with_item(found.item)
            .with_reasons(found.reasons)
            .with_taken(found.taken),
        None => Error::internal(format!("The endpoint answered with {name}: {}", found.message)),
    }
}

/// An error as sent to clients.
#[derive(Deserialize)]
struct Body {
    #[serde(rename = "__type")]
    name: String,
    #[serde(default, alias = "Message")]
    message: String,
    #[serde(default, rename = "Item")]
    item: Option<Item>,
    #[serde(default, rename = "CancellationReasons")]
    reasons: Vec<CancellationReason>,
    #[serde(default, rename = "Taken")]
    taken: Option<Taken>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_map_that_dynamodb_local_writes_as_nothing_is_read_as_one() {
        let body = br#"{"Records": [{"eventID": "1", "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1", "dynamodb": {"ApproximateCreationDateTime": 1.0, "Keys": {"pk": {"S": "a"}},
            "NewImage": {"pk": {"S": "a"}, "m": {}, "l": {"L": [{}, {"M": {"x": {}}}]}}, "SequenceNumber": "1", "SizeBytes": 3,
            "StreamViewType": "NEW_IMAGE"}}]}"#;
        let Ok(Response::GetRecords(answer)) = decode_response(OperationName::GetRecords, body) else {
            panic!("it is not read");
        };
        let image = answer.records[0].dynamodb.new_image.clone().unwrap();
        let map = trestle_item::AttributeValue::M(Item::new());
        assert_eq!(image.get("m"), Some(&map));
        let nested = trestle_item::AttributeValue::M(Item::from([("x", map.clone())]));
        assert_eq!(
            image.get("l"),
            Some(&trestle_item::AttributeValue::L(vec![map, nested]))
        );
    }

    #[test]
    fn an_answer_that_is_no_json_shows_its_beginning_and_names_credentials() {
        let error = decode_response(OperationName::DescribeTable, b"<!DOCTYPE html>\n<html>").unwrap_err();
        let said = error.to_string();
        assert!(said.contains("begins with `<!DOCTYPE html><html>`"), "{said}");
        assert!(said.contains("--access-key"), "{said}");
        let error = decode_response(OperationName::DescribeTable, b"7").unwrap_err();
        assert!(error.to_string().contains("is not understood: "), "{error}");
    }
}
