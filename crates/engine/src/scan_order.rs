//! The order in which a scan lists rows, for code that lists rows of another database in an order that
//! depends only on their keys.

use trestle_item::{AttributeValue, key};

use crate::layout;
use crate::range::Range;

/// The position of a row in a scan of its table, by its key.
#[must_use]
pub fn scan_position(hash: &AttributeValue, range: Option<&AttributeValue>) -> Option<Vec<u8>> {
    let mut position = layout::partition(hash)?;
    if let Some(range) = range {
        key::encode(range, &mut position)?;
    }
    Some(position)
}

/// Whether a position is in a segment of a parallel scan.
#[must_use]
pub fn is_in_segment(position: &[u8], segment: u32, total: u32) -> bool {
    const TABLE: u32 = 0;
    Range::segment(TABLE, segment, total).contains(&[&TABLE.to_be_bytes()[..], position].concat())
}
