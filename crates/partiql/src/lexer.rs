//! Splits a statement into tokens.

use crate::error::{Result, StatementError};
use crate::span::Span;
use crate::token::{Kind, Sign, Token};

/// All tokens of `text`, ending with [`Kind::End`]. Whitespace and comments vanish.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>> {
    let mut lexer = Lexer {
        rest: text,
        line: 1,
        column: 1,
    };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank()?;
        let before = lexer.mark();
        let kind = lexer.next_kind()?;
        let ended = kind == Kind::End;
        tokens.push(Token {
            kind,
            span: lexer.span_since(before),
        });
        if ended {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

/// What DynamoDB says about characters that make no token.
fn unreadable() -> StatementError {
    StatementError::not_well_formed("")
}

impl<'a> Lexer<'a> {
    fn mark(&self) -> (u32, u32, &'a str) {
        (self.line, self.column, self.rest)
    }

    fn span_since(&self, (line, column, rest): (u32, u32, &'a str)) -> Span {
        let bytes = rest.len() - self.rest.len();
        let length = rest.get(..bytes).map_or(0, |token| token.chars().count());
        Span {
            line,
            column,
            length: u32::try_from(length).unwrap_or(u32::MAX),
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest.chars().nth(1)
    }

    fn bump(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let character = chars.next()?;
        self.rest = chars.as_str();
        if character == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(character)
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(character) = self.peek().filter(|c| wanted(*c)) {
            taken.push(character);
            self.bump();
        }
        taken
    }

    fn skip_blank(&mut self) -> Result<()> {
        loop {
            if self.rest.starts_with("--") {
                self.take_while(|c| c != '\n' && c != '\r');
            } else if self.rest.starts_with("/*") {
                self.skip_block_comment()?;
            } else if self.peek().is_some_and(char::is_whitespace) {
                self.bump();
            } else {
                return Ok(());
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<()> {
        let end = self
            .rest
            .get(2..)
            .and_then(|body| body.find("*/"))
            .ok_or_else(unreadable)?;
        let remaining = self.rest.len() - (end + 4);
        while self.rest.len() > remaining {
            self.bump();
        }
        Ok(())
    }

    fn next_kind(&mut self) -> Result<Kind> {
        let Some(first) = self.peek() else {
            return Ok(Kind::End);
        };
        match first {
            '\'' => self.delimited('\'').map(Kind::Text),
            '"' => self.delimited('"').map(Kind::Quoted),
            '`' => self.delimited('`').map(Kind::Ion),
            '?' => {
                self.bump();
                Ok(Kind::Parameter)
            }
            '.' if self.peek_second().is_some_and(|c| c.is_ascii_digit()) => self.number().map(Kind::Number),
            c if c.is_ascii_digit() => self.number().map(Kind::Number),
            c if starts_word(c) => Ok(Kind::Word(self.take_while(continues_word))),
            _ => self.sign().map(Kind::Sign),
        }
    }

    /// Reads up to the closing `quote`; a doubled quote stands for itself.
    fn delimited(&mut self, quote: char) -> Result<String> {
        self.bump();
        let mut text = String::new();
        loop {
            match self.bump().ok_or_else(unreadable)? {
                c if c != quote => text.push(c),
                c if self.peek() == Some(quote) => {
                    self.bump();
                    text.push(c);
                }
                _ => return Ok(text),
            }
        }
    }

    fn number(&mut self) -> Result<String> {
        let digit = |c: char| c.is_ascii_digit();
        let mut text = self.take_while(digit);
        let mut fraction = String::new();
        if self.peek() == Some('.') {
            self.bump();
            fraction = self.take_while(digit);
            text.push('.');
            text.push_str(&fraction);
        }
        let mut exponent = 0;
        if let Some(letter @ ('e' | 'E')) = self.peek() {
            self.bump();
            let written = self.exponent()?;
            text.push(letter);
            text.push_str(&written);
            exponent = written.parse::<i32>().map_err(|_| unreadable())?;
        }
        // Numbers are read the way a 32-bit decimal scale allows; larger numbers are refused.
        let digits = i64::try_from(fraction.len()).map_err(|_| unreadable())?;
        i32::try_from(digits - i64::from(exponent)).map_err(|_| unreadable())?;
        Ok(text)
    }

    fn exponent(&mut self) -> Result<String> {
        let mut written = String::new();
        if let Some(sign @ ('+' | '-')) = self.peek() {
            self.bump();
            written.push(sign);
        }
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(unreadable());
        }
        written.push_str(&digits);
        Ok(written)
    }

    fn sign(&mut self) -> Result<Sign> {
        let first = self.bump().ok_or_else(unreadable)?;
        if let Some(sign) = self.peek().and_then(|second| two_character_sign(first, second)) {
            self.bump();
            return Ok(sign);
        }
        one_character_sign(first).ok_or_else(unreadable)
    }
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn continues_word(c: char) -> bool {
    starts_word(c) || c.is_ascii_digit()
}

fn two_character_sign(first: char, second: char) -> Option<Sign> {
    Some(match (first, second) {
        ('<', '<') => Sign::LeftAngles,
        ('>', '>') => Sign::RightAngles,
        ('<', '>') | ('!', '=') => Sign::NotEqual,
        ('<', '=') => Sign::LessOrEqual,
        ('>', '=') => Sign::GreaterOrEqual,
        ('|', '|') => Sign::Bars,
        _ => return None,
    })
}

fn one_character_sign(character: char) -> Option<Sign> {
    Some(match character {
        '(' => Sign::LeftParen,
        ')' => Sign::RightParen,
        '[' => Sign::LeftBracket,
        ']' => Sign::RightBracket,
        '{' => Sign::LeftCurly,
        '}' => Sign::RightCurly,
        ',' => Sign::Comma,
        ':' => Sign::Colon,
        ';' => Sign::Semicolon,
        '.' => Sign::Dot,
        '*' => Sign::Star,
        '+' => Sign::Plus,
        '-' => Sign::Minus,
        '/' => Sign::Slash,
        '%' => Sign::Percent,
        '=' => Sign::Equal,
        '<' => Sign::Less,
        '>' => Sign::Greater,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text)
            .unwrap()
            .into_iter()
            .map(|token| token.kind)
            .collect()
    }

    #[test]
    fn a_doubled_quote_stands_for_itself() {
        assert_eq!(kinds("'it''s'"), [Kind::Text("it's".into()), Kind::End]);
        assert_eq!(kinds(r#""a""b""#), [Kind::Quoted("a\"b".into()), Kind::End]);
    }

    #[test]
    fn comments_are_blank() {
        assert_eq!(kinds("-- a\n? /* b * / c */"), [Kind::Parameter, Kind::End]);
    }

    #[test]
    fn a_number_may_lack_its_leading_digit_and_carry_an_exponent() {
        assert_eq!(
            kinds(".73e1 7.31E+6"),
            [
                Kind::Number(".73e1".into()),
                Kind::Number("7.31E+6".into()),
                Kind::End
            ]
        );
    }

    #[test]
    fn a_word_may_stand_right_behind_a_number() {
        assert_eq!(kinds("1SET"), [&kinds("1")[..1], &kinds("SET")].concat());
    }

    #[test]
    fn what_makes_no_token_is_refused_without_a_detail() {
        for text in [
            "'open",
            "\"open",
            "1e99999999999",
            "1.5e-2147483647",
            "1e",
            "# note",
            "/* open",
            "a | b",
        ] {
            let refusal = tokens(text).unwrap_err().to_string();
            assert_eq!(
                refusal, "Statement wasn't well formed, can't be processed: ",
                "{text}"
            );
        }
    }

    #[test]
    fn spans_count_characters_from_one() {
        let spans: Vec<String> = tokens("é foo\n  'b'")
            .unwrap()
            .iter()
            .map(|t| t.span.to_string())
            .collect();
        assert_eq!(spans, ["1:1:1", "1:3:3", "2:3:3", "2:6:0"]);
    }
}
