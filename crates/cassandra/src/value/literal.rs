//! Collections, tuples and user-defined types as written by `cqlsh`: `{'a': 1, 'b': 2}`.

use std::borrow::Cow;
use std::fmt;

use super::escapes::unescape;

/// The maximum nesting of literals, the same as in DynamoDB's items.
pub(super) const DEPTH_MAX: usize = 32;

/// A value of an export before its type is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal<'t> {
    /// Nothing.
    Null,
    /// A quoted text.
    Text(Cow<'t, str>),
    /// Any other single value: a number, `True`, a uuid.
    Word(Cow<'t, str>),
    /// A list, a set or a tuple.
    Items(Vec<Literal<'t>>),
    /// A map, or the fields of a user-defined type.
    Pairs(Vec<(Literal<'t>, Literal<'t>)>),
}

/// In the form of `cqlsh`.
impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("null"),
            Literal::Text(text) => write!(f, "'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
            Literal::Word(word) => f.write_str(word),
            Literal::Items(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", separator(at))?;
                }
                f.write_str("]")
            }
            Literal::Pairs(pairs) => {
                f.write_str("{")?;
                for (at, (key, value)) in pairs.iter().enumerate() {
                    write!(f, "{}{key}: {value}", separator(at))?;
                }
                f.write_str("}")
            }
        }
    }
}

fn separator(at: usize) -> &'static str {
    if at == 0 { "" } else { ", " }
}

/// Parses a literal of `cqlsh`.
pub fn parse_cqlsh(text: &str) -> Result<Literal<'_>, String> {
    let mut reader = Reader { text, at: 0 };
    let literal = reader.literal(0)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.error("something behind its end"));
    }
    Ok(literal)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn error(&self, what: &str) -> String {
        let character = self
            .text
            .get(..self.at)
            .map_or(0, |before| before.chars().count())
            + 1;
        format!("has {what} at its character {character}")
    }

    fn take(&mut self, sign: char) -> bool {
        let is_it = self.rest().starts_with(sign);
        self.at += if is_it { sign.len_utf8() } else { 0 };
        is_it
    }

    fn literal(&mut self, depth: usize) -> Result<Literal<'t>, String> {
        if depth > DEPTH_MAX {
            return Err(self.error("more than 32 collections inside each other"));
        }
        self.space();
        match self.rest().chars().next() {
            Some('[') => self.items(']', depth),
            Some('(') => self.items(')', depth),
            Some('{') => self.braces(depth),
            Some('\'') => self.quoted(),
            _ => Ok(self.word()),
        }
    }

    fn items(&mut self, end: char, depth: usize) -> Result<Literal<'t>, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.take(end) {
            return Ok(Literal::Items(items));
        }
        loop {
            items.push(self.literal(depth + 1)?);
            if self.closed(end)? {
                return Ok(Literal::Items(items));
            }
        }
    }

    /// Whether the collection ends here; otherwise a comma must follow.
    fn closed(&mut self, end: char) -> Result<bool, String> {
        self.space();
        if self.take(end) {
            return Ok(true);
        }
        if self.take(',') {
            return Ok(false);
        }
        Err(self.error(&format!("neither `,` nor `{end}`")))
    }

    /// A set, a map or a user-defined type, depending on the first colon.
    fn braces(&mut self, depth: usize) -> Result<Literal<'t>, String> {
        self.at += 1;
        self.space();
        if self.take('}') {
            return Ok(Literal::Items(Vec::new()));
        }
        let first = self.literal(depth + 1)?;
        self.space();
        if !self.take(':') {
            let mut items = vec![first];
            while !self.closed('}')? {
                items.push(self.literal(depth + 1)?);
            }
            return Ok(Literal::Items(items));
        }
        let mut pairs = vec![(first, self.literal(depth + 1)?)];
        while !self.closed('}')? {
            let key = self.literal(depth + 1)?;
            self.space();
            if !self.take(':') {
                return Err(self.error("no `:` behind a key"));
            }
            pairs.push((key, self.literal(depth + 1)?));
        }
        Ok(Literal::Pairs(pairs))
    }

    /// A quote is doubled inside quotes.
    fn quoted(&mut self) -> Result<Literal<'t>, String> {
        self.at += 1;
        let inside = self.rest();
        let mut from = 0;
        let mut has_quotes = false;
        loop {
            let quote = inside.get(from..).and_then(|rest| rest.find('\''));
            let Some(quote) = quote.map(|at| from + at) else {
                return Err(self.error("a quote without an end"));
            };
            if inside.get(quote + 1..).is_some_and(|next| next.starts_with('\'')) {
                has_quotes = true;
                from = quote + 2;
                continue;
            }
            self.at += quote + 1;
            let text = inside.get(..quote).unwrap_or_default();
            return Ok(Literal::Text(match has_quotes {
                true => Cow::Owned(unescape(&text.replace("''", "'"))?.into_owned()),
                false => unescape(text)?,
            }));
        }
    }

    /// Up to the next comma, bracket or end of a key. Times contain colons, but no space after them.
    fn word(&mut self) -> Literal<'t> {
        let rest = self.rest();
        let mut end = rest.len();
        for (at, character) in rest.char_indices() {
            let is_end = match character {
                ',' | ']' | ')' | '}' => true,
                ':' => rest.get(at + 1..).is_some_and(|next| next.starts_with(' ')),
                _ => false,
            };
            if is_end {
                end = at;
                break;
            }
        }
        self.at += end;
        match rest.get(..end).unwrap_or_default().trim() {
            "" | "null" | "NULL" | "None" => Literal::Null,
            word => Literal::Word(Cow::Borrowed(word)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Literal<'static> {
        Literal::Text(Cow::Owned(text.to_owned()))
    }

    fn word(word: &str) -> Literal<'static> {
        Literal::Word(Cow::Owned(word.to_owned()))
    }

    #[test]
    fn collections_are_read_as_cqlsh_writes_them() {
        for (written, expected) in [
            ("['a', 'it''s']", Literal::Items(vec![text("a"), text("it's")])),
            ("{1, 2}", Literal::Items(vec![word("1"), word("2")])),
            ("{}", Literal::Items(Vec::new())),
            (
                "{10:00:00.000000000: 'ten', 11:30:00.000000000: '{x'}",
                Literal::Pairs(vec![
                    (word("10:00:00.000000000"), text("ten")),
                    (word("11:30:00.000000000"), text("{x")),
                ]),
            ),
            (
                "{street: 'a\\nb', number: , at: (1, null)}",
                Literal::Pairs(vec![
                    (word("street"), text("a\nb")),
                    (word("number"), Literal::Null),
                    (word("at"), Literal::Items(vec![word("1"), Literal::Null])),
                ]),
            ),
        ] {
            assert_eq!(parse_cqlsh(written).unwrap(), expected, "{written}");
        }
    }

    #[test]
    fn mistakes_are_told_with_their_character() {
        for (written, told) in [
            ("['a'", "neither `,` nor `]` at its character 5"),
            ("['é'] x", "behind its end at its character 7"),
            ("{'a': 1, 'b'}", "no `:`"),
            ("['a", "quote without an end"),
        ] {
            let error = parse_cqlsh(written).unwrap_err();
            assert!(error.contains(told), "{written}: {error}");
        }
        assert!(parse_cqlsh(&"[".repeat(100_000)).unwrap_err().contains("32"));
    }

    fn literals() -> impl Strategy<Value = Literal<'static>> {
        let scalar = prop_oneof![
            any::<String>().prop_map(|of| text(&of)),
            "[0-9a-f]{1,8}(-[0-9a-f]{1,4})?".prop_map(|of| word(&of)),
            Just(Literal::Null),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Literal::Items),
                prop::collection::vec((inner.clone(), inner), 1..4).prop_map(Literal::Pairs),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(literal in literals()) {
            let text = literal.to_string();
            prop_assert_eq!(parse_cqlsh(&text).unwrap(), literal);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\](){}',: a\\\\n1é]{0,40}") {
            let _ = parse_cqlsh(&text);
        }
    }
}
