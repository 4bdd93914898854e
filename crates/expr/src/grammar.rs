//! The grammars: tokens to trees that still hold placeholders and unchecked names.
//!
//! Trees borrow from the text. Parentheses are checked here and then forgotten, because DynamoDB refuses redundant
//! ones while it still reads.

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

/// One or more, with commas between.
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
