//! JSON as `dsbulk` writes it. Numbers stay text: a `varint` has more digits than a floating-point number.

use std::borrow::Cow;

use super::literal::{DEPTH_MAX, Literal};

/// Reads one JSON value. Numbers and truth values are words.
pub fn parse_json(text: &str) -> Result<Literal<'_>, String> {
    let mut reader = Reader { text, at: 0 };
    let literal = reader.value(0)?;
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
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        self.at += rest.len() - trimmed.len();
    }

    fn error(&self, what: &str) -> String {
        let character = self
            .text
            .get(..self.at)
            .map_or(0, |before| before.chars().count())
            + 1;
        format!("is no JSON: {what} at character {character}")
    }

    fn take(&mut self, sign: char) -> bool {
        let is_it = self.rest().starts_with(sign);
        self.at += usize::from(is_it);
        is_it
    }

    fn value(&mut self, depth: usize) -> Result<Literal<'t>, String> {
        if depth > DEPTH_MAX {
            return Err(self.error("more than 32 values inside each other"));
        }
        self.space();
        match self.rest().bytes().next() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Literal::Text),
            Some(_) => self.word(),
            None => Err(self.error("nothing")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Literal<'t>, String> {
        self.at += 1;
        let mut pairs = Vec::new();
        self.space();
        if self.take('}') {
            return Ok(Literal::Pairs(pairs));
        }
        loop {
            self.space();
            let key = self.string()?;
            self.space();
            if !self.take(':') {
                return Err(self.error("no `:`"));
            }
            pairs.push((Literal::Text(key), self.value(depth + 1)?));
            if self.closed('}')? {
                return Ok(Literal::Pairs(pairs));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Literal<'t>, String> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.take(']') {
            return Ok(Literal::Items(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.closed(']')? {
                return Ok(Literal::Items(items));
            }
        }
    }

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

    /// Escapes are left to serde.
    fn string(&mut self) -> Result<Cow<'t, str>, String> {
        let rest = self.rest();
        if !rest.starts_with('"') {
            return Err(self.error("no `\"`"));
        }
        let mut is_plain = true;
        let mut bytes = rest.bytes().enumerate().skip(1);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => {
                    is_plain = false;
                    bytes.next();
                }
                b'"' => {
                    let whole = rest.get(..=at).unwrap_or_default();
                    if is_plain && !whole.bytes().any(|byte| byte < 0x20) {
                        self.at += whole.len();
                        return Ok(Cow::Borrowed(whole.get(1..at).unwrap_or_default()));
                    }
                    let read: Result<String, _> = serde_json::from_str(whole);
                    let read = read.map_err(|_| self.error("a string that is none"))?;
                    self.at += whole.len();
                    return Ok(Cow::Owned(read));
                }
                _ => {}
            }
        }
        Err(self.error("a string without an end"))
    }

    fn word(&mut self) -> Result<Literal<'t>, String> {
        let rest = self.rest();
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let is_number = serde_json::from_str::<serde_json::Number>(word).is_ok() || is_large_number(word);
        let literal = match word {
            "null" => Literal::Null,
            "true" | "false" => Literal::Word(Cow::Borrowed(word)),
            number if is_number => Literal::Word(Cow::Borrowed(number)),
            _ => return Err(self.error("no value")),
        };
        self.at += end;
        Ok(literal)
    }
}

/// A number that no floating-point number holds, such as `1E+400`.
fn is_large_number(word: &str) -> bool {
    word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && word.ends_with(|c: char| c.is_ascii_digit())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn same(literal: &Literal<'_>, value: &Value) -> bool {
        match (literal, value) {
            (Literal::Null, Value::Null) => true,
            (Literal::Text(one), Value::String(two)) => one == two,
            (Literal::Word(word), Value::Bool(_) | Value::Number(_)) => {
                let text = value.to_string();
                *word == text
            }
            (Literal::Items(one), Value::Array(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| same(one, two))
            }
            (Literal::Pairs(one), Value::Object(two)) => {
                one.len() == two.len()
                    && one.iter().all(|(key, value)| match key {
                        Literal::Text(key) => two.get(&**key).is_some_and(|of| same(value, of)),
                        _ => false,
                    })
            }
            _ => false,
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    #[test]
    fn digits_are_kept() {
        let digits = "123456789012345678901234567890.5";
        assert_eq!(parse_json(digits).unwrap(), Literal::Word(Cow::Borrowed(digits)));
        assert!(parse_json("1E+400").is_ok());
        assert!(parse_json(&"[".repeat(100_000)).unwrap_err().contains("32"));
        for wrong in [
            "", "{", "[1 2]", "{1: 2}", "nul", "\"", "\"\\q\"", "1 2", "\"a\nb\"",
        ] {
            assert!(parse_json(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_json_is_read(value in values()) {
            let text = value.to_string();
            prop_assert!(same(&parse_json(&text).unwrap(), &value), "{}", text);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]{}\",: a\\\\n1é.-]{0,40}") {
            let _ = parse_json(&text);
        }
    }
}
