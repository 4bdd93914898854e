//! Tokens to syntax. The refusals are those of DynamoDB's own PartiQL parser, which names what it expected
//! and rarely what it found.

mod expression;
mod statement;
mod type_name;

use crate::error::{Result, StatementError};
use crate::keyword;
use crate::lexer;
use crate::span::Span;
use crate::syntax::Statement;
use crate::token::{Kind, Sign, Token};

/// How deep expressions may nest. DynamoDB accepts far less that means anything: values end at 32 levels and
/// conditions at 300 operators.
const DEPTH_MAX: usize = 128;

/// Reads one statement.
pub(crate) fn parse(text: &str) -> Result<Statement> {
    let mut parser = Parser {
        tokens: lexer::tokens(text)?,
        at: 0,
        depth: 0,
        parameters: 0,
    };
    parser.statement()
}

struct Parser {
    /// Ends with [`Kind::End`], which is never passed.
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    /// How many `?` were read.
    parameters: usize,
}

/// The position after the last token, if the list is empty.
const END: Token = Token {
    kind: Kind::End,
    span: Span {
        line: 1,
        column: 1,
        length: 0,
    },
};

impl Parser {
    fn head(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&END)
    }

    fn second(&self) -> &Token {
        self.tokens.get(self.at + 1).unwrap_or(&END)
    }

    fn span(&self) -> Span {
        self.head().span
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn at_word(&self, word: &str) -> bool {
        self.head().is_word(word)
    }

    fn at_sign(&self, sign: Sign) -> bool {
        self.head().is_sign(sign)
    }

    /// Passes the keyword `word` if it is next.
    fn take_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    /// Passes `sign` if it is next.
    fn take_sign(&mut self, sign: Sign) -> bool {
        let found = self.at_sign(sign);
        if found {
            self.advance();
        }
        found
    }

    fn expect_sign(&mut self, sign: Sign) -> Result<()> {
        if self.take_sign(sign) {
            return Ok(());
        }
        Err(StatementError::not_well_formed(&format!(
            "Expected {}",
            sign.name()
        )))
    }

    fn expect_word(&mut self, word: &str, detail: &str) -> Result<()> {
        if self.take_word(word) {
            Ok(())
        } else {
            Err(StatementError::not_well_formed(detail))
        }
    }

    /// A name that is not a keyword, or is in quotes.
    fn take_name(&mut self) -> Option<(String, Span)> {
        let span = self.span();
        let name = match &self.head().kind {
            Kind::Word(word) if !keyword::is_reserved(word) => word.clone(),
            Kind::Quoted(name) => name.clone(),
            _ => return None,
        };
        self.advance();
        Some((name, span))
    }

    /// Runs `read` one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            return Err(too_deep());
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}

fn too_deep() -> StatementError {
    StatementError::not_well_formed("The statement nests too deeply")
}
