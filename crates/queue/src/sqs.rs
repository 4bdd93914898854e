//! SQS's JSON protocol: bodies to calls on [`Queues`], and answers back.
//!
//! One file per group of operations; the structs in them are the requests and answers of SQS's service model.

mod batch;
mod messages;
mod moving;
mod queue_settings;
mod receiving;

use std::future::Future;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, QueueError};
use crate::name;
use crate::queues::Queues;

/// What an `X-Amz-Target` header of SQS begins with.
pub const TARGET_PREFIX: &str = "AmazonSQS.";

/// The operations that are answered.
pub const OPERATIONS: &[&str] = &[
    "CancelMessageMoveTask",
    "ChangeMessageVisibility",
    "ChangeMessageVisibilityBatch",
    "CreateQueue",
    "DeleteMessage",
    "DeleteMessageBatch",
    "DeleteQueue",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "ListMessageMoveTasks",
    "ListQueueTags",
    "ListQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
    "SendMessageBatch",
    "SetQueueAttributes",
    "StartMessageMoveTask",
    "TagQueue",
    "UntagQueue",
];

/// The operations of SQS that Trestle does not have.
pub const UNSUPPORTED: &[&str] = &["AddPermission", "RemovePermission"];

/// The operation that the part of an `X-Amz-Target` header behind [`TARGET_PREFIX`] names.
pub fn operation(name: &str) -> Result<&'static str, QueueError> {
    if let Some(known) = OPERATIONS.iter().find(|known| **known == name) {
        return Ok(known);
    }
    if UNSUPPORTED.contains(&name) {
        return Err(QueueError::unsupported(format!(
            "Trestle's queues have no permissions, so there is no {name}. Access keys decide who may call."
        )));
    }
    Err(QueueError::new(
        ErrorCode::UnknownOperationException,
        format!("The action {name} is not valid for this endpoint."),
    ))
}

/// Carries out an operation. `origin` is where the caller reached this server, as in `http://127.0.0.1:8000`; queues'
/// URLs begin with it.
pub async fn answer(
    queues: &Queues,
    operation: &str,
    body: &[u8],
    origin: &str,
) -> Result<Vec<u8>, QueueError> {
    let door = &Door { queues, origin };
    match operation {
        "SendMessage" => run(body, |request| door.send_message(request)).await,
        "SendMessageBatch" => run(body, |request| door.send_message_batch(request)).await,
        "ReceiveMessage" => run(body, |request| door.receive_message(request)).await,
        "DeleteMessage" => run(body, |request| door.delete_message(request)).await,
        "DeleteMessageBatch" => run(body, |request| door.delete_message_batch(request)).await,
        "ChangeMessageVisibility" => run(body, |request| door.change_message_visibility(request)).await,
        "ChangeMessageVisibilityBatch" => {
            run(body, |request| door.change_message_visibility_batch(request)).await
        }
        "CreateQueue" => run(body, |request| door.create_queue(request)).await,
        "GetQueueUrl" => run(body, |request| door.get_queue_url(request)).await,
        "ListQueues" => run(body, |request| door.list_queues(request)).await,
        "DeleteQueue" => run(body, |request| door.delete_queue(request)).await,
        "PurgeQueue" => run(body, |request| door.purge_queue(request)).await,
        "GetQueueAttributes" => run(body, |request| door.get_queue_attributes(request)).await,
        "SetQueueAttributes" => run(body, |request| door.set_queue_attributes(request)).await,
        "ListDeadLetterSourceQueues" => {
            run(body, |request| door.list_dead_letter_source_queues(request)).await
        }
        "TagQueue" => run(body, |request| door.tag_queue(request)).await,
        "UntagQueue" => run(body, |request| door.untag_queue(request)).await,
        "ListQueueTags" => run(body, |request| door.list_queue_tags(request)).await,
        "StartMessageMoveTask" => run(body, |request| door.start_message_move_task(request)).await,
        "ListMessageMoveTasks" => run(body, |request| door.list_message_move_tasks(request)).await,
        "CancelMessageMoveTask" => run(body, |request| door.cancel_message_move_task(request)).await,
        other => Err(self::operation(other)
            .err()
            .unwrap_or_else(QueueError::no_such_queue)),
    }
}

/// An error as HTTP has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// The `x-amzn-query-error` header: the code of the older protocol, and whose fault it is.
    pub query_error: String,
}

/// The answer to a request that failed.
#[must_use]
pub fn error_answer(error: &QueueError) -> ErrorAnswer {
    let code = error.code();
    let kind = match code {
        ErrorCode::InvalidParameterValue => {
            "com.amazon.coral.service#InvalidParameterValueException".to_owned()
        }
        ErrorCode::MissingParameter => {
            "com.amazon.coral.service#MissingRequiredParameterException".to_owned()
        }
        ErrorCode::SerializationException | ErrorCode::UnknownOperationException => {
            format!("com.amazon.coral.service#{}", code.name())
        }
        _ => format!("com.amazonaws.sqs#{}", code.name()),
    };
    let body = serde_json::json!({ "__type": kind, "message": error.message() });
    let (status, fault) = match code.is_fault() {
        true => (500, "Receiver"),
        false => (400, "Sender"),
    };
    ErrorAnswer {
        status,
        body: body.to_string().into_bytes(),
        query_error: format!("{};{fault}", code.query_name()),
    }
}

async fn run<Q, A, F>(body: &[u8], act: impl FnOnce(Q) -> F) -> Result<Vec<u8>, QueueError>
where
    Q: DeserializeOwned,
    A: Serialize,
    F: Future<Output = Result<A, QueueError>>,
{
    let body = if body.is_empty() { b"{}" } else { body };
    let request = serde_json::from_slice(body)
        .map_err(|error| QueueError::new(ErrorCode::SerializationException, error.to_string()))?;
    let answer = act(request).await?;
    serde_json::to_vec(&answer).map_err(|error| QueueError::internal(error.to_string()))
}

/// Where a request came in.
struct Door<'a> {
    queues: &'a Queues,
    origin: &'a str,
}

impl Door<'_> {
    fn url(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.origin, self.queues.settings().account)
    }
}

/// An answer without members.
#[derive(Debug, Serialize)]
struct Nothing {}

/// A request that only names a queue.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OfQueue {
    queue_url: Option<String>,
}

/// A parameter that must be given.
fn required<T>(value: Option<T>, name: &str) -> Result<T, QueueError> {
    value.ok_or_else(|| QueueError::missing(name))
}

/// The queue that a URL names.
fn named(url: Option<&String>) -> Result<&str, QueueError> {
    match url {
        Some(url) if !url.is_empty() => Ok(name::of_url(url)),
        _ => Err(QueueError::missing("QueueUrl")),
    }
}

/// A number within bounds.
fn within(value: i64, (min, max): (i64, i64), name: &str, reason: &str) -> Result<u64, QueueError> {
    u64::try_from(value)
        .ok()
        .filter(|_| (min..=max).contains(&value))
        .ok_or_else(|| QueueError::value(value, name, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_types_and_codes_that_sdks_look_for() {
        let gone = error_answer(&QueueError::no_such_queue());
        assert_eq!(
            (gone.status, gone.query_error.as_str()),
            (400, "AWS.SimpleQueueService.NonExistentQueue;Sender")
        );
        assert_eq!(
            String::from_utf8(gone.body).unwrap(),
            r#"{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}"#
        );
        let ours = error_answer(&QueueError::internal("x"));
        assert_eq!(
            (ours.status, ours.query_error.as_str()),
            (500, "InternalError;Receiver")
        );
    }

    #[test]
    fn operations_that_are_refused_are_told_apart_from_those_that_do_not_exist() {
        assert_eq!(operation("SendMessage"), Ok("SendMessage"));
        let code = |name| operation(name).unwrap_err().code();
        assert_eq!(code("AddPermission"), ErrorCode::UnsupportedOperation);
        assert_eq!(code("SendLetter"), ErrorCode::UnknownOperationException);
    }
}
