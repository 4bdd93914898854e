//! The other direction: requests to bytes and bytes to answers, for a client of a remote endpoint.

use serde::Deserialize;
use trestle_api::{CancellationReason, Error, ErrorKind, OperationName, Request, Response, Taken};
use trestle_item::Item;

use crate::encode::to_json;
use crate::target::service;

/// The body of a request.
#[must_use]
pub fn encode_request(request: &Request) -> Vec<u8> {
    to_json(request)
}

/// The header `X-Amz-Target` of a request.
#[must_use]
pub fn target_of(request: &Request) -> String {
    let operation = request.operation();
    format!("{}.{operation}", service(operation.family()))
}

/// Reads the answer to a successful request to an operation.
///
/// # Errors
///
/// `InternalServerError` if the other side did not send an answer of that operation.
pub fn decode_response(operation: OperationName, body: &[u8]) -> Result<Response, Error> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let response = Response::deserialize(operation, &mut deserializer);
    match response.and_then(|response| deserializer.end().map(|()| response)) {
        Ok(response) => Ok(response),
        Err(error) => Err(Error::internal(format!(
            "The answer to {operation} is not understood: {error}"
        ))),
    }
}

/// Reads an error. What is no error of DynamoDB's (a proxy's page, say) becomes `InternalServerError`.
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

/// An error on the wire.
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
