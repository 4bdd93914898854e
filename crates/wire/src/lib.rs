//! DynamoDB's JSON, target names, error types and checksums: bytes to and from [`trestle_api`], nothing else.
//!
//! A request is parsed at most twice. [`decode`] first parses it with serde directly into the operation's
//! type; if that succeeds and the values are within bounds, it is not parsed again. Otherwise the body is
//! parsed into a tree, and the table in `shapes.rs` determines the mistakes, in DynamoDB's words and order:
//!
//! 1. wrong JSON types: `SerializationException` (`conform.rs`),
//! 2. broken constraints, all at once: `ValidationException` (`constraints.rs`),
//! 3. invalid attribute values: `ValidationException` (the item crate, with messages from `refusal.rs`).
//!
//! Mistakes that depend on the table, an expression or two members together are refused by the engine.
//!
//! ```
//! use trestle_api::{Error, Request};
//! use trestle_wire::{decode, parse_target};
//!
//! # fn main() -> Result<(), Error> {
//! let operation = parse_target("DynamoDB_20120810.ListTables")?;
//! assert!(matches!(decode(operation, br#"{"Limit": 10}"#)?, Request::ListTables(request) if request.limit == Some(10)));
//! assert!(decode(operation, br#"{"Limit": "ten"}"#).is_err());
//! # Ok(())
//! # }
//! ```

#[cfg(test)]
mod agreement;
mod bounds;
mod client;
mod conform;
mod constraints;
mod decode;
mod echo;
mod empty_maps;
mod encode;
mod error;
mod error_texts;
mod forward;
mod json_size;
mod refusal;
mod shape;
mod shapes;
mod target;

pub use client::{decode_error, decode_response, encode_request, read_response, target_of};
pub use decode::{decode, read_request};
pub use encode::{crc32, encode};
pub use error::encode_error;
pub use error_texts::ErrorTexts;
pub use forward::{items_of_plain_read, table_of_plain_read};
pub use json_size::JsonSize;
pub use target::parse_target;
