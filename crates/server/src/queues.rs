//! SQS's operations: identified by their target, or by the parameter `Action` of the older protocol, and
//! executed by the queues.

use crate::dispatch;
use crate::http::{Service, TARGET, host, target};
use crate::receive::ReceivedRequest;
use crate::reply::Reply;
use hyper::header;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use std::time::Instant;
use trestle_api::Error;
use trestle_queue::sqs::query::{self, QueryRequest};
use trestle_queue::sqs::{self, QueueOperation, TARGET_PREFIX};
use trestle_queue::{QueueError, Queues};

/// The name of the queue operation in a target; `None` for other targets.
pub(crate) fn name_of(target: &str) -> Option<&str> {
    target.strip_prefix(TARGET_PREFIX)
}

/// The protocol of a client of queues.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    Json,
    /// Forms and URLs, answered in XML.
    Query,
}

impl Protocol {
    fn answer(self, operation: QueueOperation, json: Vec<u8>, id: &str) -> Reply {
        match self {
            Self::Json => Reply::json(StatusCode::OK, json),
            Self::Query => match query::answer(operation, &json, id) {
                Ok(xml) => Reply::xml(StatusCode::OK, xml),
                Err(error) => self.error(&error, id),
            },
        }
    }

    fn error(self, error: &QueueError, id: &str) -> Reply {
        let answer = sqs::error_answer(error);
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match self {
            Self::Json => Reply::json(status, answer.body).with_query_error(&answer.query_error),
            Self::Query => Reply::xml(status, query::error(error, id)),
        }
    }

    /// The answer to a request that its sender is not allowed to make.
    pub(crate) fn refusal(self, error: &Error, id: &str) -> Reply {
        let json = dispatch::error_answer(error);
        match self {
            Self::Json => json,
            Self::Query => {
                let xml = query::refusal(error.kind().as_str(), error.message(), id);
                Reply::xml(json.status(), xml)
            }
        }
    }
}

/// Whether a request is about queues.
pub(crate) fn is_asked(head: &Parts) -> bool {
    name_of(target(&head.headers)).is_some() || is_query(head)
}

/// Whether a request is one of SQS's older protocol: a form, or a URL with the parameter `Action`. A target
/// means the JSON protocol, whatever the content type is.
pub(crate) fn is_query(head: &Parts) -> bool {
    let content_type = head.headers.get(header::CONTENT_TYPE);
    let is_form = content_type.is_some_and(|value| {
        let kind = value.as_bytes().split(|byte| *byte == b';').next();
        kind.unwrap_or_default()
            .trim_ascii()
            .eq_ignore_ascii_case(b"application/x-www-form-urlencoded")
    });
    match head.method {
        Method::POST => is_form && !head.headers.contains_key(TARGET),
        Method::GET => {
            let query = head.uri.query().unwrap_or_default();
            form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "Action")
        }
        _ => false,
    }
}

/// Refuses requests that a page of another site made a browser send: browsers send forms and URLs without
/// asking first.
pub(crate) fn check_page(head: &Parts) -> Result<(), Error> {
    let site = head.headers.get("sec-fetch-site").map(|site| site.as_bytes());
    match site {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(Error::access_denied(
            "Pages of other sites may not call the queues of this server",
        )),
    }
}

/// A request of the older protocol; or the answer to one that cannot be decoded.
pub(crate) fn read_query(
    service: &Service,
    head: &Parts,
    body: &[u8],
    id: &str,
) -> Result<QueryRequest, Reply> {
    let query = head.uri.query().unwrap_or_default();
    let parameters = form_urlencoded::parse(query.as_bytes()).chain(form_urlencoded::parse(body));
    let parameters = parameters.map(|(name, value)| (name.into_owned(), value.into_owned()));
    query::read(parameters.collect(), head.uri.path())
        .map_err(|error| refused(service, &error, id, Protocol::Query))
}

/// The operation with a name; or the answer to an unknown name.
pub(crate) fn operation(service: &Service, name: &str, id: &str) -> Result<QueueOperation, Reply> {
    name.parse()
        .map_err(|error| refused(service, &error, id, Protocol::Json))
}

fn refused(service: &Service, error: &QueueError, id: &str, protocol: Protocol) -> Reply {
    service.metrics.refused();
    if let Some(left_out) = service.refusals.admit("queue operation") {
        tracing::warn!(id, %error, left_out, "refused a request");
    }
    protocol.error(error, id)
}

/// Executes an operation, counts it and logs it.
#[allow(
    clippy::too_many_arguments,
    reason = "everything that is known of one request"
)]
pub(crate) async fn execute(
    service: &Service,
    queues: &Queues,
    operation: QueueOperation,
    head: &Parts,
    asked: ReceivedRequest,
    received: Instant,
    id: &str,
    protocol: Protocol,
) -> Reply {
    if let Err(error) = asked.caller.check_queue(operation) {
        service.metrics.refused();
        if let Some(left_out) = service.refusals.admit(error.kind().as_str()) {
            tracing::warn!(id, %error, left_out, "refused a request");
        }
        return protocol.refusal(&error, id);
    }
    let caller = sqs::Caller {
        origin: &origin(service, head),
        trace_header: trace_header(head),
    };
    let result = sqs::answer(queues, operation, &asked.body, caller).await;
    let latency = received.elapsed();
    let metrics = service.metrics.queue_operations.of(operation);
    match &result {
        Ok(_) => metrics.answered(latency),
        Err(error) if error.code().is_fault() => metrics.failed_by_us(),
        Err(_) => metrics.failed_by_caller(),
    }
    let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    match result {
        Ok(body) => {
            tracing::debug!(operation = operation.as_str(), latency_us, id, "answered");
            protocol.answer(operation, body, id)
        }
        Err(error) => {
            log_failure(operation, latency_us, id, &error);
            protocol.error(&error, id)
        }
    }
}

/// The answer if the program around the server has no queues.
pub(crate) fn no_queues() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "This server has no queues.\n")
}

/// The URL by which the caller reached this server: the URLs of queues begin with it, so that clients use it
/// again.
fn origin(service: &Service, head: &Parts) -> String {
    service.origin_of(host(head))
}

/// The trace that a request belongs to, as X-Ray names it.
fn trace_header(head: &Parts) -> Option<&str> {
    head.headers.get("x-amzn-trace-id")?.to_str().ok()
}

/// Internal faults are logged as errors; a missing queue is normal for applications.
fn log_failure(operation: QueueOperation, latency_us: u64, id: &str, error: &QueueError) {
    let operation = operation.as_str();
    let kind = error.code().name();
    if error.code().is_fault() {
        tracing::error!(operation, latency_us, id, kind, %error, "failed");
    } else {
        tracing::debug!(operation, latency_us, id, kind, %error, "refused");
    }
}
