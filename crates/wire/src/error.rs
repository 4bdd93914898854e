//! From errors to bytes: the only table of each kind's form for clients.

use serde::Serialize;
use trestle_api::{CancellationReason, Error, ErrorKind, Taken};
use trestle_item::Item;

use crate::encode::to_json;

/// The form of a kind of error.
struct Form {
    status: u16,
    /// The part before `#` in `__type`.
    namespace: &'static str,
    spelling: Spelling,
}

/// DynamoDB spells `message` in two ways.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Lower,
    Upper,
}

const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810";
const VALIDATE: &str = "com.amazon.coral.validate";
const SERVICE: &str = "com.amazon.coral.service";
const AVAILABILITY: &str = "com.amazon.coral.availability";

fn form(kind: ErrorKind) -> Form {
    let (status, namespace, spelling) = match kind {
        ErrorKind::Validation => (400, VALIDATE, Spelling::Lower),
        ErrorKind::Serialization | ErrorKind::UnknownOperation | ErrorKind::AccessDenied => {
            (400, SERVICE, Spelling::Upper)
        }
        ErrorKind::IncompleteSignature
        | ErrorKind::InvalidSignature
        | ErrorKind::MissingAuthenticationToken
        | ErrorKind::UnrecognizedClient
        | ErrorKind::ExpiredToken => (400, SERVICE, Spelling::Lower),
        ErrorKind::Throttling => (400, AVAILABILITY, Spelling::Lower),
        ErrorKind::TransactionCanceled
        | ErrorKind::TransactionInProgress
        | ErrorKind::IdempotentParameterMismatch => (400, DYNAMODB, Spelling::Upper),
        ErrorKind::InternalServerError => (500, DYNAMODB, Spelling::Lower),
        ErrorKind::RequestEntityTooLarge => (413, SERVICE, Spelling::Lower),
        // Every other kind is an exception of DynamoDB's own model.
        _ => (400, DYNAMODB, Spelling::Lower),
    };
    Form {
        status,
        namespace,
        spelling,
    }
}

/// An error as sent to clients.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "__type")]
    name: String,
    #[serde(rename = "CancellationReasons", skip_serializing_if = "<[_]>::is_empty")]
    reasons: &'a [CancellationReason],
    #[serde(rename = "Item", skip_serializing_if = "Option::is_none")]
    item: Option<&'a Item>,
    #[serde(rename = "Taken", skip_serializing_if = "Option::is_none")]
    taken: Option<&'a Taken>,
    #[serde(rename = "Message", skip_serializing_if = "Option::is_none")]
    upper_message: Option<&'a str>,
    #[serde(rename = "message", skip_serializing_if = "Option::is_none")]
    lower_message: Option<&'a str>,
}

/// The status and body of an error.
#[must_use]
pub fn encode_error(error: &Error) -> (u16, Vec<u8>) {
    let form = form(error.kind());
    let message = Some(error.message()).filter(|message| !message.is_empty());
    let body = Body {
        name: format!("{}#{}", form.namespace, error.kind().as_str()),
        reasons: error.reasons(),
        item: error.item(),
        taken: error.taken_value(),
        upper_message: message.filter(|_| form.spelling == Spelling::Upper),
        lower_message: message.filter(|_| form.spelling == Spelling::Lower),
    };
    (form.status, to_json(&body))
}
