//! Attribute values, 38-digit numbers, items, their size, and the order-preserving key bytes.
//!
//! This crate is the language everything else speaks. It is pure: no I/O, no clock, no table.

mod attribute_name;
pub mod codec;
mod items;
mod json_text;
pub mod key;
mod map;
mod number;
mod plain;
mod serde_json_form;
pub mod size;
mod value;

pub use attribute_name::name_problem;
pub use items::{IntoItems, Items, StoredItem};
pub use map::{Item, Map};
pub use number::{Number, NumberError};
pub use plain::Plain;
pub use serde_json_form::{Base64Error, NESTING_MAX, VALIDATION_MARK, from_base64};
pub use value::{AttributeValue, ScalarType, ValueError};
