//! How queues and messages are stored in the table.
//!
//! | partition | sort | what |
//! |---|---|---|
//! | `queues` | queue name | its definition, as JSON |
//! | `q#ID#GENERATION` | sequence | a message; written once, never changed |
//! | `q#ID#GENERATION` | sequence and `+` | what happened to that message since: receptions, when it is due |
//! | `q#ID#GENERATION` | `~` and sequence | that a message was sent to a FIFO queue, and its key among duplicates; for five minutes |
//! | `b#MESSAGE` | 0, 1, … | pieces of a message that is too large for one row |
//! | `moves` | source and start | a message move task, as JSON |
//! | `garbage` | partition | a partition whose rows are being deleted |

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item, Number};

use crate::duplicates::Original;
use crate::error::QueueError;
use crate::handle::Handle;
use crate::index::{Entry, MessageNumber, Parts};
use crate::message::{Message, MessageAttributes, NewMessage};

/// The table's name.
pub(crate) const TABLE: &str = "_trestle.queues";
pub(crate) const PARTITION: &str = "pk";
pub(crate) const SORT: &str = "sk";

/// The partition of all definitions.
pub(crate) const QUEUES: &str = "queues";
/// The partition of all message move tasks.
pub(crate) const MOVES: &str = "moves";
/// The partition of what is being deleted.
pub(crate) const GARBAGE: &str = "garbage";

/// How many bytes may be in one row; a row can have 400 KB.
const ROW_BYTES_MAX: usize = 300 * 1024;

/// The prefix of the keys of rows that remember sent messages.
const ORIGINAL: char = '~';

pub(crate) const DOCUMENT: &str = "doc";
const ID: &str = "id";
const SENT: &str = "sent";
const KEPT_FROM: &str = "kept";
const DUE: &str = "due";
pub(crate) const BODY: &str = "body";
const ATTRIBUTES: &str = "attrs";
const TRACE: &str = "trace";
const GROUP: &str = "group";
const DEDUPLICATION: &str = "dedup";
const SOURCE: &str = "source";
const REASON: &str = "reason";
const RECEIVES: &str = "receives";
const EARLIER: &str = "earlier";
const FIRST: &str = "first";
const PARTS: &str = "parts";
const PARTS_COUNT: &str = "partsN";
const BODY_LEN: &str = "bodyLen";

pub(crate) fn key(partition: &str, sort: impl Into<String>) -> Item {
    let mut key = Item::with_capacity(2);
    key.insert(PARTITION, partition);
    key.insert(SORT, sort.into());
    key
}

/// The partition of a queue's messages.
pub(crate) fn messages(id: u64, generation: u32) -> String {
    format!("q#{id:016x}#{generation}")
}

pub(crate) fn message_sort(sequence: MessageNumber) -> String {
    format!("{:016x}", sequence.0)
}

pub(crate) fn state_sort(sequence: MessageNumber) -> String {
    format!("{:016x}+", sequence.0)
}

pub(crate) fn original_sort(sequence: MessageNumber) -> String {
    format!("{ORIGINAL}{:016x}", sequence.0)
}

/// The record that a message was sent to a FIFO queue.
pub(crate) fn original_row(partition: &str, dedup_key: &str, original: &Original) -> Item {
    let mut item = key(partition, original_sort(original.sequence));
    item.insert(DEDUPLICATION, dedup_key);
    item.insert(ID, original.id.as_str());
    item.insert(SENT, original.sent.as_millis());
    item
}

pub(crate) fn part_sort(number: u32) -> String {
    format!("{number}")
}

/// A row that holds a document.
pub(crate) fn document(partition: &str, sort: &str, json: String) -> Item {
    let mut item = key(partition, sort);
    item.insert(DOCUMENT, json);
    item
}

/// Reads a row that holds a document: its sort key, and the document.
pub(crate) fn read_document<T: DeserializeOwned>(item: &Item) -> Result<(&str, T), QueueError> {
    let document = serde_json::from_str(text(item, DOCUMENT)?).map_err(|_| damaged(item, DOCUMENT))?;
    Ok((text(item, SORT)?, document))
}

/// The error for a row that the queues did not write like this.
pub(crate) fn damaged(item: &Item, attribute: &str) -> QueueError {
    let key = |name: &str| item.get(name).and_then(AttributeValue::as_s).unwrap_or("?");
    QueueError::internal(format!(
        "The row with {PARTITION} `{}` and {SORT} `{}` of the table {TABLE} is damaged: its attribute `{attribute}` is \
         missing or cannot be read. Restore the database from a backup; until then no message is handed out, so that \
         none is lost or received twice",
        key(PARTITION),
        key(SORT),
    ))
}

/// The stored message, as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) id: String,
    pub(crate) sent: Timestamp,
    pub(crate) kept_from: Timestamp,
    pub(crate) due: Timestamp,
    pub(crate) content: Content,
    pub(crate) trace_header: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) deduplication_id: Option<String>,
    pub(crate) dead_letter_source: Option<String>,
    pub(crate) dead_letter_reason: Option<String>,
    /// How often it was received in the queues from which it was moved as a dead letter.
    pub(crate) earlier_receives: u32,
}

/// Body and attributes, the latter as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Here {
        body: String,
        attributes: Option<String>,
    },
    /// In separate rows: the body, then the attributes.
    InParts { parts: Parts, body_len: usize },
}

impl Stored {
    /// A new message, sent now.
    pub(crate) fn new(
        message: NewMessage,
        id: String,
        now: Timestamp,
        delay: Duration,
    ) -> Result<(Self, Vec<Item>), QueueError> {
        let long = message.long_delay()?;
        let delay = long.or(message.delay).unwrap_or(delay);
        let due = now.plus(delay);
        let attributes = match message.attributes.is_empty() {
            true => None,
            false => Some(
                serde_json::to_string(&message.attributes)
                    .map_err(|error| QueueError::internal(error.to_string()))?,
            ),
        };
        let (content, parts) = divide(message.body, attributes, &id);
        let stored = Self {
            id,
            sent: now,
            // Retention begins when the message becomes visible first, so that a long delay does not shorten
            // it.
            kept_from: due,
            due,
            content,
            trace_header: message.trace_header,
            group: message.group,
            deduplication_id: message.deduplication_id,
            dead_letter_source: None,
            dead_letter_reason: None,
            earlier_receives: 0,
        };
        Ok((stored, parts))
    }

    /// As a row of a queue.
    pub(crate) fn into_row(self, partition: &str, sequence: MessageNumber) -> (Item, Entry) {
        let mut item = Item::with_capacity(10);
        // In order of name, so that each is appended.
        let mut parts = None;
        match self.content {
            Content::Here { body, attributes } => {
                insert_text(&mut item, ATTRIBUTES, attributes);
                item.insert(BODY, body);
            }
            Content::InParts {
                parts: rows,
                body_len,
            } => {
                item.insert(BODY_LEN, body_len as u64);
                item.insert(PARTS, rows.partition.as_str());
                item.insert(PARTS_COUNT, u64::from(rows.count));
                parts = Some(Box::new(rows));
            }
        }
        insert_text(&mut item, DEDUPLICATION, self.deduplication_id);
        if self.due > self.sent {
            item.insert(DUE, self.due.as_millis());
        }
        if self.earlier_receives > 0 {
            item.insert(EARLIER, u64::from(self.earlier_receives));
        }
        let group = self.group.as_deref().map(Arc::from);
        insert_text(&mut item, GROUP, self.group);
        item.insert(ID, self.id);
        if self.kept_from != self.sent {
            item.insert(KEPT_FROM, self.kept_from.as_millis());
        }
        item.insert(PARTITION, partition);
        insert_text(&mut item, REASON, self.dead_letter_reason);
        item.insert(SENT, self.sent.as_millis());
        item.insert(SORT, message_sort(sequence));
        insert_text(&mut item, SOURCE, self.dead_letter_source);
        insert_text(&mut item, TRACE, self.trace_header);
        let entry = Entry::new(self.kept_from, self.due, parts);
        (item, Entry { group, ..entry })
    }

    /// Reads a row.
    pub(crate) fn read(mut item: Item) -> Result<Self, QueueError> {
        let sent = time(&item, SENT)?;
        let content = match parts(&item)? {
            Some(parts) => Content::InParts {
                parts,
                body_len: usize::try_from(whole(&item, BODY_LEN)?).map_err(|_| damaged(&item, BODY_LEN))?,
            },
            None => Content::Here {
                body: take_text(&mut item, BODY)?.ok_or_else(|| damaged(&item, BODY))?,
                attributes: take_text(&mut item, ATTRIBUTES)?,
            },
        };
        Ok(Self {
            earlier_receives: match item.contains_key(EARLIER) {
                true => u32::try_from(whole(&item, EARLIER)?).map_err(|_| damaged(&item, EARLIER))?,
                false => 0,
            },
            id: take_text(&mut item, ID)?.ok_or_else(|| damaged(&item, ID))?,
            sent,
            kept_from: optional_time(&item, KEPT_FROM)?.unwrap_or(sent),
            due: optional_time(&item, DUE)?.unwrap_or(sent),
            content,
            trace_header: take_text(&mut item, TRACE)?,
            group: take_text(&mut item, GROUP)?,
            deduplication_id: take_text(&mut item, DEDUPLICATION)?,
            dead_letter_source: take_text(&mut item, SOURCE)?,
            dead_letter_reason: take_text(&mut item, REASON)?,
        })
    }

    /// For a receiver; `content` is the content that [`Stored::content`] refers to.
    pub(crate) fn into_message(
        self,
        (body, attributes): (String, Option<String>),
        entry: &Entry,
        handle: Handle,
    ) -> Result<Message, QueueError> {
        let attributes = match attributes {
            None => MessageAttributes::new(),
            Some(json) => serde_json::from_str(&json)
                .map_err(|error| QueueError::internal(format!("stored attributes of a message: {error}")))?,
        };
        Ok(Message {
            id: self.id,
            receipt_handle: handle.encode(),
            body,
            attributes,
            sent: self.sent,
            receives: self.earlier_receives.saturating_add(entry.receives),
            first_received: entry.first_received,
            trace_header: self.trace_header,
            // Only FIFO queues have both.
            sequence_number: self
                .deduplication_id
                .is_some()
                .then(|| handle.sequence.to_string()),
            group: self.group,
            deduplication_id: self.deduplication_id,
            dead_letter_source: self.dead_letter_source,
            dead_letter_reason: self.dead_letter_reason,
        })
    }
}

/// Keeps content in the row if it fits there.
fn divide(body: String, attributes: Option<String>, id: &str) -> (Content, Vec<Item>) {
    let size = body.len() + attributes.as_ref().map_or(0, String::len);
    if size <= ROW_BYTES_MAX {
        return (Content::Here { body, attributes }, Vec::new());
    }
    let partition = format!("b#{id}");
    let body_len = body.len();
    let whole = body + attributes.as_deref().unwrap_or_default();
    let mut rest = whole.as_str();
    let mut items = Vec::new();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(ROW_BYTES_MAX));
        let mut item = key(&partition, part_sort(items.len() as u32));
        item.insert(BODY, piece);
        items.push(item);
        rest = behind;
    }
    let parts = Parts {
        partition,
        count: items.len() as u32,
    };
    (Content::InParts { parts, body_len }, items)
}

/// Joins body and attributes.
pub(crate) fn join(pieces: &[Item], body_len: usize) -> Option<(String, Option<String>)> {
    let mut whole = String::new();
    for piece in pieces {
        whole += piece.get(BODY)?.as_s()?;
    }
    if !whole.is_char_boundary(body_len) || whole.len() < body_len {
        return None;
    }
    let attributes = whole.split_off(body_len);
    Some((whole, (!attributes.is_empty()).then_some(attributes)))
}

/// The state of a message since it was sent.
pub(crate) fn state_row(partition: &str, sequence: MessageNumber, entry: &Entry) -> Item {
    let mut item = Item::with_capacity(5);
    item.insert(DUE, entry.due.as_millis());
    item.insert(FIRST, entry.first_received.as_millis());
    item.insert(PARTITION, partition);
    item.insert(RECEIVES, u64::from(entry.receives));
    item.insert(SORT, state_sort(sequence));
    item
}

/// A row of a queue's partition.
#[derive(Debug)]
pub(crate) enum Row {
    Message(MessageNumber, Entry),
    State {
        sequence: MessageNumber,
        due: Timestamp,
        receives: u32,
        first_received: Timestamp,
    },
    /// A message that was sent to a FIFO queue, under its deduplication key.
    Original {
        key: String,
        original: Original,
    },
}

impl Row {
    pub(crate) fn read(item: &Item) -> Result<Self, QueueError> {
        let sort = text(item, SORT)?;
        if let Some(digits) = sort.strip_prefix(ORIGINAL) {
            let number = u64::from_str_radix(digits, 16).map_err(|_| damaged(item, SORT))?;
            return Ok(Self::Original {
                key: text(item, DEDUPLICATION)?.to_owned(),
                original: Original {
                    id: text(item, ID)?.to_owned(),
                    sequence: MessageNumber(number),
                    sent: time(item, SENT)?,
                },
            });
        }
        let digits = sort.strip_suffix('+');
        let number = u64::from_str_radix(digits.unwrap_or(sort), 16);
        let sequence = MessageNumber(number.map_err(|_| damaged(item, SORT))?);
        if digits.is_some() {
            return Ok(Self::State {
                sequence,
                due: time(item, DUE)?,
                receives: u32::try_from(whole(item, RECEIVES)?).map_err(|_| damaged(item, RECEIVES))?,
                first_received: time(item, FIRST)?,
            });
        }
        let sent = time(item, SENT)?;
        let kept_from = optional_time(item, KEPT_FROM)?.unwrap_or(sent);
        let due = optional_time(item, DUE)?.unwrap_or(sent);
        let parts = parts(item)?.map(Box::new);
        let group = match item.contains_key(GROUP) {
            true => Some(Arc::from(text(item, GROUP)?)),
            false => None,
        };
        let entry = Entry::new(kept_from, due, parts);
        Ok(Self::Message(sequence, Entry { group, ..entry }))
    }
}

/// The place of a message's pieces, if it is in pieces.
pub(crate) fn parts(item: &Item) -> Result<Option<Parts>, QueueError> {
    if !item.contains_key(PARTS) {
        return Ok(None);
    }
    Ok(Some(Parts {
        partition: text(item, PARTS)?.to_owned(),
        count: u32::try_from(whole(item, PARTS_COUNT)?).map_err(|_| damaged(item, PARTS_COUNT))?,
    }))
}

fn insert_text(item: &mut Item, name: &str, text: Option<String>) {
    if let Some(text) = text {
        item.insert(name, text);
    }
}

pub(crate) fn text<'i>(item: &'i Item, name: &str) -> Result<&'i str, QueueError> {
    let text = item.get(name).and_then(AttributeValue::as_s);
    text.ok_or_else(|| damaged(item, name))
}

/// Takes a text out of a row, if the row has that attribute.
fn take_text(item: &mut Item, name: &str) -> Result<Option<String>, QueueError> {
    match item.remove(name) {
        None => Ok(None),
        Some(AttributeValue::S(text)) => Ok(Some(text)),
        Some(_) => Err(damaged(item, name)),
    }
}

fn whole(item: &Item, name: &str) -> Result<u64, QueueError> {
    let number = item.get(name).and_then(AttributeValue::as_n);
    number
        .and_then(|number| u64::try_from(Number::to_i64(number)?).ok())
        .ok_or_else(|| damaged(item, name))
}

fn time(item: &Item, name: &str) -> Result<Timestamp, QueueError> {
    whole(item, name).map(Timestamp::from_millis)
}

fn optional_time(item: &Item, name: &str) -> Result<Option<Timestamp>, QueueError> {
    item.contains_key(name).then(|| time(item, name)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::MessageAttribute;

    const NOW: Timestamp = Timestamp::from_secs(1_800_000_000);

    fn stored(message: NewMessage) -> (Stored, Vec<Item>) {
        Stored::new(message, "id".to_owned(), NOW, Duration::from_secs(5)).unwrap()
    }

    #[test]
    fn a_message_is_read_back_from_its_row() {
        let message = NewMessage {
            attributes: MessageAttributes::from([("a".to_owned(), MessageAttribute::binary([0, 255]))]),
            trace_header: Some("trace".to_owned()),
            group: Some("group".to_owned()),
            ..NewMessage::from("body")
        };
        let (stored, parts) = stored(message);
        assert!(parts.is_empty());
        let (row, entry) = stored.clone().into_row("q", MessageNumber(9));
        assert_eq!(entry.due, NOW.plus(Duration::from_secs(5)));
        assert!(matches!(Row::read(&row), Ok(Row::Message(MessageNumber(9), found)) if found == entry));
        assert_eq!(Stored::read(row), Ok(stored));
    }

    #[test]
    fn a_large_message_is_divided_between_characters_and_joined_again() {
        let body = "ä€".repeat(200_000);
        let message = NewMessage {
            attributes: MessageAttributes::from([("a".to_owned(), MessageAttribute::text("x"))]),
            ..NewMessage::from(body.clone())
        };
        let (stored, parts) = stored(message);
        assert_eq!(parts.len(), 4);
        let Content::InParts { body_len, .. } = stored.content else {
            panic!("it is not in parts");
        };
        let (joined, attributes) = join(&parts, body_len).unwrap();
        assert_eq!(joined, body);
        assert_eq!(
            attributes.as_deref(),
            Some(r#"{"a":{"DataType":"String","StringValue":"x"}}"#)
        );
        assert_eq!(join(&parts[..1], body_len), None);
    }

    #[test]
    fn the_state_of_a_message_is_a_row_behind_it() {
        let mut entry = Entry::new(NOW, NOW, None);
        entry.receives = 3;
        let row = state_row("q", MessageNumber(9), &entry);
        assert!(matches!(
            Row::read(&row),
            Ok(Row::State {
                sequence: MessageNumber(9),
                receives: 3,
                due: NOW,
                ..
            })
        ));
        assert!(message_sort(MessageNumber(9)) < state_sort(MessageNumber(9)));
        assert!(state_sort(MessageNumber(9)) < message_sort(MessageNumber(10)));
    }
}
