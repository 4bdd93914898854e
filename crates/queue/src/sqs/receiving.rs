//! `ReceiveMessage`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Door, named, within};
use crate::attributes;
use crate::digest;
use crate::error::QueueError;
use crate::message::{Message, MessageAttributes};
use crate::receive::Receive;

const SYSTEM_ATTRIBUTES: &[&str] = &[
    "All",
    "SenderId",
    "SentTimestamp",
    "ApproximateReceiveCount",
    "ApproximateFirstReceiveTimestamp",
    "SequenceNumber",
    "MessageDeduplicationId",
    "MessageGroupId",
    "AWSTraceHeader",
    "DeadLetterQueueSourceArn",
];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiveMessage {
    queue_url: Option<String>,
    /// The older name of the next field.
    attribute_names: Option<Vec<String>>,
    message_system_attribute_names: Option<Vec<String>>,
    message_attribute_names: Option<Vec<String>>,
    max_number_of_messages: Option<i64>,
    visibility_timeout: Option<i64>,
    wait_time_seconds: Option<i64>,
    receive_request_attempt_id: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ReceiveMessageResult {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<Received>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Received {
    message_id: String,
    receipt_handle: String,
    #[serde(rename = "MD5OfBody")]
    md5_of_body: String,
    body: String,
    attributes: Option<SystemAttributes>,
    #[serde(rename = "MD5OfMessageAttributes")]
    md5_of_message_attributes: Option<String>,
    #[serde(skip_serializing_if = "MessageAttributes::is_empty")]
    message_attributes: MessageAttributes,
}

#[skip_serializing_none]
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct SystemAttributes {
    sender_id: Option<String>,
    sent_timestamp: Option<String>,
    approximate_receive_count: Option<String>,
    approximate_first_receive_timestamp: Option<String>,
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
    sequence_number: Option<String>,
    #[serde(rename = "AWSTraceHeader")]
    aws_trace_header: Option<String>,
    dead_letter_queue_source_arn: Option<String>,
}

/// The attributes that a receiver requested.
struct Asked {
    system: Vec<String>,
    own: Vec<String>,
}

impl Door<'_> {
    pub(super) async fn receive_message(
        &self,
        request: ReceiveMessage,
    ) -> Result<ReceiveMessageResult, QueueError> {
        let queue = named(request.queue_url.as_ref())?;
        let receive = how(&request)?;
        let mut system = request.message_system_attribute_names.unwrap_or_default();
        system.extend(request.attribute_names.unwrap_or_default());
        if let Some(unknown) = system
            .iter()
            .find(|name| !SYSTEM_ATTRIBUTES.contains(&name.as_str()))
        {
            return Err(attributes::unknown(unknown));
        }
        let asked = Asked {
            system,
            own: request.message_attribute_names.unwrap_or_default(),
        };
        let messages = match &request.receive_request_attempt_id {
            Some(attempt) => self.queues.receive_attempt(queue, receive, attempt).await?,
            None => self.queues.receive(queue, receive).await?,
        };
        let sender = &self.queues.settings().account;
        let shown = messages.into_iter().map(|message| asked.show(message, sender));
        Ok(ReceiveMessageResult {
            messages: shown.collect(),
        })
    }
}

fn how(request: &ReceiveMessage) -> Result<Receive, QueueError> {
    let seconds = |value: Option<i64>, max, name| {
        let reason = format!("Must be >= 0 and <= {max}, if provided.");
        value
            .map(|value| within(value, (0, max), name, &reason).map(Duration::from_secs))
            .transpose()
    };
    let max = within(
        request.max_number_of_messages.unwrap_or(1),
        (1, 10),
        "MaxNumberOfMessages",
        "Must be between 1 and 10, if provided.",
    )?;
    Ok(Receive {
        max: usize::try_from(max).unwrap_or(1),
        visibility: seconds(request.visibility_timeout, 43_200, "VisibilityTimeout")?,
        wait: seconds(request.wait_time_seconds, 20, "WaitTimeSeconds")?,
    })
}

impl Asked {
    fn show(&self, message: Message, sender: &str) -> Received {
        let attributes = self.system_attributes(&message, sender);
        let mut own = message.attributes;
        own.retain(|name, _| self.wants_own(name));
        Received {
            message_id: message.id,
            receipt_handle: message.receipt_handle,
            md5_of_body: digest::of_body(&message.body),
            body: message.body,
            attributes,
            md5_of_message_attributes: digest::of_attributes(&own),
            message_attributes: own,
        }
    }

    fn system_attributes(&self, message: &Message, sender: &str) -> Option<SystemAttributes> {
        if self.system.is_empty() {
            return None;
        }
        let wants = |name: &str| self.system.iter().any(|asked| asked == "All" || asked == name);
        let attributes = SystemAttributes {
            sender_id: wants("SenderId").then(|| sender.to_owned()),
            sent_timestamp: wants("SentTimestamp").then(|| message.sent.as_millis().to_string()),
            approximate_receive_count: wants("ApproximateReceiveCount").then(|| message.receives.to_string()),
            approximate_first_receive_timestamp: wants("ApproximateFirstReceiveTimestamp")
                .then(|| message.first_received.as_millis().to_string()),
            message_group_id: message.group.clone().filter(|_| wants("MessageGroupId")),
            message_deduplication_id: message
                .deduplication_id
                .clone()
                .filter(|_| wants("MessageDeduplicationId")),
            sequence_number: message
                .sequence_number
                .clone()
                .filter(|_| wants("SequenceNumber")),
            aws_trace_header: message.trace_header.clone().filter(|_| wants("AWSTraceHeader")),
            dead_letter_queue_source_arn: message
                .dead_letter_source
                .clone()
                .filter(|_| wants("DeadLetterQueueSourceArn")),
        };
        (attributes != SystemAttributes::default()).then_some(attributes)
    }

    /// By name, by the beginning of a name (`bar.*`), or all (`All`, `*`, `.*`).
    fn wants_own(&self, name: &str) -> bool {
        self.own.iter().any(|asked| match asked.strip_suffix(".*") {
            Some(start) => name.starts_with(start),
            None => asked == "All" || asked == "*" || asked == name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_asked_for_by_name_beginning_or_all() {
        let asked = |own: &[&str]| Asked {
            system: Vec::new(),
            own: own.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert!(asked(&["All"]).wants_own("x") && asked(&[".*"]).wants_own("x"));
        assert!(asked(&["*"]).wants_own("x"));
        assert!(asked(&["bar.*"]).wants_own("bar.x") && !asked(&["bar.*"]).wants_own("foo"));
        assert!(asked(&["a", "b"]).wants_own("b") && !asked(&[]).wants_own("b"));
    }
}
