//! The escapes of `cqlsh` in text: doubled backslashes, control characters as `\n` or `\x07`.

use std::borrow::Cow;

/// The original text. An invalid escape is refused, because `cqlsh` does not write it.
pub(crate) fn unescape(text: &str) -> Result<Cow<'_, str>, String> {
    if !text.contains('\\') {
        return Ok(Cow::Borrowed(text));
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(rest.get(..at).unwrap_or_default());
        let behind = rest.get(at + 1..).unwrap_or_default();
        let (character, length) = escaped(behind).ok_or_else(|| unknown(behind))?;
        plain.push(character);
        rest = behind.get(length..).unwrap_or_default();
    }
    plain.push_str(rest);
    Ok(Cow::Owned(plain))
}

/// The escaped character after a backslash, and its length in bytes.
fn escaped(behind: &str) -> Option<(char, usize)> {
    let simple = match behind.bytes().next()? {
        b'\\' => '\\',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'\'' => '\'',
        b'"' => '"',
        b'x' => return hexadecimal(behind, 2),
        b'u' => return hexadecimal(behind, 4),
        b'U' => return hexadecimal(behind, 8),
        _ => return None,
    };
    Some((simple, 1))
}

fn hexadecimal(behind: &str, digits: usize) -> Option<(char, usize)> {
    let digits = behind.get(1..=digits)?;
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(digits, 16).ok()?;
    Some((char::from_u32(code)?, digits.len() + 1))
}

fn unknown(behind: &str) -> String {
    let shown: String = behind.chars().take(1).collect();
    format!(
        "has a backslash before {shown:?}, which cqlsh does not write in this way; if its Python is older than 3.10 or so, say \
         `escapes = \"once\"` in the mapping"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// In the form of `cqlsh`.
    fn shown(text: &str) -> String {
        let mut shown = String::new();
        for character in text.chars() {
            match character {
                '\\' => shown.push_str("\\\\"),
                '\n' => shown.push_str("\\n"),
                '\r' => shown.push_str("\\r"),
                '\t' => shown.push_str("\\t"),
                control if control.is_control() => shown += &format!("\\x{:02x}", control as u32),
                other => shown.push(other),
            }
        }
        shown
    }

    #[test]
    fn what_was_not_written_so_is_refused() {
        for text in ["a\\b", "\\", "\\x1", "\\xé1", "\\ud800", "\\é"] {
            assert!(unescape(text).unwrap_err().contains("once"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in any::<String>()) {
            let shown = shown(&text);
            prop_assert_eq!(unescape(&shown).unwrap(), text);
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = unescape(&text);
        }
    }
}
