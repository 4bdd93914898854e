//! Which table or index a statement names.

use crate::error::{Result, StatementError};
use crate::syntax::{Expr, ExprKind, Step};

/// What a `SELECT` reads from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) table: String,
    pub(crate) index: Option<String>,
}

/// The table, and the index after a dot.
pub(crate) fn source(expr: &Expr) -> Result<Source> {
    let mut names = components(expr)?.into_iter();
    let table = names.next().ok_or_else(unexpected)?;
    let index = names.next();
    if names.next().is_some() {
        return Err(StatementError::new(
            "A path may contain at most 2 components in the FROM clause",
        ));
    }
    Ok(Source { table, index })
}

/// The table of an `UPDATE` or `DELETE`.
pub(crate) fn changed(expr: &Expr) -> Result<String> {
    let source = source(expr)?;
    if source.index.is_some() {
        return Err(StatementError::new("This operation is not supported on an index"));
    }
    Ok(source.table)
}

/// The table of an `INSERT`.
pub(crate) fn inserted_into(expr: &Expr) -> Result<String> {
    if matches!(expr.kind, ExprKind::Path { .. }) {
        return Err(StatementError::at(
            "FROM clause may only contain a single table name in data manipulation statements",
            expr.span,
        ));
    }
    Ok(source(expr)?.table)
}

fn unexpected() -> StatementError {
    StatementError::new("Unexpected from source")
}

fn components(expr: &Expr) -> Result<Vec<String>> {
    let (root, steps) = match &expr.kind {
        ExprKind::Path { root, steps } => (root.as_ref(), steps.as_slice()),
        _ => (expr, [].as_slice()),
    };
    let ExprKind::Name(table) = &root.kind else {
        return Err(unexpected());
    };
    let mut names = vec![table.clone()];
    for step in steps {
        match step {
            Step::Name(name) => names.push(name.clone()),
            Step::Index(Expr {
                kind: ExprKind::Text(name),
                ..
            }) => names.push(name.clone()),
            Step::Index(_) | Step::Wildcard(_) => {
                return Err(StatementError::new("Invalid list expression in source."));
            }
            Step::Unpivot(_) => return Err(unexpected()),
        }
    }
    if names.iter().any(String::is_empty) {
        return Err(StatementError::new("Path component cannot be an empty string"));
    }
    Ok(names)
}
