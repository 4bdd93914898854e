//! The grammars: from tokens to trees with placeholders and unchecked names.
//!
//! Trees borrow from the text. Parentheses are checked here and not kept, because DynamoDB refuses redundant
//! ones while it parses.

mod condition;
mod operand;
mod update;

pub(crate) use condition::{Comparison, RawCondition, condition};
pub(crate) use operand::{RawCall, RawName, RawOperand, RawPath, RawStep};
pub(crate) use update::{RawAction, RawSection, RawSetValue, Sign, update};

use crate::ExprError;
use crate::cursor::Cursor;
use crate::lexer::TokenKind;

/// The paths of a projection.
pub(crate) fn projection<'t>(cursor: &mut Cursor<'t>) -> Result<Vec<RawPath<'t>>, ExprError> {
    let paths = separated(cursor, operand::path)?;
    cursor.finish()?;
    Ok(paths)
}

/// One or more elements, separated by commas.
fn separated<'t, T>(
    cursor: &mut Cursor<'t>,
    mut parse: impl FnMut(&mut Cursor<'t>) -> Result<T, ExprError>,
) -> Result<Vec<T>, ExprError> {
    let mut parsed = vec![parse(cursor)?];
    while cursor.take(TokenKind::Comma).is_some() {
        parsed.push(parse(cursor)?);
    }
    Ok(parsed)
}
