//! DynamoDB JSON: `{"S": "text"}`, `{"N": "1"}` and so on, to and from any serde format.
//!
//! Deserialising streams: no tree is built in between. What JSON allows but DynamoDB refuses fails with
//! [`VALIDATION_MARK`] and DynamoDB's text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

mod read;
mod write;

/// Starts the text of a deserialisation error that is a `ValidationException`; the rest is DynamoDB's message.
pub const VALIDATION_MARK: char = '\u{1}';

/// How many levels of maps and lists may stand inside each other in an item.
pub const NESTING_MAX: usize = 32;

pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
