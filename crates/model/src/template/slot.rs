//! One placeholder of a template, with its attribute and the separator after it.

use std::borrow::Cow;

use trestle_item::{AttributeValue, Number};

use crate::attribute::{Attribute, AttributeKind, plain, semver};
use crate::chars::CharSet;
use crate::language::Piece;

/// Ends a range of keys: no text in a composite key may contain it. Unicode guarantees that it is not a
/// character.
pub(crate) const RESERVED_END: char = '\u{10FFFF}';

/// A placeholder with what is needed to write and read it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) attribute: Attribute,
    /// Digits a number is padded to.
    pub(crate) width: Option<usize>,
    pub(crate) escape: bool,
    pub(crate) lower: bool,
    /// The first character after it, which its text therefore must not contain; none at the end of the
    /// template and for texts of one length.
    pub(crate) ends_before: Option<char>,
    /// Whether the template has other parts: then the value must be a text, and not empty.
    pub(crate) composite: bool,
}

impl Slot {
    /// Neither padded nor escaped nor folded.
    pub(crate) fn is_plain(&self) -> bool {
        self.width.is_none() && !self.escape && !self.lower
    }

    /// The length in characters of all its texts, if they have the same length.
    pub(crate) fn fixed_length(&self) -> Option<usize> {
        if self.escape {
            return None;
        }
        self.width.or_else(|| self.attribute.fixed_length())
    }

    /// Whether its texts sort as its values do.
    pub(crate) fn sorts(&self) -> bool {
        let unpadded = self.attribute.kind.is_numeric() && self.width.is_none();
        !self.escape && !self.lower && !unpadded
    }

    /// The text of a value in the key; the error completes a sentence about the attribute.
    pub(crate) fn text<'v>(&self, value: &'v AttributeValue) -> Result<Cow<'v, str>, String> {
        if let AttributeValue::S(text) = value {
            return self.text_of(text);
        }
        self.attribute.check(value)?;
        let text = match (value, self.width) {
            (AttributeValue::N(number), Some(width)) => padded(number, width)?,
            _ => plain(value),
        };
        self.written(Cow::Owned(match self.lower {
            true => text.to_lowercase(),
            false => text,
        }))
    }

    /// The same for a value that is a text.
    pub(crate) fn text_of<'v>(&self, text: &'v str) -> Result<Cow<'v, str>, String> {
        self.attribute.check_str(text)?;
        if self.attribute.kind == AttributeKind::Semver {
            let version = semver::parse(text)?;
            return self.written(Cow::Owned(semver::key_text(&version)));
        }
        self.written(match self.lower {
            true => Cow::Owned(text.to_lowercase()),
            false => Cow::Borrowed(text),
        })
    }

    /// The text in the key of what is folded already.
    pub(crate) fn folded_text<'v>(&self, folded: &'v str) -> Result<Cow<'v, str>, String> {
        self.written(Cow::Borrowed(folded))
    }

    fn written<'v>(&self, text: Cow<'v, str>) -> Result<Cow<'v, str>, String> {
        let text = match self.escape {
            true => Cow::Owned(self.escaped(&text)),
            false => text,
        };
        self.check_text(&text)?;
        Ok(text)
    }

    fn check_text(&self, text: &str) -> Result<(), String> {
        if text.is_empty() {
            return Err("is empty, and a part of a key may not be".to_owned());
        }
        if let Some(separator) = self.ends_before
            && contains(text, separator)
        {
            return Err(format!(
                "is {text:?}, which contains {separator:?}, the separator behind it in the key"
            ));
        }
        if self.composite && contains(text, RESERVED_END) {
            return Err("contains U+10FFFF, which ends ranges of keys".to_owned());
        }
        Ok(())
    }

    /// The value of a text in a key; `None` if no value has it.
    pub(crate) fn value(&self, text: &str) -> Option<AttributeValue> {
        let plain = if self.escape {
            unescaped(text)?
        } else {
            text.to_owned()
        };
        let value = match self.attribute.kind {
            AttributeKind::String | AttributeKind::Timestamp => AttributeValue::S(plain),
            AttributeKind::Semver => AttributeValue::S(semver::from_key(&plain)?),
            AttributeKind::Boolean => AttributeValue::Bool(plain.parse().ok()?),
            kind if kind.is_numeric() => AttributeValue::N(Number::parse(&plain).ok()?),
            _ => return None,
        };
        let is_itself = self.is_plain() && self.attribute.kind != AttributeKind::Semver;
        if is_itself && matches!(value, AttributeValue::S(_)) {
            self.attribute.check(&value).ok()?;
            self.check_text(text).ok()?;
            return Some(value);
        }
        // A value can have several spellings, but only one is ever written.
        let written = self.text(&value).ok()?;
        (written == text).then_some(value)
    }

    /// The folded text that a text in a key stands for; `None` if no value has it.
    pub(crate) fn folded(&self, text: &str) -> Option<String> {
        let folded = if self.escape {
            unescaped(text)?
        } else {
            text.to_owned()
        };
        let written = self.folded_text(&folded).ok()?;
        (written == text && folded.to_lowercase() == folded).then_some(folded)
    }

    /// Whether it renders the same text for the same values as another slot, with the same text after it.
    pub(crate) fn renders_as(&self, other: &Self) -> bool {
        let is_version = |slot: &Self| slot.attribute.kind == AttributeKind::Semver;
        self.attribute.name == other.attribute.name
            && is_version(self) == is_version(other)
            && (self.width, self.escape, self.lower) == (other.width, other.escape, other.lower)
    }

    /// Percent signs and hexadecimal digits, as in URLs.
    fn escaped(&self, text: &str) -> String {
        let mut escaped = String::with_capacity(text.len());
        for character in text.chars() {
            if character == '%' || character == RESERVED_END || self.ends_before == Some(character) {
                let mut bytes = [0; 4];
                for byte in character.encode_utf8(&mut bytes).bytes() {
                    escaped.push_str(&format!("%{byte:02X}"));
                }
            } else {
                escaped.push(character);
            }
        }
        escaped
    }

    pub(crate) fn piece(&self) -> Piece {
        if let Some(width) = self.width {
            return Piece::Repeat {
                set: CharSet::of("0123456789"),
                min: width,
                max: Some(width),
            };
        }
        if self.escape || self.lower {
            return Piece::Repeat {
                set: self.without_separator(CharSet::any()),
                min: 1,
                max: None,
            };
        }
        match self.attribute.piece() {
            Piece::Repeat { set, min, max } => Piece::Repeat {
                set: self.without_separator(set),
                min,
                max,
            },
            other => other,
        }
    }

    fn without_separator(&self, set: CharSet) -> CharSet {
        match self.ends_before {
            Some(separator) => set.without(separator),
            None => set,
        }
    }
}

/// Whether a text contains a character. Most texts do not even contain its last byte, and looking for that is quick.
fn contains(text: &str, character: char) -> bool {
    let mut bytes = [0; 4];
    let last = character.encode_utf8(&mut bytes).as_bytes().last();
    last.is_some_and(|last| text.as_bytes().contains(last)) && text.contains(character)
}

fn padded(number: &Number, width: usize) -> Result<String, String> {
    if number.is_negative() {
        return Err(format!(
            "is {number}, and a padded number may not be negative: it would not sort"
        ));
    }
    let digits = number.to_string();
    if digits.len() > width {
        return Err(format!(
            "is {number}, which is wider than the {width} digits of the key"
        ));
    }
    let mut text = "0".repeat(width - digits.len());
    text.push_str(&digits);
    Ok(text)
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'%', [high, low, after @ ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push(u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?);
                after
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(*first);
                tail
            }
        };
    }
    String::from_utf8(bytes).ok()
}
