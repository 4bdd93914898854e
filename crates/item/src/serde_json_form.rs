//! DynamoDB JSON: `{"S": "text"}`, `{"N": "1"}` and so on, to and from any serde format.
//!
//! Deserialising streams: no tree is built in between. What JSON allows but DynamoDB refuses fails with
//! [`VALIDATION_MARK`] and DynamoDB's text.
//!
//! Base64 is the exception: DynamoDB counts text that is not base64 as malformed JSON, so it has no mark.

pub(crate) use base64_text::to_base64;
pub use base64_text::{Base64Error, from_base64};

mod base64_text;
mod read;
mod write;

/// Starts the text of a deserialisation error that is a `ValidationException`; the rest is DynamoDB's message.
pub const VALIDATION_MARK: char = '\u{1}';

/// How many levels of maps and lists may be nested. The item is the first.
pub const NESTING_MAX: usize = 32;
