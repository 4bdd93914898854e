//! A page of rows.

use serde::Serialize;

use crate::Bookmark;

/// Some rows, and where to continue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page<T> {
    /// The rows, in order.
    pub rows: Vec<T>,
    /// Where the next page begins; `None` after the last row.
    pub next: Option<Bookmark>,
}

/// No rows.
impl<T> Default for Page<T> {
    fn default() -> Self {
        Page {
            rows: Vec::new(),
            next: None,
        }
    }
}
