//! One operation: bytes to request, request to response, response to bytes.

use crate::http::Service;
use crate::metrics::Usage;
use crate::reply::Reply;
use hyper::StatusCode;
use std::time::Instant;
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
    body: &[u8],
    received: Instant,
    id: &str,
) -> Reply {
    let result = run(service, operation, body).await;
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

async fn run(service: &Service, operation: OperationName, body: &[u8]) -> Result<Response, Error> {
    let request = trestle_wire::decode(operation, body)?;
    service.database.execute(request).await
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
