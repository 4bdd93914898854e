//! One operation: bytes to request, request to response, response to bytes.

use crate::admission::{AnswerSize, WorkPermit};
use crate::http::Service;
use crate::metrics::Usage;
use crate::receive::Received;
use crate::reply::Reply;
use crate::role::Caller;
use bytes::Bytes;
use hyper::StatusCode;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;
use trestle_api::{Error, ErrorKind, OperationName, Response};

/// The operation named by an `X-Amz-Target` header.
pub(crate) fn target(header: Option<&[u8]>) -> Result<OperationName, Error> {
    let text = header
        .and_then(|value| std::str::from_utf8(value).ok())
        .unwrap_or_default();
    trestle_wire::parse_target(text)
}

/// Executes an operation, counts it and writes its line into the log.
pub(crate) async fn execute(
    service: &Service,
    operation: OperationName,
    asked: Received,
    received: Instant,
    id: &str,
) -> Reply {
    let result = run(service, operation, asked).await;
    let latency = received.elapsed();
    let metrics = service.metrics.operations.of(operation);
    match &result {
        Ok(response) => metrics.succeeded(latency, &Usage::of(response)),
        Err(error) => metrics.failed(error),
    }
    let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    match result {
        Ok(response) => {
            tracing::debug!(operation = operation.as_str(), latency_us, id, "answered");
            Reply::json(StatusCode::OK, trestle_wire::encode(response))
        }
        Err(error) => {
            log_failure(operation, latency_us, id, &error);
            error_answer(&error)
        }
    }
}

async fn run(service: &Service, operation: OperationName, asked: Received) -> Result<Response, Error> {
    let Received { body, work, caller } = asked;
    let room = service.admission.held.room_for(operation.answer_share()).await;
    if room.is_err() {
        service.admission.counts.throttle();
        return Err(Error::throttled());
    }
    // Nothing is waited for from here until a read is answered, so that the room is still there.
    if work.as_ref().is_some_and(WorkPermit::is_apart) {
        let answer = run_apart(service, operation, body, caller).await;
        drop(work);
        return answer;
    }
    let request = trestle_wire::decode(operation, &body)?;
    caller.check(operation, &request)?;
    service.database.execute(request).await
}

/// Executes a large request on a thread of its own. It computes nothing while it waits for the commit.
async fn run_apart(
    service: &Service,
    operation: OperationName,
    body: Bytes,
    caller: Caller,
) -> Result<Response, Error> {
    let database = Arc::clone(&service.database);
    let runtime = Handle::current();
    let answer = service.admission.work.apart(move |processor| {
        let request = trestle_wire::decode(operation, &body)?;
        drop(body);
        caller.check(operation, &request)?;
        let answer = database.execute(request);
        drop(processor);
        runtime.block_on(answer)
    });
    answer.await?
}

/// DynamoDB's answer to a failed operation.
pub(crate) fn error_answer(error: &Error) -> Reply {
    let (status, body) = trestle_wire::encode_error(error);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Reply::json(status, body)
}

/// Faults of ours are errors. A condition that does not hold or a lost race is an application's everyday life.
fn log_failure(operation: OperationName, latency_us: u64, id: &str, error: &Error) {
    let operation = operation.as_str();
    let kind = error.kind().as_str();
    match error.kind() {
        ErrorKind::InternalServerError => {
            tracing::error!(operation, latency_us, id, kind, %error, "failed");
        }
        ErrorKind::ConditionalCheckFailed
        | ErrorKind::TransactionCanceled
        | ErrorKind::TransactionConflict
        | ErrorKind::ResourceNotFound => {
            tracing::debug!(operation, latency_us, id, kind, %error, "answered");
        }
        _ => tracing::warn!(operation, latency_us, id, kind, %error, "refused"),
    }
}
