//! Updates: `SET`, `REMOVE`, `ADD` and `DELETE` sections in any order.

use super::operand::{RawOperand, RawPath, close, grouped_operand, open, operand, path};
use super::separated;
use crate::ExprError;
use crate::cursor::Cursor;
use crate::lexer::TokenKind;

/// One change as written.
#[derive(Debug)]
pub(crate) enum RawAction<'t> {
    Set(RawPath<'t>, RawSetValue<'t>),
    Remove(RawPath<'t>),
    /// A path and a `:value`.
    Add(RawPath<'t>, &'t str),
    /// A path and a `:value`.
    Delete(RawPath<'t>, &'t str),
}

/// The right side of a `SET`.
#[derive(Debug)]
pub(crate) enum RawSetValue<'t> {
    Operand(RawOperand<'t>),
    Sum(RawOperand<'t>, Sign, RawOperand<'t>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

impl Sign {
    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Plus => "+",
            Self::Minus => "-",
        }
    }
}

/// A keyword and its actions.
#[derive(Debug)]
pub(crate) struct RawSection<'t> {
    pub(crate) keyword: &'static str,
    pub(crate) actions: Vec<RawAction<'t>>,
}

/// All sections in order.
pub(crate) fn update<'t>(cursor: &mut Cursor<'t>) -> Result<Vec<RawSection<'t>>, ExprError> {
    let mut sections = Vec::new();
    loop {
        let token = cursor.peek();
        let keyword = match token {
            TokenKind::Set => "SET",
            TokenKind::Remove => "REMOVE",
            TokenKind::Add => "ADD",
            TokenKind::Delete => "DELETE",
            TokenKind::End if !sections.is_empty() => return Ok(sections),
            _ => return Err(cursor.syntax_error()),
        };
        cursor.next();
        let actions = separated(cursor, |cursor| action(cursor, token))?;
        sections.push(RawSection { keyword, actions });
    }
}

fn action<'t>(cursor: &mut Cursor<'t>, keyword: TokenKind) -> Result<RawAction<'t>, ExprError> {
    let target = path(cursor)?;
    match keyword {
        TokenKind::Set => {
            cursor.expect(TokenKind::Equal)?;
            Ok(RawAction::Set(target, set_value(cursor)?))
        }
        TokenKind::Add => Ok(RawAction::Add(target, cursor.expect(TokenKind::Value)?)),
        TokenKind::Delete => Ok(RawAction::Delete(target, cursor.expect(TokenKind::Value)?)),
        _ => Ok(RawAction::Remove(target)),
    }
}

/// Parentheses may enclose the first operand, the whole value, or both: `((a) + :b)`.
fn set_value<'t>(cursor: &mut Cursor<'t>) -> Result<RawSetValue<'t>, ExprError> {
    let opened = open(cursor);
    let left = operand(cursor)?;
    let closed = (0..opened)
        .take_while(|ahead| cursor.peek_at(*ahead) == TokenKind::Close)
        .count();
    close(cursor, closed)?;
    cursor.check_parentheses()?;
    let around_value = opened - closed;
    let Some(sign) = sign(cursor) else {
        if around_value > 0 {
            return Err(cursor.syntax_error());
        }
        return Ok(RawSetValue::Operand(left));
    };
    let right = grouped_operand(cursor)?;
    close(cursor, around_value)?;
    cursor.check_parentheses()?;
    Ok(RawSetValue::Sum(left, sign, right))
}

fn sign(cursor: &mut Cursor<'_>) -> Option<Sign> {
    if cursor.take(TokenKind::Plus).is_some() {
        return Some(Sign::Plus);
    }
    cursor.take(TokenKind::Minus).map(|_| Sign::Minus)
}
