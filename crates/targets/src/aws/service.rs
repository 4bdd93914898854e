//! One operation of one service.

use crate::answer::{beginning, no_answer};
use http::StatusCode;
use serde_json::Value;
use std::sync::Arc;
use trestle_env::Clock;
use trestle_events::Outcome;
use trestle_http_client::{Client, HttpResponse, Outgoing, Prepared, Repeat, request};
use trestle_sigv4::Signer;

/// The name of an operation in requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ServiceKind {
    pub(crate) target: &'static str,
    pub(crate) content_type: &'static str,
}

/// An operation that can be called.
pub(crate) struct Service {
    pub(crate) kind: ServiceKind,
    pub(crate) client: Client,
    pub(crate) signer: Option<Signer>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Why a call failed as a whole.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Something in it can never be accepted.
    Refused(String),
    /// The service failed, perhaps because of a record.
    Failed(String),
    /// The records are not at fault.
    Unavailable(String),
}

impl From<Trouble> for Outcome {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(reason) => Outcome::Refused(reason),
            Trouble::Failed(reason) => Outcome::Failed(reason),
            Trouble::Unavailable(reason) => Outcome::Unavailable(reason),
        }
    }
}

impl Service {
    pub(crate) async fn call(&self, body: &Value) -> Result<Value, Trouble> {
        let body = body.to_string().into_bytes();
        let request = self.request(body).map_err(Trouble::Refused)?;
        let answer = self.client.call(request, Repeat::Allowed).await;
        let answer = answer.map_err(|failure| match no_answer(&failure) {
            Outcome::Failed(reason) => Trouble::Failed(reason),
            _ => Trouble::Unavailable(failure.to_string()),
        })?;
        let body = serde_json::from_slice(&answer.body).ok();
        match body.filter(Value::is_object) {
            Some(body) if answer.status.is_success() => Ok(body),
            Some(body) => Err(trouble(answer.status, &body)),
            None => Err(self.not_json(&answer)),
        }
    }

    /// An answer that the service does not give: the URL belongs to something else, or the service did not
    /// understand.
    fn not_json(&self, answer: &HttpResponse) -> Trouble {
        let unsigned = match self.signer {
            Some(_) => "",
            None => {
                ", and set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: the call was not signed, and some servers \
                     need the signature to tell the service"
            }
        };
        let reason = format!(
            "answered {}, but not with JSON, which {} answers with; check that the URL is that of a service which speaks \
             AWS's JSON protocol{unsigned}; the answer begins: {:?}",
            answer.status,
            self.kind.target,
            beginning(&answer.body)
        );
        by_status(answer.status, reason)
    }

    fn request(&self, body: Vec<u8>) -> Result<Prepared, String> {
        let headers = [
            ("content-type", self.kind.content_type),
            ("x-amz-target", self.kind.target),
        ];
        let outgoing = Outgoing {
            method: "POST",
            path: "/",
            headers: &headers,
            body: &body.into(),
        };
        request(
            self.client.endpoint(),
            outgoing,
            self.signer.as_ref(),
            self.clock.now(),
        )
    }
}

/// Errors that concern the entries of a call. All others concern the caller, the queue or the bus, so that no
/// record can be at fault.
const ABOUT_ENTRIES: &[&str] = &[
    "BatchRequestTooLong",
    "InvalidMessageContents",
    "InvalidParameterValue",
    "MissingRequiredParameter",
    "RequestEntityTooLarge",
    "Serialization",
    "Validation",
];

fn trouble(status: StatusCode, body: &Value) -> Trouble {
    let member = |names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| body.get(name)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    // `com.amazonaws.sqs#QueueDoesNotExist`, or the name alone.
    let kind = member(["__type", "code"]);
    let kind = kind.rsplit('#').next().unwrap_or_default();
    let reason = format!("answered {status}: {kind} {}", member(["message", "Message"]));
    let reason = reason.trim_end_matches([' ', ':']).to_owned();
    let is_about_entries = ABOUT_ENTRIES.contains(&kind.strip_suffix("Exception").unwrap_or(kind));
    if status.is_client_error() && is_about_entries {
        Trouble::Refused(reason)
    } else if is_throttling(kind) {
        Trouble::Unavailable(reason)
    } else {
        by_status(status, reason)
    }
}

/// The meaning of the status alone.
fn by_status(status: StatusCode, reason: String) -> Trouble {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => Trouble::Refused(reason),
        StatusCode::SERVICE_UNAVAILABLE => Trouble::Unavailable(reason),
        status if status.is_server_error() => Trouble::Failed(reason),
        _ => Trouble::Unavailable(reason),
    }
}

/// Whether an error means to try again later.
pub(crate) fn is_throttling(code: &str) -> bool {
    code.contains("Throttl") || matches!(code, "OverLimit" | "ServiceUnavailable")
}
