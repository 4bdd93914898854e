//! Bookmarks: where a list was left.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use trestle_item::{AttributeValue, Item, codec};

use crate::Error;

const ACCESS: &str = "access";
const KEY: &str = "key";

/// A position in the rows of an access pattern, to continue from later: opaque text, safe in a URL.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bookmark(String);

impl Bookmark {
    pub(crate) fn new(access: &str, key: Item) -> Self {
        let content = Item::from([
            (ACCESS, AttributeValue::S(access.to_owned())),
            (KEY, AttributeValue::M(key)),
        ]);
        Bookmark(URL_SAFE_NO_PAD.encode(codec::encode(&content)))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key after which to continue.
    pub(crate) fn key(&self, access: &'static str) -> Result<Item, Error> {
        let foreign = || Error::Bookmark {
            access,
            bookmark: self.0.clone(),
        };
        let bytes = URL_SAFE_NO_PAD.decode(&self.0).map_err(|_| foreign())?;
        let content = codec::decode(&bytes).map_err(|_| foreign())?;
        let of = content.get(ACCESS).and_then(AttributeValue::as_s);
        let key = content.get(KEY).and_then(AttributeValue::as_m);
        key.filter(|_| of == Some(access)).cloned().ok_or_else(foreign)
    }
}

impl From<String> for Bookmark {
    fn from(text: String) -> Self {
        Bookmark(text)
    }
}

impl From<&str> for Bookmark {
    fn from(text: &str) -> Self {
        Bookmark(text.to_owned())
    }
}

impl FromStr for Bookmark {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.into())
    }
}

impl fmt::Display for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bookmark_leads_back_to_its_key_in_its_own_list_only() {
        let key = Item::from([("pk", "a"), ("sk", "b")]);
        let bookmark = Bookmark::from(Bookmark::new("orders", key.clone()).to_string());
        assert_eq!(bookmark.key("orders").unwrap(), key);
        assert!(bookmark.key("customers").is_err());
    }

    #[test]
    fn any_other_text_is_refused() {
        for text in ["", "%%%", "AAAA", "bm90aGluZw", &"A".repeat(5000)] {
            assert!(Bookmark::from(text).key("orders").is_err(), "{text}");
        }
    }
}
