//! Converts the text of an export to the value of an attribute, by the type of the column.

mod convert;
mod escapes;
mod json;
mod literal;
mod moment;
mod scalar;

pub(crate) use convert::{Form, Taken, convert, set_kind};
pub(crate) use escapes::unescape;
pub use json::parse_json;
pub use literal::{Literal, parse_cqlsh};
pub(crate) use moment::Moment;
#[cfg(feature = "live")]
pub(crate) use moment::{date_of_days, timestamp_of_millis};
pub(crate) use scalar::BlobText;
