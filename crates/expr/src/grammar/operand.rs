//! Paths, values and function calls, used in all expressions.

use super::separated;
use crate::ExprError;
use crate::cursor::Cursor;
use crate::lexer::TokenKind;

/// An expression with a value.
#[derive(Debug)]
pub(crate) enum RawOperand<'t> {
    Path(RawPath<'t>),
    /// `:value`, with its colon.
    Value(&'t str),
    Call(RawCall<'t>),
}

/// A function and its arguments; at least one.
#[derive(Debug)]
pub(crate) struct RawCall<'t> {
    pub(crate) function: &'t str,
    pub(crate) arguments: Vec<RawOperand<'t>>,
}

/// A document path.
#[derive(Debug)]
pub(crate) struct RawPath<'t> {
    pub(crate) attribute: RawName<'t>,
    pub(crate) steps: Vec<RawStep<'t>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum RawStep<'t> {
    Name(RawName<'t>),
    /// The digits between brackets.
    Index(&'t str),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum RawName<'t> {
    /// A name written out.
    Word(&'t str),
    /// `#name`, with its hash.
    Placeholder(&'t str),
}

/// Calls nested deeper than this are refused. Allowed nested calls are far shorter than what an expression of
/// 4 KB could contain, so this only limits the stack.
const CALL_DEPTH_MAX: usize = 256;

/// An operand without parentheses.
pub(crate) fn operand<'t>(cursor: &mut Cursor<'t>) -> Result<RawOperand<'t>, ExprError> {
    operand_at(cursor, 0)
}

fn operand_at<'t>(cursor: &mut Cursor<'t>, depth: usize) -> Result<RawOperand<'t>, ExprError> {
    if let Some(value) = cursor.take(TokenKind::Value) {
        return Ok(RawOperand::Value(value));
    }
    if cursor.peek() == TokenKind::Word && cursor.peek_at(1) == TokenKind::Open {
        return call(cursor, depth).map(RawOperand::Call);
    }
    path(cursor).map(RawOperand::Path)
}

/// An operand that may have one pair of parentheses.
pub(crate) fn grouped_operand<'t>(cursor: &mut Cursor<'t>) -> Result<RawOperand<'t>, ExprError> {
    let operand = first_operand(cursor)?;
    cursor.check_parentheses()?;
    Ok(operand)
}

/// Like [`grouped_operand`], where only the next token shows whether an operand is allowed here at all: the
/// caller checks that first, and then the parentheses.
pub(crate) fn first_operand<'t>(cursor: &mut Cursor<'t>) -> Result<RawOperand<'t>, ExprError> {
    grouped_operand_at(cursor, 0)
}

fn grouped_operand_at<'t>(cursor: &mut Cursor<'t>, depth: usize) -> Result<RawOperand<'t>, ExprError> {
    let opened = open(cursor);
    let operand = operand_at(cursor, depth)?;
    close(cursor, opened)?;
    Ok(operand)
}

/// Reads all opening parentheses here.
pub(crate) fn open(cursor: &mut Cursor<'_>) -> usize {
    let mut opened = 0;
    while cursor.take(TokenKind::Open).is_some() {
        opened += 1;
    }
    opened
}

/// Closes parentheses that were opened together: more than one pair is redundant.
pub(crate) fn close(cursor: &mut Cursor<'_>, opened: usize) -> Result<(), ExprError> {
    for closed in 0..opened {
        cursor.expect(TokenKind::Close)?;
        if closed == 1 {
            cursor.note_redundant_parentheses();
        }
    }
    Ok(())
}

fn call<'t>(cursor: &mut Cursor<'t>, depth: usize) -> Result<RawCall<'t>, ExprError> {
    let function = cursor.expect(TokenKind::Word)?;
    if depth == CALL_DEPTH_MAX {
        return Err(crate::vocabulary::misused(cursor.kind(), function));
    }
    cursor.expect(TokenKind::Open)?;
    let arguments = separated(cursor, |cursor| grouped_operand_at(cursor, depth + 1))?;
    cursor.expect(TokenKind::Close)?;
    Ok(RawCall { function, arguments })
}

/// A document path.
pub(crate) fn path<'t>(cursor: &mut Cursor<'t>) -> Result<RawPath<'t>, ExprError> {
    let attribute = name(cursor)?;
    let mut steps = Vec::new();
    loop {
        if cursor.take(TokenKind::Dot).is_some() {
            steps.push(RawStep::Name(name(cursor)?));
        } else if cursor.take(TokenKind::OpenBracket).is_some() {
            steps.push(RawStep::Index(cursor.expect(TokenKind::Integer)?));
            cursor.expect(TokenKind::CloseBracket)?;
        } else {
            return Ok(RawPath { attribute, steps });
        }
    }
}

fn name<'t>(cursor: &mut Cursor<'t>) -> Result<RawName<'t>, ExprError> {
    if let Some(word) = cursor.take(TokenKind::Word) {
        return Ok(RawName::Word(word));
    }
    cursor.expect(TokenKind::Name).map(RawName::Placeholder)
}
