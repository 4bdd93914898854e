//! SQS's operations: told apart by their target, and carried out by the queues.

use crate::dispatch;
use crate::http::{Service, host};
use crate::receive::ReceivedRequest;
use crate::reply::Reply;
use hyper::StatusCode;
use hyper::http::request::Parts;
use std::time::Instant;
use trestle_queue::sqs::{self, QueueOperation, TARGET_PREFIX};
use trestle_queue::{QueueError, Queues};

/// The name of the operation on queues that a target asks for; `None` if it asks for something else.
pub(crate) fn name_of(target: &str) -> Option<&str> {
    target.strip_prefix(TARGET_PREFIX)
}

/// The operation of a name; or the answer to a name that is none.
pub(crate) fn operation(service: &Service, name: &str, id: &str) -> Result<QueueOperation, Reply> {
    name.parse().map_err(|error: QueueError| {
        service.metrics.refused();
        if let Some(left_out) = service.refusals.admit("queue operation") {
            tracing::warn!(id, %error, left_out, "refused a request");
        }
        error_answer(&error)
    })
}

/// Executes an operation, counts it and writes its line into the log.
pub(crate) async fn execute(
    service: &Service,
    queues: &Queues,
    operation: QueueOperation,
    head: &Parts,
    asked: ReceivedRequest,
    received: Instant,
    id: &str,
) -> Reply {
    if let Err(error) = asked.caller.check_queue(operation) {
        service.metrics.refused();
        if let Some(left_out) = service.refusals.admit(error.kind().as_str()) {
            tracing::warn!(id, %error, left_out, "refused a request");
        }
        return dispatch::error_answer(&error);
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
            Reply::json(StatusCode::OK, body)
        }
        Err(error) => {
            log_failure(operation, latency_us, id, &error);
            error_answer(&error)
        }
    }
}

/// Answers when the program around the server has no queues.
pub(crate) fn no_queues() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "This server has no queues.\n")
}

fn error_answer(error: &QueueError) -> Reply {
    let answer = sqs::error_answer(error);
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Reply::json(status, answer.body).with_query_error(&answer.query_error)
}

/// Where the caller reached this server: the URLs of queues begin with it, so that clients come back the same way.
fn origin(service: &Service, head: &Parts) -> String {
    service.origin_of(host(head))
}

/// The trace that a request belongs to, as X-Ray names it.
fn trace_header(head: &Parts) -> Option<&str> {
    head.headers.get("x-amzn-trace-id")?.to_str().ok()
}

/// Faults of ours are errors; asking for a queue that is not there is an application's everyday life.
fn log_failure(operation: QueueOperation, latency_us: u64, id: &str, error: &QueueError) {
    let operation = operation.as_str();
    let kind = error.code().name();
    if error.code().is_fault() {
        tracing::error!(operation, latency_us, id, kind, %error, "failed");
    } else {
        tracing::debug!(operation, latency_us, id, kind, %error, "refused");
    }
}
