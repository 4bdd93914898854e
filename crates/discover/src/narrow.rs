//! The characters of values, as `chars` in a model file, which distinguishes keys that otherwise look alike.

/// The maximum number of single characters that are listed; with more, `chars` would be useless.
const SINGLE_MAX: usize = 12;

/// The characters of all texts as ranges and single characters; `None` if they would be useless.
pub(crate) fn chars<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let (mut lower, mut upper, mut digits, mut dash) = (None::<char>, None::<char>, false, false);
    let mut single: Vec<char> = Vec::new();
    for character in texts.flat_map(str::chars) {
        match character {
            'a'..='z' => lower = lower.max(Some(character)),
            'A'..='Z' => upper = upper.max(Some(character)),
            '0'..='9' => digits = true,
            '-' => dash = true,
            other if other.is_ascii_graphic() && !single.contains(&other) => single.push(other),
            other if other.is_ascii_graphic() => {}
            _ => return None,
        }
        if single.len() > SINGLE_MAX {
            return None;
        }
    }
    let mut chars = String::new();
    if digits {
        chars.push_str("0-9");
    }
    if let Some(last) = upper {
        chars.push_str(if last <= 'F' && digits { "A-F" } else { "A-Z" });
    }
    if let Some(last) = lower {
        // Digits and the first six letters: an id.
        chars.push_str(if last <= 'f' && digits { "a-f" } else { "a-z" });
    }
    single.sort_unstable();
    chars.extend(single);
    if dash {
        chars.push('-');
    }
    (!chars.is_empty()).then_some(chars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_to_hexadecimal_digits_and_words_to_letters() {
        assert_eq!(chars(["53a-9f"].into_iter()).as_deref(), Some("0-9a-f-"));
        assert_eq!(
            chars(["us-east-1", "p3.9"].into_iter()).as_deref(),
            Some("0-9a-z.-")
        );
        assert_eq!(chars(["ö"].into_iter()), None);
        assert_eq!(chars([].into_iter()), None);
    }
}
