//! Splits CQL text into words, symbols and strings, each with its position.

use super::SchemaError;

/// A token of CQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word: in lower case, unless it was quoted.
    Word {
        text: String,
        /// A quoted word is a name, never a keyword.
        quoted: bool,
    },
    /// A quoted string.
    Text(String),
    /// A symbol, such as `(`.
    Sign(char),
}

/// A token and the position of its first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlacedToken {
    pub(super) token: Token,
    pub(super) at: usize,
}

/// An error at a byte of the text.
pub(super) fn error_at(text: &str, at: usize, message: impl Into<String>) -> SchemaError {
    let before: Vec<&str> = text.get(..at).unwrap_or(text).split('\n').collect();
    let last = before.last().copied().unwrap_or_default();
    SchemaError {
        line: before.len(),
        column: last.chars().count() + 1,
        message: message.into(),
    }
}

/// All tokens of a text, without comments.
pub(super) fn tokens(text: &str) -> Result<Vec<PlacedToken>, SchemaError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut found = Vec::new();
    while let Some(placed) = lexer.next()? {
        found.push(placed);
    }
    Ok(found)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&mut self) -> Result<Option<PlacedToken>, SchemaError> {
        self.skip_space()?;
        let at = self.at;
        let Some(first) = self.rest().chars().next() else {
            return Ok(None);
        };
        let token = match first {
            '\'' => Token::Text(self.quoted('\'')?),
            '"' => Token::Word {
                text: self.quoted('"')?,
                quoted: true,
            },
            '$' if self.rest().starts_with("$$") => self.dollars()?,
            word if is_word(word) => self.word(),
            sign => {
                self.at += sign.len_utf8();
                Token::Sign(sign)
            }
        };
        Ok(Some(PlacedToken { token, at }))
    }

    fn skip_space(&mut self) -> Result<(), SchemaError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("--") || trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                let end = trimmed.find("*/");
                let end = end.ok_or_else(|| self.error("this comment has no end; close it with */"))?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn error(&self, message: &str) -> SchemaError {
        error_at(self.text, self.at, message)
    }

    fn word(&mut self) -> Token {
        let rest = self.rest();
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += end;
        Token::Word {
            text: rest.get(..end).unwrap_or_default().to_lowercase(),
            quoted: false,
        }
    }

    /// A quote is doubled inside quotes.
    fn quoted(&mut self, quote: char) -> Result<String, SchemaError> {
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if character != quote {
                text.push(character);
            } else if characters.next_if(|(_, next)| *next == quote).is_some() {
                text.push(quote);
            } else {
                self.at += at + 1;
                return Ok(text);
            }
        }
        Err(self.error("this quote is never closed"))
    }

    fn dollars(&mut self) -> Result<Token, SchemaError> {
        let inner = self.rest().get(2..).unwrap_or_default();
        let end = inner.find("$$");
        let end = end.ok_or_else(|| self.error("this $$ is never closed"))?;
        self.at += end + 4;
        Ok(Token::Text(inner.get(..end).unwrap_or_default().to_owned()))
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
