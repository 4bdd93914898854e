//! `SendMessage`, `DeleteMessage`, `ChangeMessageVisibility` and their batches.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::batch::{self, BatchResult, Done};
use super::{Door, Nothing, named, required, within};
use crate::attributes::MESSAGE_BYTES_MAX;
use crate::digest;
use crate::error::{ErrorCode, QueueError};
use crate::message::{MessageAttribute, MessageAttributes, NewMessage};
use crate::send::SentMessage;

const VISIBILITY_S_MAX: i64 = 43_200;
const DELAY_S_MAX: i64 = 900;
const TRACE: &str = "AWSTraceHeader";

/// A single message, which has a queue, or an entry of a batch, which has an id.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SendMessage {
    queue_url: Option<String>,
    id: Option<String>,
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    message_attributes: Option<MessageAttributes>,
    message_system_attributes: Option<BTreeMap<String, MessageAttribute>>,
    message_deduplication_id: Option<String>,
    message_group_id: Option<String>,
}

/// The answer to either, with the sums by which a sender checks that it arrived intact.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Sent {
    id: Option<String>,
    message_id: String,
    #[serde(rename = "MD5OfMessageBody")]
    md5_of_message_body: String,
    #[serde(rename = "MD5OfMessageAttributes")]
    md5_of_message_attributes: Option<String>,
    #[serde(rename = "MD5OfMessageSystemAttributes")]
    md5_of_message_system_attributes: Option<String>,
    sequence_number: Option<String>,
}

impl Sent {
    fn with(self, sent: SentMessage) -> Self {
        Self {
            message_id: sent.id,
            sequence_number: sent.sequence_number,
            ..self
        }
    }

    /// The answer, once the message has an id.
    fn expected(id: Option<String>, message: &NewMessage) -> Self {
        Self {
            id,
            message_id: String::new(),
            md5_of_message_body: digest::of_body(&message.body),
            md5_of_message_attributes: digest::of_attributes(&message.attributes),
            md5_of_message_system_attributes: message.trace_header.as_deref().map(digest::of_trace_header),
            sequence_number: None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct SendMessageBatch {
    queue_url: Option<String>,
    #[serde(default)]
    entries: Vec<SendMessage>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct DeleteMessage {
    queue_url: Option<String>,
    receipt_handle: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct HandleBatch {
    queue_url: Option<String>,
    #[serde(default)]
    entries: Vec<HandleEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HandleEntry {
    id: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ChangeMessageVisibility {
    queue_url: Option<String>,
    receipt_handle: Option<String>,
    visibility_timeout: Option<i64>,
}

impl Door<'_> {
    pub(super) async fn send_message(&self, mut request: SendMessage) -> Result<Sent, QueueError> {
        let url = request.queue_url.take();
        let queue = named(url.as_ref())?;
        let mut message = request.meant()?;
        let sent = Sent::expected(None, &message);
        self.trace(&mut message);
        Ok(sent.with(self.queues.send_one(queue, message).await?))
    }

    pub(super) async fn send_message_batch(
        &self,
        request: SendMessageBatch,
    ) -> Result<BatchResult<Sent>, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let ids = request.entries.iter().map(|entry| entry.id.as_ref());
        batch::check("SendMessageBatchRequestEntry", ids)?;
        let mut result = BatchResult::new();
        let (mut expected, mut messages, mut bytes) = (Vec::new(), Vec::new(), 0);
        for mut entry in request.entries {
            let id = entry.id.take();
            match entry.meant() {
                Ok(mut message) => {
                    bytes += message.size_bytes();
                    expected.push(Sent::expected(id, &message));
                    self.trace(&mut message);
                    messages.push(message);
                }
                Err(error) => result.fail(id.unwrap_or_default(), &error),
            }
        }
        if bytes > MESSAGE_BYTES_MAX {
            return Err(QueueError::new(
                ErrorCode::BatchRequestTooLong,
                format!(
                    "Batch requests cannot be longer than {MESSAGE_BYTES_MAX} bytes. You have sent {bytes} bytes."
                ),
            ));
        }
        let sent = self.queues.send_many(queue, messages).await?;
        for (expected, sent) in expected.into_iter().zip(sent) {
            match sent {
                Ok(sent) => result.successful.push(expected.with(sent)),
                Err(error) => result.fail(expected.id.unwrap_or_default(), &error),
            }
        }
        Ok(result)
    }

    /// A message without a trace of its own gets that of the request.
    fn trace(&self, message: &mut NewMessage) {
        let header = &mut message.trace_header;
        *header = header
            .take()
            .or_else(|| self.caller.trace_header.map(str::to_owned));
    }

    pub(super) async fn delete_message(&self, request: DeleteMessage) -> Result<Nothing, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let handle = required(request.receipt_handle, "ReceiptHandle")?;
        self.queues.delete(queue, &handle).await?;
        Ok(Nothing {})
    }

    pub(super) async fn delete_message_batch(
        &self,
        request: HandleBatch,
    ) -> Result<BatchResult<Done>, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let ids = request.entries.iter().map(|entry| entry.id.as_ref());
        batch::check("DeleteMessageBatchRequestEntry", ids)?;
        let handles: Vec<&str> = request.entries.iter().map(HandleEntry::handle).collect();
        let deleted = self.queues.delete_batch(queue, &handles).await?;
        let mut result = BatchResult::new();
        for (entry, deleted) in request.entries.into_iter().zip(deleted) {
            result.add(entry.id.unwrap_or_default(), deleted);
        }
        Ok(result)
    }

    pub(super) async fn change_message_visibility(
        &self,
        request: ChangeMessageVisibility,
    ) -> Result<Nothing, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let handle = required(request.receipt_handle, "ReceiptHandle")?;
        let timeout = required(request.visibility_timeout, "VisibilityTimeout")?;
        let timeout = visibility(timeout)?;
        self.queues.change_visibility(queue, &handle, timeout).await?;
        Ok(Nothing {})
    }

    pub(super) async fn change_message_visibility_batch(
        &self,
        request: HandleBatch,
    ) -> Result<BatchResult<Done>, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let ids = request.entries.iter().map(|entry| entry.id.as_ref());
        batch::check("ChangeMessageVisibilityBatchRequestEntry", ids)?;
        self.queues.queue(queue).await?;
        let mut result = BatchResult::new();
        for entry in request.entries {
            let changed = match visibility(entry.visibility_timeout.unwrap_or_default()) {
                Ok(timeout) => {
                    let handle = entry.handle();
                    self.queues.change_visibility(queue, handle, timeout).await
                }
                Err(error) => Err(error),
            };
            result.add(entry.id.unwrap_or_default(), changed);
        }
        Ok(result)
    }
}

impl HandleEntry {
    fn handle(&self) -> &str {
        self.receipt_handle.as_deref().unwrap_or_default()
    }
}

impl SendMessage {
    /// The message for the queue, which makes its own checks.
    fn meant(self) -> Result<NewMessage, QueueError> {
        let delay = match self.delay_seconds {
            None => None,
            Some(seconds) => Some(Duration::from_secs(within(
                seconds,
                (0, DELAY_S_MAX),
                "DelaySeconds",
                "DelaySeconds must be >= 0 and <= 900. For a longer delay set the message attribute \
                 TrestleDelaySeconds.",
            )?)),
        };
        Ok(NewMessage {
            body: required(self.message_body, "MessageBody")?,
            delay,
            attributes: self.message_attributes.unwrap_or_default(),
            trace_header: trace_header(self.message_system_attributes.unwrap_or_default())?,
            group: self.message_group_id,
            deduplication_id: self.message_deduplication_id,
        })
    }
}

/// X-Ray's header is the only system attribute that a sender can set.
fn trace_header(attributes: BTreeMap<String, MessageAttribute>) -> Result<Option<String>, QueueError> {
    let mut header = None;
    for (name, attribute) in attributes {
        match attribute.string_value {
            Some(value) if name == TRACE && attribute.data_type == "String" => header = Some(value),
            _ => {
                return Err(QueueError::invalid(format!(
                    "Message system attribute name '{name}' is invalid. Only {TRACE} of type String can be set."
                )));
            }
        }
    }
    Ok(header)
}

fn visibility(seconds: i64) -> Result<Duration, QueueError> {
    let reason = "Must be >= 0 and <= 43200, if provided.";
    within(seconds, (0, VISIBILITY_S_MAX), "VisibilityTimeout", reason).map(Duration::from_secs)
}
