//! Values that may be larger than an item. Their bytes are stored in parts, in a table of Trestle's own; the
//! row has a reference.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use trestle_item::{AttributeValue, Item, Number};

/// The table in the database that holds the parts of large values. Clients put parts there, and read them.
pub const PARTS_TABLE: &str = "_trestle.value_parts";
/// The hash key of [`PARTS_TABLE`], a string: the `id` of the value.
pub const PARTS_ID: &str = "id";
/// The sort key of [`PARTS_TABLE`], a number: 1 for the first part.
pub const PARTS_NUMBER: &str = "part";
/// The attribute of a part that holds its bytes.
pub const PARTS_BYTES: &str = "bytes";

/// The most bytes that a large value may have.
pub const LARGE_VALUE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// The most parts that a large value may have.
pub const LARGE_VALUE_PARTS_MAX: u64 = 4096;

const ID_CHARS_MIN: usize = 16;
const ID_CHARS_MAX: usize = 64;
const SHA256_CHARS: usize = 64;
const REFERENCE: [&str; 4] = ["id", "parts", "sha256", "size"];

/// The reference to a large value in a row: its identity and its bytes. A value never changes; other bytes
/// are another value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LargeValue {
    /// Its identity: 16 to 64 letters, digits, `-` and `_`. The client that wrote the parts chose it at
    /// random.
    pub id: String,
    /// How many bytes it has.
    pub size: u64,
    /// The number of its parts, at least one.
    pub parts: u64,
    /// The SHA-256 of the bytes, in lower-case hexadecimal digits.
    pub sha256: String,
}

impl LargeValue {
    /// The attribute of the row.
    #[must_use]
    pub fn to_value(&self) -> AttributeValue {
        let mut map = Item::with_capacity(REFERENCE.len());
        map.insert("id", self.id.as_str());
        map.insert("size", Number::from(self.size));
        map.insert("parts", Number::from(self.parts));
        map.insert("sha256", self.sha256.as_str());
        AttributeValue::M(map)
    }

    /// The reference in the attribute of a row; the error completes a sentence about the attribute.
    pub fn from_value(value: &AttributeValue) -> Result<Self, String> {
        let Some(map) = value.as_m() else {
            return Err("it is no map".to_owned());
        };
        if let Some(name) = map.keys().find(|name| !REFERENCE.contains(&name.as_str())) {
            return Err(format!("it has {name:?}"));
        }
        let text = |name: &str| map.get(name).and_then(AttributeValue::as_s).map(str::to_owned);
        let whole = |name: &str| number_in(map, name);
        let reference = LargeValue {
            id: text("id").ok_or("`id` is no string")?,
            size: whole("size").ok_or("`size` is no whole number")?,
            parts: whole("parts").ok_or("`parts` is no whole number")?,
            sha256: text("sha256").ok_or("`sha256` is no string")?,
        };
        reference.check()?;
        Ok(reference)
    }

    fn check(&self) -> Result<(), String> {
        check_id(&self.id)?;
        if self.size > LARGE_VALUE_BYTES_MAX {
            return Err(format!(
                "`size` is {}, and {LARGE_VALUE_BYTES_MAX} bytes are the most",
                self.size
            ));
        }
        if !(1..=LARGE_VALUE_PARTS_MAX).contains(&self.parts) {
            return Err(format!(
                "`parts` is {}, and a value has 1 to {LARGE_VALUE_PARTS_MAX} parts",
                self.parts
            ));
        }
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if self.sha256.len() != SHA256_CHARS || !self.sha256.bytes().all(is_digit) {
            return Err("`sha256` is not 64 lower-case hexadecimal digits".to_owned());
        }
        Ok(())
    }
}

/// The SHA-256 of bytes that arrive in pieces.
#[derive(Clone, Debug, Default)]
pub struct ValueDigest(Sha256);

impl ValueDigest {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes, in the form of [`LargeValue::sha256`].
    #[must_use]
    pub fn finish(self) -> String {
        let mut hex = String::with_capacity(SHA256_CHARS);
        for byte in self.0.finalize() {
            // Writing to a string does not fail.
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    }
}

/// Whether a text can be the `id` of a large value; the error says why not.
pub(crate) fn check_id(id: &str) -> Result<(), String> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_long = (ID_CHARS_MIN..=ID_CHARS_MAX).contains(&id.len());
    match is_long && id.bytes().all(is_legal) {
        true => Ok(()),
        false => Err(format!(
            "`id` must be {ID_CHARS_MIN} to {ID_CHARS_MAX} letters, digits, `-` and `_`, chosen at random"
        )),
    }
}

/// A whole number that is not negative.
pub(crate) fn number_in(item: &Item, name: &str) -> Option<u64> {
    let number = item.get(name)?.as_n()?.to_i64()?;
    u64::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> LargeValue {
        LargeValue {
            id: "0123456789abcdef".to_owned(),
            size: 5,
            parts: 1,
            sha256: "ab".repeat(32),
        }
    }

    #[test]
    fn the_attribute_says_which_value_it_is() {
        assert_eq!(LargeValue::from_value(&reference().to_value()), Ok(reference()));
    }

    #[test]
    fn the_digest_is_sha_256_however_the_bytes_come() {
        let mut digest = ValueDigest::default();
        digest.update(b"a");
        digest.update(b"bc");
        assert_eq!(
            digest.finish(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn what_is_no_reference_is_refused_with_the_reason() {
        let faults = [
            (
                LargeValue {
                    id: "short".into(),
                    ..reference()
                },
                "`id` must be",
            ),
            (
                LargeValue {
                    id: "0123456789abcde/".into(),
                    ..reference()
                },
                "`id` must be",
            ),
            (
                LargeValue {
                    size: LARGE_VALUE_BYTES_MAX + 1,
                    ..reference()
                },
                "are the most",
            ),
            (
                LargeValue {
                    parts: 0,
                    ..reference()
                },
                "`parts` is 0",
            ),
            (
                LargeValue {
                    sha256: "AB".repeat(32),
                    ..reference()
                },
                "`sha256` is not",
            ),
        ];
        for (fault, reason) in faults {
            let refused = LargeValue::from_value(&fault.to_value()).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
        assert!(LargeValue::from_value(&"text".into()).is_err());
        let AttributeValue::M(mut map) = reference().to_value() else {
            unreachable!()
        };
        map.insert("more", "x");
        assert!(LargeValue::from_value(&AttributeValue::M(map)).is_err());
    }
}
