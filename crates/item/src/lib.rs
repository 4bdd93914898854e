//! Attribute values, 38-digit numbers, items, their size, and the order-preserving key bytes.
//!
//! This crate is the language everything else speaks. It is pure: no I/O, no clock, no table.
//!
//! ```
//! use trestle_item::{AttributeValue, Item, Number};
//!
//! let item = Item::from([("artist", AttributeValue::from("Miles")), ("born", AttributeValue::from(1926_i64))]);
//! assert_eq!(serde_json::to_string(&item).unwrap(), r#"{"artist":{"S":"Miles"},"born":{"N":"1926"}}"#);
//! assert_eq!("1e3".parse::<Number>().unwrap(), Number::from(1000_i64));
//! ```

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
