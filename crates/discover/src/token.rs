//! Splits keys into tokens at their separators.

use trestle_item::{AttributeValue, Item};
use trestle_model::{Attribute, AttributeKind};

use crate::row::text_of;

/// Usual separators between the parts of a key.
pub(crate) const STRONG: &[char] = &['#', '!', ':', '/', '|'];

/// Possible separators that also occur in names, versions and ids: used only with evidence.
pub(crate) const WEAK: &[char] = &['.', '_', '-'];

/// The tokens of a key, with the `separators` between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokens<'k> {
    pub(crate) texts: Vec<&'k str>,
    pub(crate) separators: String,
}

impl<'k> Tokens<'k> {
    pub(crate) fn first(&self) -> &'k str {
        self.texts.first().copied().unwrap_or_default()
    }

    /// The separators, and where tokens are empty.
    pub(crate) fn layout(&self) -> String {
        let mut layout = String::new();
        let mut separators = self.separators.chars();
        for text in &self.texts {
            if text.is_empty() {
                layout.push('0');
            }
            layout.extend(separators.next());
        }
        layout
    }
}

/// Splits a key of a row at strong separators, but neither inside a timestamp nor inside the value of an
/// attribute of the same row. Without a strong separator, a word before a `_` or `.` counts as a token:
/// `USER_17`.
pub(crate) fn tokens<'k>(key: &'k str, row: &Item, is_key: impl Fn(&str) -> bool) -> Tokens<'k> {
    let whole: Vec<String> = row
        .iter()
        .filter(|(name, _)| !is_key(name))
        .filter_map(|(_, value)| text_of(value))
        // A value that repeats the whole key is no part of it.
        .filter(|text| text.len() > 2 && text != key && text.contains(STRONG))
        .collect();
    let strong = cut(key, STRONG, &whole);
    if strong.texts.len() == 1 && !is_timestamp(key) {
        return cut_head(key).unwrap_or(strong);
    }
    strong
}

fn cut<'k>(key: &'k str, separators: &[char], whole: &[String]) -> Tokens<'k> {
    let mut found = Tokens {
        texts: Vec::new(),
        separators: String::new(),
    };
    let mut rest = key;
    loop {
        let end = atom(rest, whole).unwrap_or_else(|| rest.find(separators).unwrap_or(rest.len()));
        let (text, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        found.texts.push(text);
        let mut characters = after.chars();
        match characters.next() {
            Some(separator) => found.separators.push(separator),
            None => return found,
        }
        rest = characters.as_str();
    }
}

/// The end of a value that must not be split, if the text begins with one.
fn atom(text: &str, whole: &[String]) -> Option<usize> {
    let ends_here = |end: usize| {
        text.get(end..)
            .is_some_and(|after| after.is_empty() || after.starts_with(STRONG))
    };
    let value = whole
        .iter()
        .map(String::len)
        .zip(whole)
        .filter(|(end, value)| text.starts_with(value.as_str()) && ends_here(*end))
        .map(|(end, _)| end)
        .max();
    // The longest prefix that is a time: a fraction has at most 9 digits.
    let time = || {
        (20..=30)
            .rev()
            .find(|end| ends_here(*end) && text.get(..*end).is_some_and(is_timestamp))
    };
    value.or_else(time)
}

fn cut_head(key: &str) -> Option<Tokens<'_>> {
    let (head, rest) = key.split_once(['_', '.'])?;
    let separator = key.get(head.len()..)?.chars().next()?;
    let worth = is_word(head) && !rest.is_empty() && !is_word(rest);
    worth.then(|| Tokens {
        texts: vec![head, rest],
        separators: separator.to_string(),
    })
}

/// Whether a text looks like a name chosen by a programmer: `USER`, `lyrVrsn0`, `NODE_RUN`.
pub(crate) fn is_word(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_ascii_alphabetic()).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    text.len() <= 40
        && letters >= 1
        && digits <= 1
        && letters > digits
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether a word is in capitals, as hardly anything but literals is.
pub(crate) fn is_shouted(text: &str) -> bool {
    is_word(text) && text.len() >= 2 && !text.chars().any(|c| c.is_ascii_lowercase())
}

pub(crate) fn is_timestamp(text: &str) -> bool {
    // The model decides what a timestamp is.
    text.len() >= 20
        && Attribute::new("time", AttributeKind::Timestamp)
            .check(&AttributeValue::S(text.to_owned()))
            .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_at(key: &str, row: &Item) -> Vec<String> {
        let found = tokens(key, row, |_| false);
        found.texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_key_is_cut_at_separators_but_not_inside_values() {
        let row = Item::from([("path", "a/b")]);
        assert_eq!(cut_at("FILE#a/b#x", &row), ["FILE", "a/b", "x"]);
        assert_eq!(
            cut_at("LOG#2019-12-30T19:32:14Z#x", &Item::new()),
            ["LOG", "2019-12-30T19:32:14Z", "x"]
        );
        assert_eq!(cut_at("USER_17", &Item::new()), ["USER", "17"]);
        assert_eq!(cut_at("WF_RUN", &Item::new()), ["WF_RUN"]);
        assert_eq!(cut_at("lyrVrsn0#", &Item::new()), ["lyrVrsn0", ""]);
        assert_eq!(cut_at("", &Item::new()), [""]);
    }

    #[test]
    fn ids_and_versions_are_no_words() {
        for word in ["USER", "lyrVrsn0", "NODE_RUN", "cnfg"] {
            assert!(is_word(word), "{word}");
        }
        for other in ["538235b", "p3.9", "v12", "", "17", "a1b2"] {
            assert!(!is_word(other), "{other}");
        }
    }
}
