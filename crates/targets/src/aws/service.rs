//! One operation of one service.

use http::StatusCode;
use serde_json::Value;
use std::sync::Arc;
use trestle_env::Clock;
use trestle_events::Outcome;
use trestle_http_client::{Client, HttpResponse, Outgoing, Prepared, Repeat, request};
use trestle_sigv4::Signer;

/// How an operation is named on the wire.
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

/// Why a call did nothing.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Something in it cannot be taken.
    Refused(String),
    /// It is not the records that are at fault.
    Unavailable(String),
}

impl From<Trouble> for Outcome {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Refused(reason) => Outcome::Refused(reason),
            Trouble::Unavailable(reason) => Outcome::Unavailable(reason),
        }
    }
}

impl Service {
    pub(crate) async fn call(&self, body: &Value) -> Result<Value, Trouble> {
        let body = body.to_string().into_bytes();
        let request = self.request(body).map_err(Trouble::Refused)?;
        let answer = self.client.call(request, Repeat::Allowed).await;
        let answer = answer.map_err(|failure| Trouble::Unavailable(failure.to_string()))?;
        if !answer.status.is_success() {
            return Err(trouble(&answer));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| Trouble::Unavailable(format!("the answer is no JSON: {error}")))
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

/// Errors that say something about the entries of a call. All others are about the caller, the queue or the bus, and
/// looking for a culprit among the records would find none.
const ABOUT_ENTRIES: &[&str] = &[
    "BatchRequestTooLong",
    "InvalidMessageContents",
    "InvalidParameterValue",
    "MissingRequiredParameter",
    "RequestEntityTooLarge",
    "Serialization",
    "Validation",
];

fn trouble(answer: &HttpResponse) -> Trouble {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let member = |names: [&str; 2]| {
        let found = names.into_iter().find_map(|name| body.get(name)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    // `com.amazonaws.sqs#QueueDoesNotExist`, or the name alone.
    let kind = member(["__type", "code"]);
    let kind = kind.rsplit('#').next().unwrap_or_default();
    let reason = format!(
        "answered {}: {kind} {}",
        answer.status,
        member(["message", "Message"])
    );
    let reason = reason.trim_end_matches([' ', ':']).to_owned();
    let is_about_entries = ABOUT_ENTRIES.contains(&kind.strip_suffix("Exception").unwrap_or(kind));
    if answer.status == StatusCode::PAYLOAD_TOO_LARGE || (answer.status.is_client_error() && is_about_entries)
    {
        Trouble::Refused(reason)
    } else {
        Trouble::Unavailable(reason)
    }
}
