//! Written paths to document paths.

use trestle_expr::{Path, Step};

use crate::error::{Result, StatementError};
use crate::span::Span;
use crate::syntax::{self, Expr, ExprKind};

/// How many elements a path may have, as in DynamoDB's expressions.
const LEVELS_MAX: usize = 32;

/// The document path of an expression, or why it is not one.
pub(crate) fn path(expr: &Expr) -> Result<Path> {
    let (root, steps) = match &expr.kind {
        ExprKind::Path { root, steps } => (root.as_ref(), steps.as_slice()),
        _ => (expr, [].as_slice()),
    };
    let ExprKind::Name(attribute) = &root.kind else {
        return Err(unexpected(root.span));
    };
    let attribute = component(attribute)?;
    let steps = steps.iter().map(step).collect::<Result<Vec<_>>>()?;
    let levels = 1 + steps.len();
    if levels > LEVELS_MAX {
        return Err(StatementError::new(format!(
            "The document path has too many nesting levels; nesting levels: {levels}"
        )));
    }
    Ok(Path { attribute, steps })
}

/// Whether the expression has the form of a path, valid or not.
pub(crate) fn is_path(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Name(_) | ExprKind::Path { .. })
}

fn component(name: &str) -> Result<String> {
    if name.is_empty() {
        return Err(StatementError::new("Path component cannot be an empty string"));
    }
    Ok(name.to_owned())
}

fn unexpected(span: Span) -> StatementError {
    StatementError::at("Unexpected path component", span)
}

fn step(step: &syntax::Step) -> Result<Step> {
    match step {
        syntax::Step::Name(name) => component(name).map(Step::Name),
        syntax::Step::Index(expr) => index(expr),
        syntax::Step::Unpivot(span) => Err(StatementError::at(
            "Unpivot path component like a.*.b are not supported",
            *span,
        )),
        syntax::Step::Wildcard(span) => Err(StatementError::at(
            "Wildcard path component like a[*].b are not supported",
            *span,
        )),
    }
}

/// The text between brackets: a list index, or a map's name as a text.
fn index(expr: &Expr) -> Result<Step> {
    match &expr.kind {
        ExprKind::Text(name) | ExprKind::Name(name) => component(name).map(Step::Name),
        ExprKind::Number(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            let index = digits
                .parse::<i32>()
                .ok()
                .and_then(|index| usize::try_from(index).ok());
            index
                .map(Step::Index)
                .ok_or_else(|| out_of_range(digits, expr.span))
        }
        ExprKind::Signed {
            negative: true,
            operand,
        } => match &operand.kind {
            ExprKind::Number(digits) => Err(out_of_range(&format!("-{digits}"), operand.span)),
            _ => Err(unexpected(expr.span)),
        },
        _ => Err(unexpected(expr.span)),
    }
}

fn out_of_range(digits: &str, span: Span) -> StatementError {
    StatementError::at(
        format_args!("List index is not within the allowable range; index: [{digits}]"),
        span,
    )
}
