//! Items as plain JSON: what a webhook wants to read.

use serde_json::Value;
use trestle_item::{Item, Plain};

/// The item without type tags. Sets are arrays and bytes are base64; a number that JSON's readers would round is text.
#[must_use]
pub fn plain_json(item: &Item) -> Value {
    // What an item holds, JSON can say.
    serde_json::to_value(Plain(item)).unwrap_or_default()
}
