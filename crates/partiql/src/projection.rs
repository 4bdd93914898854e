//! The select list.

use trestle_expr::{Path, Step};
use trestle_item::Map;

use crate::error::{Result, StatementError};
use crate::path;
use crate::syntax::Expr;

/// The columns a `SELECT` names. Unlike a projection expression it flattens: `a.b[0]` answers as `b[0]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Column {
    name: String,
    path: Path,
}

impl Projection {
    pub(crate) fn new(exprs: &[Expr]) -> Result<Self> {
        let mut columns: Vec<Column> = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let path = column_path(expr)?;
            let name = column_name(&path);
            if columns.iter().any(|column| column.name == name) {
                return Err(StatementError::new(format!(
                    "Duplicate identifiers in select clause: {name}"
                )));
            }
            if let Some(other) = columns.iter().find(|column| overlap(&column.path, &path)) {
                return Err(overlapping(&other.path, &path));
            }
            columns.push(Column { name, path });
        }
        Ok(Self { columns })
    }

    /// The named columns of `item`; those it lacks are left out.
    #[must_use]
    pub fn apply(&self, item: &Map) -> Map {
        self.columns
            .iter()
            .filter_map(|column| Some((column.name.clone(), column.path.get(item)?.clone())))
            .collect()
    }

    /// The top-level attributes read, in the order of the statement.
    pub fn attributes(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.path.attribute.as_str())
    }

    /// The paths read, in the order of the statement.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.columns.iter().map(|column| &column.path)
    }
}

fn column_path(expr: &Expr) -> Result<Path> {
    if let crate::syntax::ExprKind::Path { steps, .. } = &expr.kind
        && matches!(steps.last(), Some(crate::syntax::Step::Unpivot(_)))
    {
        return Err(StatementError::new(
            "Changing item's hierarchy while reading isn't supported",
        ));
    }
    path::path(expr)
}

/// The last name of the path, with the indexes after it.
fn column_name(path: &Path) -> String {
    let named = path.steps.iter().rposition(|step| matches!(step, Step::Name(_)));
    let (mut name, indexes) = match named.map(|at| (path.steps.get(at), path.steps.get(at + 1..))) {
        Some((Some(Step::Name(name)), indexes)) => (name.clone(), indexes.unwrap_or_default()),
        _ => (path.attribute.clone(), path.steps.as_slice()),
    };
    for step in indexes {
        if let Step::Index(index) = step {
            name.push_str(&format!("[{index}]"));
        }
    }
    name
}

/// Whether one path is the other or leads into it.
pub(crate) fn overlap(one: &Path, two: &Path) -> bool {
    one.attribute == two.attribute && one.steps.iter().zip(&two.steps).all(|(a, b)| a == b)
}

/// DynamoDB names the shorter path first.
pub(crate) fn overlapping(one: &Path, two: &Path) -> StatementError {
    let (short, long) = if one.steps.len() <= two.steps.len() {
        (one, two)
    } else {
        (two, one)
    };
    StatementError::new(format!(
        "Two document paths overlap with each other; must remove or rewrite one of these paths; \
         path one: {short}, path two: {long}"
    ))
}
