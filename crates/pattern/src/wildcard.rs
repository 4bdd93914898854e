//! Text with `*` for any run of letters.

/// The literal parts between the stars; one part means that there is no star.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wildcard(Vec<String>);

impl Wildcard {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut parts = vec![];
        let mut part = String::new();
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '*' if letters.peek() == Some(&'*') => {
                    return Err("two stars in a row mean no more than one; write one `*`");
                }
                '*' => parts.push(std::mem::take(&mut part)),
                '\\' => match letters.next() {
                    Some(escaped @ ('*' | '\\')) => part.push(escaped),
                    _ => return Err(r"a backslash must be followed by `*` or by another backslash"),
                },
                other => part.push(other),
            }
        }
        parts.push(part);
        Ok(Wildcard(parts))
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|only| only == text);
        };
        let Some(mut rest) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        // The earliest match is always right: it leaves the most text for the parts that follow.
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else {
                return false;
            };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(wildcard: &str, text: &str) -> bool {
        Wildcard::parse(wildcard).unwrap().matches(text)
    }

    #[test]
    fn a_star_stands_for_anything_and_for_nothing() {
        assert!(matches("dir/*.png", "dir/.png"));
        assert!(matches("dir/*.png", "dir/a/b.png"));
        assert!(matches("*", ""));
        assert!(matches("*aba*ab", "abaab"));
        assert!(matches("a*a*a", "aaa"));
        assert!(!matches("a*a", "a"));
        assert!(!matches("a*b*c", "acb"));
        assert!(!matches("abc", "abcd"));
        assert!(matches("é*é", "ééé"));
    }

    #[test]
    fn a_backslash_takes_the_meaning_away() {
        assert!(matches(r"a\*b", "a*b"));
        assert!(!matches(r"a\*b", "axb"));
        assert!(matches(r"a\\*", r"a\b"));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(Wildcard::parse("a**b").is_err());
        assert!(Wildcard::parse(r"a\b").is_err());
        assert!(Wildcard::parse(r"a\").is_err());
        assert!(Wildcard::parse(r"\**").is_ok());
    }
}
