//! One operation: from bytes to a request, from the request to a response, from the response to bytes.

use crate::admission::{Effort, ExecutionTurn, LARGE_ANSWER_BYTES, Processor, on_own_thread};
use crate::http::Service;
use crate::metrics::Usage;
use crate::receive::ReceivedRequest;
use crate::reply::Reply;
use bytes::Bytes;
use hyper::StatusCode;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;
use trestle_api::{Database, Error, ErrorKind, OperationName, Response};
use trestle_env::SeldomLog;

/// Executes an operation on a database, counts it and logs it.
pub(crate) async fn execute(
    service: &Service,
    database: &Arc<dyn Database>,
    operation: OperationName,
    asked: ReceivedRequest,
    received: Instant,
    id: &str,
) -> Reply {
    let result = run(service, database, operation, asked).await;
    let latency = received.elapsed();
    let metrics = service.metrics.operations.of(operation);
    match &result {
        Ok(answered) => metrics.succeeded(latency, &answered.usage),
        Err(error) => metrics.failed(error),
    }
    let latency_us = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
    match result {
        Ok(answered) => {
            tracing::debug!(operation = operation.as_str(), latency_us, id, "answered");
            Reply::json(StatusCode::OK, answered.body)
        }
        Err(error) => {
            log_failure(&service.refusals, operation, latency_us, id, &error);
            error_answer(&service.error_texts.worded(operation, error))
        }
    }
}

/// An operation that succeeded.
struct EncodedResponse {
    usage: Usage,
    body: Bytes,
}

impl EncodedResponse {
    fn new(response: Response) -> Self {
        let usage = Usage::of(&response);
        let mut body = trestle_wire::encode(response);
        // An answer may wait for its client for long.
        if body.capacity() > 2 * LARGE_ANSWER_BYTES {
            body.shrink_to_fit();
        }
        EncodedResponse {
            usage,
            body: body.into(),
        }
    }
}

async fn run(
    service: &Service,
    database: &Arc<dyn Database>,
    operation: OperationName,
    asked: ReceivedRequest,
) -> Result<EncodedResponse, Error> {
    let effort = Effort::of(operation, &asked.connection);
    let ExecutionTurn { work, processor } = service.turn(&asked, effort).await?;
    if let Some(processor) = processor {
        let answer = Box::pin(run_apart(database, operation, asked, processor)).await;
        drop(work);
        return answer;
    }
    if let Some(forwarded) = database.forward(operation, &asked.body)
        && let Some(body) = forwarded.await
        && let Some(usage) = Usage::of_forwarded(&body)
    {
        return Ok(EncodedResponse { usage, body });
    }
    // A read is answered without waiting, so that the memory for its answer is still free.
    let request = trestle_wire::decode(operation, &asked.body).map_err(Error::of_request)?;
    asked.caller.check(operation, &request)?;
    let response = database.execute(request).await?;
    Ok(EncodedResponse::new(response))
}

/// Executes a long request on a separate thread.
async fn run_apart(
    database: &Arc<dyn Database>,
    operation: OperationName,
    asked: ReceivedRequest,
    processor: Processor,
) -> Result<EncodedResponse, Error> {
    let ReceivedRequest {
        body,
        caller,
        connection,
    } = asked;
    let effort = Effort::of(operation, &connection);
    let database = Arc::clone(database);
    let runtime = Handle::current();
    let answer = on_own_thread(move || {
        let request = trestle_wire::decode(operation, &body).map_err(Error::of_request)?;
        drop(body);
        caller.check(operation, &request)?;
        let response = database.execute(request);
        // From here, a write only waits for its commit. A read keeps the processor until its answer is
        // counted.
        let processor = effort.has_large_answer().then_some(processor);
        let response = runtime.block_on(response)?;
        Ok::<_, Error>((EncodedResponse::new(response), processor))
    });
    let (answered, processor) = answer.await??;
    drop(processor);
    Ok(answered)
}

/// DynamoDB's answer to a failed operation.
pub(crate) fn error_answer(error: &Error) -> Reply {
    let (status, body) = trestle_wire::encode_error(error);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Reply::json(status, body)
}

/// Internal faults are logged as errors. Failed conditions and lost races are normal for applications.
fn log_failure(refusals: &SeldomLog, operation: OperationName, latency_us: u64, id: &str, error: &Error) {
    let operation = operation.as_str();
    let kind = error.kind().as_str();
    match error.kind() {
        ErrorKind::InternalServerError => {
            tracing::error!(operation, latency_us, id, kind, %error, "failed");
        }
        ErrorKind::ConditionalCheckFailed
        | ErrorKind::TransactionCanceled
        | ErrorKind::TransactionConflict
        | ErrorKind::TableNotFound
        | ErrorKind::ResourceNotFound => {
            tracing::debug!(operation, latency_us, id, kind, %error, "answered");
        }
        _ => {
            if let Some(left_out) = refusals.admit(kind) {
                tracing::warn!(operation, latency_us, id, kind, %error, left_out, "refused");
            }
        }
    }
}
