//! A position in the tokens of one expression, and the syntax errors at that position.

use crate::lexer::{Token, TokenKind, tokens};
use crate::{ExprError, Kind};

/// The longest expression, in bytes.
const EXPRESSION_BYTES_MAX: usize = 4096;

/// Reads tokens from left to right.
pub(crate) struct Cursor<'t> {
    kind: Kind,
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    /// Whether redundant parentheses have been found.
    redundant: bool,
}

impl<'t> Cursor<'t> {
    /// Refuses an empty or too long text; anything else can be read token by token.
    pub(crate) fn new(kind: Kind, text: &'t str) -> Result<Self, ExprError> {
        if text.is_empty() {
            return Err(kind.invalid("The expression can not be empty;"));
        }
        if text.len() > EXPRESSION_BYTES_MAX {
            return Err(too_long(kind, text.len()));
        }
        Ok(Self {
            kind,
            text,
            tokens: tokens(text),
            at: 0,
            redundant: false,
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn peek(&self) -> TokenKind {
        self.peek_at(0)
    }

    /// The token `ahead` of the next one.
    pub(crate) fn peek_at(&self, ahead: usize) -> TokenKind {
        self.tokens
            .get(self.at + ahead)
            .map_or(TokenKind::End, |token| token.kind)
    }

    /// Takes the next token if it is of this kind.
    pub(crate) fn take(&mut self, kind: TokenKind) -> Option<&'t str> {
        if self.peek() != kind {
            return None;
        }
        self.next()
    }

    /// Takes the next token, which must be of this kind.
    pub(crate) fn expect(&mut self, kind: TokenKind) -> Result<&'t str, ExprError> {
        self.take(kind).ok_or_else(|| self.syntax_error())
    }

    /// Takes any token; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<&'t str> {
        let token = self
            .tokens
            .get(self.at)
            .filter(|token| token.kind != TokenKind::End)?;
        self.at += 1;
        Some(&self.text[token.start..token.end])
    }

    /// Checks that everything has been read.
    pub(crate) fn finish(&self) -> Result<(), ExprError> {
        if self.peek() == TokenKind::End {
            Ok(())
        } else {
            Err(self.syntax_error())
        }
    }

    /// The error that the next token is not allowed here.
    ///
    /// `near` shows the text from the token before to the token after, as it was written. At either end of the
    /// expression it also shows the space there.
    pub(crate) fn syntax_error(&self) -> ExprError {
        let end = self.text.len();
        let Some(token) = self.tokens.get(self.at) else {
            return self.kind.invalid("Syntax error; token: \"<EOF>\", near: \"\"");
        };
        let from = self
            .at
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before))
            .map_or(0, |t| t.start);
        let to = self
            .tokens
            .get(self.at + 1)
            .filter(|after| after.kind != TokenKind::End)
            .map_or(end, |t| t.end);
        let shown = match token.kind {
            TokenKind::End => "<EOF>",
            _ => &self.text[token.start..token.end],
        };
        let near = &self.text[from..to];
        self.kind
            .invalid(format_args!("Syntax error; token: \"{shown}\", near: \"{near}\""))
    }

    /// Records redundant parentheses. DynamoDB reports them only once it knows what they enclose, and a
    /// syntax error may come first.
    pub(crate) fn note_redundant_parentheses(&mut self) {
        self.redundant = true;
    }

    /// Reports redundant parentheses read so far.
    pub(crate) fn check_parentheses(&self) -> Result<(), ExprError> {
        if self.redundant {
            Err(self.redundant_parentheses())
        } else {
            Ok(())
        }
    }

    pub(crate) fn redundant_parentheses(&self) -> ExprError {
        self.kind.invalid("The expression has redundant parentheses;")
    }
}

/// Only the error for conditions contains the size.
fn too_long(kind: Kind, size: usize) -> ExprError {
    const PROBLEM: &str = "Expression size has exceeded the maximum allowed size;";
    match kind {
        Kind::Projection | Kind::Update => kind.invalid(PROBLEM),
        _ => kind.invalid(format_args!("{PROBLEM} expression size: {size}")),
    }
}
