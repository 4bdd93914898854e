//! SQS's JSON protocol: from bodies to calls on [`Queues`], and back to answers.
//!
//! One file per group of operations; the structs in them are the requests and answers of SQS's service model.

mod batch;
mod messages;
mod moving;
pub mod query;
mod queue_settings;
mod receiving;

use std::future::Future;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorCode, QueueError};
use crate::name;
use crate::queues::Queues;

/// The prefix of `X-Amz-Target` headers of SQS.
pub const TARGET_PREFIX: &str = "AmazonSQS.";

/// Passes the list of SQS's operations to a macro: name and method of each.
///
/// This is the only list of the operations on queues.
#[macro_export]
macro_rules! for_each_queue_operation {
    ($callback:ident) => {
        $callback! {
            SendMessage send_message,
            SendMessageBatch send_message_batch,
            ReceiveMessage receive_message,
            DeleteMessage delete_message,
            DeleteMessageBatch delete_message_batch,
            ChangeMessageVisibility change_message_visibility,
            ChangeMessageVisibilityBatch change_message_visibility_batch,
            CreateQueue create_queue,
            GetQueueUrl get_queue_url,
            ListQueues list_queues,
            DeleteQueue delete_queue,
            PurgeQueue purge_queue,
            GetQueueAttributes get_queue_attributes,
            SetQueueAttributes set_queue_attributes,
            ListDeadLetterSourceQueues list_dead_letter_source_queues,
            TagQueue tag_queue,
            UntagQueue untag_queue,
            ListQueueTags list_queue_tags,
            StartMessageMoveTask start_message_move_task,
            ListMessageMoveTasks list_message_move_tasks,
            CancelMessageMoveTask cancel_message_move_task,
            AddPermission add_permission,
            RemovePermission remove_permission,
        }
    };
}

macro_rules! define {
    ($($operation:ident $method:ident,)*) => {
        /// An operation on queues: the name in `X-Amz-Target`, parsed once.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "each variant is the operation of its name")]
        pub enum QueueOperation {
            $($operation,)*
        }

        impl QueueOperation {
            /// Every operation that is answered.
            pub const ALL: &'static [Self] = &[$(Self::$operation,)*];

            /// Whether it changes nothing. Receiving does: it hides a message from others.
            #[must_use]
            pub const fn is_read(self) -> bool {
                matches!(
                    self,
                    Self::GetQueueUrl
                        | Self::ListQueues
                        | Self::GetQueueAttributes
                        | Self::ListDeadLetterSourceQueues
                        | Self::ListQueueTags
                        | Self::ListMessageMoveTasks
                )
            }

            /// The name in the protocol.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$operation => stringify!($operation),)*
                }
            }
        }

        impl FromStr for QueueOperation {
            type Err = QueueError;

            /// The operation with the name that follows [`TARGET_PREFIX`] in an `X-Amz-Target` header.
            fn from_str(name: &str) -> Result<Self, QueueError> {
                match name {
                    $(stringify!($operation) => Ok(Self::$operation),)*
                    _ => Err(no_such_operation(name)),
                }
            }
        }

        /// Executes an operation.
        pub async fn answer(
            queues: &Queues,
            operation: QueueOperation,
            body: &[u8],
            caller: Caller<'_>,
        ) -> Result<Vec<u8>, QueueError> {
            let door = &Door { queues, caller };
            match operation {
                $(QueueOperation::$operation => run(body, |request| door.$method(request)).await,)*
            }
        }
    };
}

for_each_queue_operation!(define);

fn no_such_operation(name: &str) -> QueueError {
    QueueError::new(
        ErrorCode::UnknownOperationException,
        format!("The action {name} is not valid for this endpoint."),
    )
}

/// An error in the form of HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// The `x-amzn-query-error` header: the code of the older protocol, and which side is at fault.
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
    let fault = if code.is_fault() { "Receiver" } else { "Sender" };
    ErrorAnswer {
        status: code.status(),
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

/// What the connection shows about a caller.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// The URL by which it reached this server, such as `http://127.0.0.1:8000`; queues' URLs begin with it.
    pub origin: &'a str,
    /// The header `X-Amzn-Trace-Id`, which becomes the attribute `AWSTraceHeader` of the messages that it sends.
    pub trace_header: Option<&'a str>,
}

/// How a request arrived.
struct Door<'a> {
    queues: &'a Queues,
    caller: Caller<'a>,
}

impl Door<'_> {
    fn url(&self, name: &str) -> String {
        format!("{}/{}/{name}", self.caller.origin, self.queues.settings().account)
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

/// A required parameter.
fn required<T>(value: Option<T>, name: &str) -> Result<T, QueueError> {
    value.ok_or_else(|| QueueError::missing(name))
}

/// The queue in a URL.
fn named(url: Option<&String>) -> Result<&str, QueueError> {
    match url {
        Some(url) if !url.is_empty() => Ok(name::of_url(url)),
        _ => Err(QueueError::missing("QueueUrl")),
    }
}

/// A number within its bounds.
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
    fn every_operation_is_found_by_its_name_and_no_other() {
        for operation in QueueOperation::ALL {
            assert_eq!(operation.as_str().parse(), Ok(*operation));
        }
        let code = |name: &str| name.parse::<QueueOperation>().unwrap_err().code();
        assert_eq!(code("SendLetter"), ErrorCode::UnknownOperationException);
    }
}
