//! Messages: what a sender provides, what a receiver gets, and SQS's limits.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_env::Timestamp;
use trestle_item::Number;

use crate::error::{ErrorCode, QueueError};

/// Attributes of a message by name.
pub type MessageAttributes = BTreeMap<String, MessageAttribute>;

/// The most attributes a message can have.
const ATTRIBUTES_MAX: usize = 10;
/// The longest name or type of an attribute.
const NAME_LEN_MAX: usize = 256;

/// The longest group, and the longest deduplication id.
const TOKEN_LEN_MAX: usize = 128;

/// The message attribute, and the queue attribute, for delays beyond SQS's 15 minutes.
pub(crate) const LONG_DELAY: &str = "TrestleDelaySeconds";
/// The longest delay: a year.
pub(crate) const LONG_DELAY_S_MAX: u64 = 365 * 24 * 3600;

/// One attribute of a message. Its serde form is SQS's JSON.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MessageAttribute {
    /// `String`, `Number` or `Binary`, optionally followed by a dot and a custom type.
    #[serde(default)]
    pub data_type: String,
    /// The value of a text or number.
    pub string_value: Option<String>,
    /// The value of a binary attribute.
    #[serde(default, with = "base64_text")]
    pub binary_value: Option<Vec<u8>>,
}

impl MessageAttribute {
    /// A text.
    pub fn text(value: impl Into<String>) -> Self {
        Self {
            data_type: "String".to_owned(),
            string_value: Some(value.into()),
            binary_value: None,
        }
    }

    /// A number.
    pub fn number(value: impl ToString) -> Self {
        Self {
            data_type: "Number".to_owned(),
            ..Self::text(value.to_string())
        }
    }

    /// Bytes.
    pub fn binary(value: impl Into<Vec<u8>>) -> Self {
        Self {
            data_type: "Binary".to_owned(),
            string_value: None,
            binary_value: Some(value.into()),
        }
    }

    fn len(&self) -> usize {
        let value = self.string_value.as_ref().map_or(0, String::len)
            + self.binary_value.as_ref().map_or(0, Vec::len);
        self.data_type.len() + value
    }
}

/// A message to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewMessage {
    /// The text.
    pub body: String,
    /// The delay before receivers see it; by default the queue's delay. A year at most.
    pub delay: Option<Duration>,
    /// Attributes that the application sets.
    pub attributes: MessageAttributes,
    /// X-Ray's trace header.
    pub trace_header: Option<String>,
    /// The group it belongs to. A FIFO queue needs it, and delivers the messages of a group in order; a
    /// standard queue stores and returns it.
    pub group: Option<String>,
    /// Identifies duplicates in a FIFO queue; computed from the body if the queue has
    /// `ContentBasedDeduplication`.
    pub deduplication_id: Option<String>,
}

impl<T: Into<String>> From<T> for NewMessage {
    fn from(body: T) -> Self {
        Self {
            body: body.into(),
            ..Self::default()
        }
    }
}

impl NewMessage {
    /// A job for a [worker](crate::Queues::work), as JSON.
    pub fn job<J: Serialize>(job: &J) -> Result<Self, QueueError> {
        serde_json::to_string(job)
            .map(Self::from)
            .map_err(|error| QueueError::invalid(format!("The job cannot be written as JSON: {error}")))
    }

    /// Visible only after this time; a year at most.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// The size that counts against limits: body and attributes with their names and types.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        let attributes = self.attributes.iter();
        self.body.len()
            + attributes
                .map(|(name, attribute)| name.len() + attribute.len())
                .sum::<usize>()
    }

    /// Applies SQS's checks; the queue checks the size.
    pub(crate) fn check(&self, bytes_max: usize) -> Result<(), QueueError> {
        if self.body.is_empty() {
            return Err(QueueError::missing("MessageBody"));
        }
        check_characters(&self.body)?;
        check_attributes(&self.attributes)?;
        if let Some(group) = &self.group {
            check_token(group, "MessageGroupId")?;
        }
        if self.size_bytes() > bytes_max {
            return Err(QueueError::invalid(format!(
                "One or more parameters are invalid. Reason: Message must be shorter than {bytes_max} bytes."
            )));
        }
        self.long_delay()?;
        Ok(())
    }

    /// The delay in the message's own attribute.
    pub(crate) fn long_delay(&self) -> Result<Option<Duration>, QueueError> {
        let Some(attribute) = self.attributes.get(LONG_DELAY) else {
            return Ok(None);
        };
        let text = attribute.string_value.as_deref().unwrap_or_default();
        let seconds = text.parse().ok().filter(|seconds| *seconds <= LONG_DELAY_S_MAX);
        match seconds {
            Some(seconds) => Ok(Some(Duration::from_secs(seconds))),
            None => Err(QueueError::value(
                text,
                LONG_DELAY,
                format_args!("It must be a whole number of seconds, >= 0 and <= {LONG_DELAY_S_MAX}."),
            )),
        }
    }
}

/// A message that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its id, the same for each reception.
    pub id: String,
    /// The handle to delete it with, different for each reception.
    pub receipt_handle: String,
    /// The text.
    pub body: String,
    /// Attributes that the application set.
    pub attributes: MessageAttributes,
    /// When it was sent.
    pub sent: Timestamp,
    /// How often it was received, including this time and receptions in queues from which it was moved as a
    /// dead letter.
    pub receives: u32,
    /// When it was received first.
    pub first_received: Timestamp,
    /// X-Ray's trace header.
    pub trace_header: Option<String>,
    /// The group it belongs to.
    pub group: Option<String>,
    /// Identifies duplicates in a FIFO queue.
    pub deduplication_id: Option<String>,
    /// Its position in the order of a FIFO queue.
    pub sequence_number: Option<String>,
    /// The ARN of the queue in which it was received too often.
    pub dead_letter_source: Option<String>,
    /// The reason why it became a dead letter, if one was given.
    pub dead_letter_reason: Option<String>,
}

const VALID_CHARACTERS: &str =
    "Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF";

fn check_characters(body: &str) -> Result<(), QueueError> {
    match has_valid_characters(body) {
        true => Ok(()),
        false => Err(QueueError::new(
            ErrorCode::InvalidMessageContents,
            format!("Invalid characters found. {VALID_CHARACTERS}"),
        )),
    }
}

fn has_valid_characters(text: &str) -> bool {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    // Nearly every text is free of the forbidden characters: bytes below a space, and two code points.
    text.bytes().all(|byte| (0x20..0x80).contains(&byte)) || text.chars().all(allowed)
}

/// A group or a deduplication id.
pub(crate) fn check_token(token: &str, parameter: &str) -> Result<(), QueueError> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte.is_ascii_punctuation();
    if (1..=TOKEN_LEN_MAX).contains(&token.len()) && token.bytes().all(is_valid) {
        return Ok(());
    }
    Err(QueueError::value(
        token,
        parameter,
        format_args!(
            "{parameter} can only include alphanumeric and punctuation characters. 1 to {TOKEN_LEN_MAX} in length."
        ),
    ))
}

fn check_attributes(attributes: &MessageAttributes) -> Result<(), QueueError> {
    if attributes.len() > ATTRIBUTES_MAX {
        return Err(QueueError::invalid(format!(
            "Number of message attributes [{}] exceeds the allowed maximum [{ATTRIBUTES_MAX}].",
            attributes.len()
        )));
    }
    for (name, attribute) in attributes {
        check_name(name)?;
        check_value(name, attribute)?;
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), QueueError> {
    let lower = name.to_ascii_lowercase();
    let problem = if name.is_empty() || name.chars().count() > NAME_LEN_MAX {
        format!("The length of message (user) attribute name must be between 1 and {NAME_LEN_MAX}.")
    } else if !name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) {
        format!(
            "Message (user) attribute name '{name}' contains invalid characters. Only alphanumeric characters, \
             underscores (_), hyphens (-), and periods (.) are allowed."
        )
    } else if lower.starts_with("aws.") || lower.starts_with("amazon.") {
        format!("You can't use message attribute names beginning with 'AWS.' or 'Amazon.': '{name}'.")
    } else if name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        format!(
            "Message (user) attribute name '{name}' may not begin or end with a period, nor have two in sequence."
        )
    } else {
        return Ok(());
    };
    Err(QueueError::invalid(problem))
}

fn check_value(name: &str, attribute: &MessageAttribute) -> Result<(), QueueError> {
    let data_type = attribute.data_type.as_str();
    if data_type.is_empty() {
        return Err(QueueError::invalid(format!(
            "The message (user) attribute '{name}' must contain a non-empty message attribute type."
        )));
    }
    if data_type.len() > NAME_LEN_MAX {
        return Err(QueueError::invalid(format!(
            "The length of the type of message (user) attribute '{name}' must be at most {NAME_LEN_MAX}."
        )));
    }
    let base = data_type.split('.').next().unwrap_or_default();
    let text = attribute.string_value.as_deref().unwrap_or_default();
    let empty = match base {
        "String" | "Number" => text.is_empty(),
        "Binary" => attribute.binary_value.as_ref().is_none_or(Vec::is_empty),
        _ => {
            return Err(QueueError::invalid(format!(
                "The type of message (user) attribute '{name}' is invalid. You must use only the following \
                 supported type prefixes: Binary, Number, String."
            )));
        }
    };
    if empty {
        return Err(QueueError::invalid(format!(
            "Message (user) attribute '{name}' must contain a non-empty value of type '{base}'."
        )));
    }
    if base == "Number" && Number::parse(text).is_err() {
        return Err(QueueError::invalid(format!(
            "Could not cast message (user) attribute '{name}' value to number."
        )));
    }
    if !has_valid_characters(text) {
        return Err(QueueError::invalid(format!(
            "Message (user) attribute '{name}' has a value with invalid characters. {VALID_CHARACTERS}"
        )));
    }
    Ok(())
}

/// Bytes as Base64, as JSON has them.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(bytes) => serializer.serialize_str(&STANDARD.encode(bytes)),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| STANDARD.decode(text).map_err(serde::de::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(message: &NewMessage) -> String {
        message.check(100).unwrap_err().to_string()
    }

    fn with(name: &str, attribute: MessageAttribute) -> NewMessage {
        NewMessage {
            attributes: MessageAttributes::from([(name.to_owned(), attribute)]),
            ..NewMessage::from("a")
        }
    }

    #[test]
    fn a_message_has_a_body_of_valid_characters_within_the_limit() {
        assert_eq!(NewMessage::from("a\u{fffd}\u{10ffff}\t").check(100), Ok(()));
        assert!(refused(&NewMessage::from("")).contains("MessageBody"));
        assert!(refused(&NewMessage::from("\u{1}")).starts_with("Invalid characters"));
        assert!(refused(&NewMessage::from("\u{ffff}")).starts_with("Invalid characters"));
        assert!(refused(&NewMessage::from("x".repeat(101))).contains("shorter than 100 bytes"));
        let attribute = MessageAttribute::text("x".repeat(88));
        assert_eq!(with("name", attribute).size_bytes(), 1 + 4 + 6 + 88);
    }

    #[test]
    fn attributes_have_names_types_and_values() {
        for name in ["a.b-c_1", "attr.1øßä"] {
            assert_eq!(with(name, MessageAttribute::number("1e3")).check(100), Ok(()));
        }
        let code = with("a", MessageAttribute::text("\u{8}"))
            .check(100)
            .unwrap_err()
            .code();
        assert_eq!(code, ErrorCode::InvalidParameterValue);
        for (name, attribute, words) in [
            ("aws.x", MessageAttribute::text("x"), "beginning with"),
            ("a..b", MessageAttribute::text("x"), "in sequence"),
            ("§", MessageAttribute::text("x"), "invalid characters"),
            (
                "a",
                MessageAttribute::text("\u{8}"),
                "value with invalid characters",
            ),
            ("a", MessageAttribute::text(""), "non-empty value"),
            ("a", MessageAttribute::binary(""), "non-empty value"),
            ("a", MessageAttribute::number("one"), "to number"),
            (
                "a",
                MessageAttribute::default(),
                "non-empty message attribute type",
            ),
            (LONG_DELAY, MessageAttribute::number("-1"), "whole number"),
        ] {
            let said = refused(&with(name, attribute));
            assert!(said.contains(words), "{said}");
        }
        let custom = MessageAttribute {
            data_type: "Other".to_owned(),
            ..MessageAttribute::text("x")
        };
        assert!(refused(&with("a", custom)).contains("supported type prefixes"));
    }

    #[test]
    fn a_delay_of_ours_is_a_message_attribute() {
        let message = with(LONG_DELAY, MessageAttribute::number(86_400));
        assert_eq!(message.long_delay(), Ok(Some(Duration::from_secs(86_400))));
    }
}
