//! The position between two steps, as text.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use trestle_api::Error;
use trestle_item::{AttributeValue, Item, codec};

const AFTER: &str = "after";
const SECOND: &str = "second";
const REFUSED: &str = "refused";

/// Where the next step continues: opaque text, safe in a URL and on a command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CollectionBookmark(String);

/// The content of a bookmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Position {
    /// The key after which to continue; `None` at the beginning.
    pub(crate) after: Option<Item>,
    /// Whether refused rows are tried a second time: most of them were deleted with others.
    pub(crate) is_second: bool,
    /// Rows that were refused in this pass.
    pub(crate) refused: u64,
}

impl Position {
    /// Where to continue; `None` if it is done.
    ///
    /// Rows that the database keeps for others are refused, and deleted with the last of those. So after
    /// refusals, all rows are read a second time when the others are deleted.
    pub(crate) fn next(self, is_end: bool) -> Option<Self> {
        match is_end {
            false => Some(self),
            true if self.is_second || self.refused == 0 => None,
            true => Some(Position {
                is_second: true,
                ..Position::default()
            }),
        }
    }
}

impl CollectionBookmark {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the text is a bookmark at all. Whether it belongs to the rows to be deleted is checked in a
    /// step.
    pub fn check(&self) -> Result<(), Error> {
        self.position().map(drop)
    }

    pub(crate) fn of(position: Position) -> Self {
        let mut content = Item::from([
            (SECOND, AttributeValue::Bool(position.is_second)),
            (REFUSED, AttributeValue::from(position.refused)),
        ]);
        if let Some(after) = position.after {
            content.insert(AFTER, AttributeValue::M(after));
        }
        CollectionBookmark(URL_SAFE_NO_PAD.encode(codec::encode(&content)))
    }

    pub(crate) fn position(&self) -> Result<Position, Error> {
        self.read().ok_or_else(|| {
            Error::validation(format!(
                "The bookmark {:?} is not a bookmark of a collection; leave it out to start from the beginning",
                self.0
            ))
        })
    }

    fn read(&self) -> Option<Position> {
        let bytes = URL_SAFE_NO_PAD.decode(&self.0).ok()?;
        let content = codec::decode(&bytes).ok()?;
        let refused = content.get(REFUSED)?.as_n()?.to_i64()?;
        let AttributeValue::Bool(is_second) = content.get(SECOND)? else {
            return None;
        };
        Some(Position {
            after: content.get(AFTER).and_then(AttributeValue::as_m).cloned(),
            is_second: *is_second,
            refused: u64::try_from(refused).ok()?,
        })
    }
}

impl From<String> for CollectionBookmark {
    fn from(text: String) -> Self {
        CollectionBookmark(text)
    }
}

impl fmt::Display for CollectionBookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bookmark_survives_as_text_and_any_other_text_is_refused() {
        let positions = [
            Position::default(),
            Position {
                after: Some(Item::from([("pk", "a"), ("sk", "b")])),
                is_second: true,
                refused: 7,
            },
        ];
        for position in positions {
            let text = CollectionBookmark::of(position.clone()).to_string();
            assert_eq!(CollectionBookmark::from(text).position().unwrap(), position);
        }
        for text in ["", "%%%", "AAAA", "bm90aGluZw"] {
            assert!(
                CollectionBookmark::from(text.to_owned()).check().is_err(),
                "{text}"
            );
        }
    }
}
