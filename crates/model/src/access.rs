//! Access patterns: each is one Get, one Query or, if declared so, one Scan; everything but its parameters is
//! known.

mod bind;
mod cost;
mod explain;
mod expression;
mod filter;
mod request;

use trestle_item::ScalarType;

use crate::attribute::{Attribute, AttributeKind};
use crate::draft::{Operand, Test};

pub use bind::Bound;
pub use cost::Cost;
pub(crate) use cost::{estimate, is_in_index};
pub use explain::{Explained, ExplainedKey};
pub(crate) use expression::{Expression, ExpressionPiece};

/// A named way to reach rows.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPattern {
    pub(crate) name: String,
    pub(crate) about: Option<String>,
    pub(crate) operation: Operation,
    pub(crate) table_name: String,
    pub(crate) index: Option<String>,
    /// The attributes it is ordered by.
    pub(crate) sorted_by: Vec<String>,
    pub(crate) key: Vec<KeyTest>,
    pub(crate) filter: Vec<FilterTest>,
    pub(crate) tags: Option<TagFilter>,
    pub(crate) returns: Vec<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) descending: bool,
    pub(crate) limit: Option<u32>,
    pub(crate) consistent: bool,
    pub(crate) strays: Vec<String>,
    /// The attributes it returns that follow their originals in the background.
    pub(crate) late: Vec<String>,
    pub(crate) cost: Cost,
}

/// What an access pattern does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Operation {
    /// Reads one row by its key.
    GetItem,
    /// Reads rows of one partition.
    Query,
    /// Reads everything.
    Scan,
}

/// A parameter of an access pattern.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: AttributeKind,
    /// The attribute whose value it is; `None` where it may be only the beginning of a value.
    #[serde(skip)]
    pub attribute: Option<String>,
}

/// What a key attribute must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyTest {
    pub(crate) attribute: String,
    pub(crate) kind: ScalarType,
    pub(crate) op: KeyTestOp,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyTestOp {
    Eq(Expression),
    Lt(Expression),
    Le(Expression),
    Gt(Expression),
    Ge(Expression),
    Between(Expression, Expression),
    BeginsWith(Expression),
}

/// What another attribute must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FilterTest {
    pub(crate) attribute: Attribute,
    pub(crate) test: Test<Operand>,
}

/// Excludes rows of other entities.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TagFilter {
    pub(crate) attribute: String,
    pub(crate) tags: Vec<String>,
}

impl AccessPattern {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is for.
    #[must_use]
    pub fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    /// What it does.
    #[must_use]
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// The table in the database.
    #[must_use]
    pub fn table_name(&self) -> &str {
        &self.table_name
    }

    /// The index, if it reads one.
    #[must_use]
    pub fn index(&self) -> Option<&str> {
        self.index.as_deref()
    }

    /// The entities it returns.
    #[must_use]
    pub fn returns(&self) -> &[String] {
        &self.returns
    }

    /// Its parameters, in the order of the file.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Entities whose rows may lie among those it reads; they are filtered out by tag, or distinguished by
    /// the shape of their keys.
    #[must_use]
    pub fn strays(&self) -> &[String] {
        &self.strays
    }

    /// Its approximate cost.
    #[must_use]
    pub fn cost(&self) -> &Cost {
        &self.cost
    }
}
