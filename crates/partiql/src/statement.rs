//! Statements ready to run: what an operation on items needs, without the text.

use trestle_expr::{Condition, KeyAttribute, Path, Update};
use trestle_item::{AttributeValue, Item};

use crate::condition::condition;
use crate::error::{Result, StatementError};
use crate::keys::{Keys, check_type, conjunction, conjuncts};
use crate::parameters::Parameters;
use crate::projection::Projection;
use crate::syntax::{self, Columns, Direction, Expr, ExprKind, Returning};
use crate::table::{self, Source};
use crate::{parser, update, value};

/// Reads a statement. Its table is known from here on; its values and conditions after [`Parsed::bind`].
///
/// There are two steps because DynamoDB looks up the table between them: an unparsable text is refused first,
/// then a missing table, then invalid values and conditions.
pub fn parse(text: &str) -> Result<Parsed> {
    let syntax = parser::parse(text)?;
    let source = match &syntax {
        syntax::Statement::Select(select) | syntax::Statement::Exists(select) => {
            table::source(&select.source)?
        }
        syntax::Statement::Insert { target, .. } => Source {
            table: table::inserted_into(target)?,
            index: None,
        },
        syntax::Statement::Update { target, .. } => Source {
            table: table::changed(target)?,
            index: None,
        },
        syntax::Statement::Delete {
            target, returning, ..
        } => {
            check_deleted(*returning)?;
            Source {
                table: table::changed(target)?,
                index: None,
            }
        }
    };
    Ok(Parsed { syntax, source })
}

/// A deletion can only return the whole old item.
fn check_deleted(returning: Option<Returning>) -> Result<()> {
    match returning {
        None | Some(Returning::AllOld) => Ok(()),
        Some(other) => Err(StatementError::new(format!(
            "Invalid returning clause: {}. Only RETURNING ALL OLD * is allowed in DELETE statements.",
            other.clause()
        ))),
    }
}

/// A parsed statement whose values are not yet known.
#[derive(Clone, Debug)]
pub struct Parsed {
    syntax: syntax::Statement,
    source: Source,
}

/// Whether a statement writes. An unparsable one does not: it is refused where it is executed.
#[must_use]
pub fn is_write(text: &str) -> bool {
    parse(text).is_ok_and(|parsed| !parsed.is_read())
}

impl Parsed {
    /// The table it works on.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.source.table
    }

    /// The index it reads.
    #[must_use]
    pub fn index(&self) -> Option<&str> {
        self.source.index.as_deref()
    }

    /// Whether it is a `SELECT`. `EXISTS` counts as a write, because it is used among writes.
    #[must_use]
    pub fn is_read(&self) -> bool {
        matches!(self.syntax, syntax::Statement::Select(_))
    }

    /// Whether it is `EXISTS(…)`, which only a transaction may hold.
    #[must_use]
    pub fn is_exists(&self) -> bool {
        matches!(self.syntax, syntax::Statement::Exists(_))
    }

    /// The image a write returns.
    #[must_use]
    pub fn returning(&self) -> Option<Returning> {
        match &self.syntax {
            syntax::Statement::Update { returning, .. } | syntax::Statement::Delete { returning, .. } => {
                *returning
            }
            _ => None,
        }
    }

    /// Inserts the parameters and interprets values, conditions and paths.
    pub fn bind(&self, parameters: &[AttributeValue]) -> Result<Statement> {
        let parameters = Parameters(parameters);
        Ok(match &self.syntax {
            syntax::Statement::Select(select) => Statement::Select(self.select(select, parameters)?),
            syntax::Statement::Exists(select) => Statement::Exists(self.select(select, parameters)?),
            syntax::Statement::Insert { value, .. } => Statement::Insert(Insert {
                table: self.source.table.clone(),
                item: value::item(value, parameters)?,
            }),
            syntax::Statement::Update {
                changes,
                condition,
                returning,
                ..
            } => Statement::Update(Change {
                table: self.source.table.clone(),
                update: Update::from_actions(update::actions(changes, parameters)?),
                condition: optional(condition.as_ref(), parameters)?,
                returning: *returning,
            }),
            syntax::Statement::Delete {
                condition, returning, ..
            } => Statement::Delete(Delete {
                table: self.source.table.clone(),
                condition: optional(condition.as_ref(), parameters)?,
                returning: returning.is_some(),
            }),
        })
    }

    fn select(&self, select: &syntax::Select, parameters: Parameters<'_>) -> Result<Select> {
        let projection = match &select.columns {
            Columns::All => None,
            Columns::Listed(columns) => Some(Projection::new(columns)?),
        };
        Ok(Select {
            table: self.source.table.clone(),
            index: self.source.index.clone(),
            projection,
            condition: optional(select.condition.as_ref(), parameters)?,
            order: select.order.iter().map(order_term).collect::<Result<_>>()?,
        })
    }
}

fn optional(expr: Option<&Expr>, parameters: Parameters<'_>) -> Result<Option<Condition>> {
    expr.map(|expr| condition(expr, parameters)).transpose()
}

fn order_term((expr, direction): &(Expr, Direction)) -> Result<OrderTerm> {
    match &expr.kind {
        ExprKind::Name(attribute) => Ok(OrderTerm {
            attribute: attribute.clone(),
            direction: *direction,
        }),
        _ => Err(StatementError::at("Unexpected path component", expr.span)),
    }
}

/// A statement ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `SELECT`
    Select(Select),
    /// `INSERT`
    Insert(Insert),
    /// `UPDATE`
    Update(Change),
    /// `DELETE`
    Delete(Delete),
    /// `EXISTS(SELECT …)`, a condition among the writes of a transaction.
    Exists(Select),
}

/// Reads items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// The table.
    pub table: String,
    /// The index to read instead of the table itself.
    pub index: Option<String>,
    /// What to return of each item; all of it if there is none.
    pub projection: Option<Projection>,
    /// The whole `WHERE` clause; [`Select::plan`] divides it.
    pub condition: Option<Condition>,
    /// `ORDER BY`
    pub order: Vec<OrderTerm>,
}

/// One key of `ORDER BY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderTerm {
    /// The attribute.
    pub attribute: String,
    /// Which end first.
    pub direction: Direction,
}

/// Writes an item whose key is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Insert {
    /// The table.
    pub table: String,
    /// The item.
    pub item: Item,
}

/// Changes one item that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The table.
    pub table: String,
    /// What changes.
    pub update: Update,
    /// The whole `WHERE` clause; [`Change::target`] divides it.
    pub condition: Option<Condition>,
    /// The image to answer.
    pub returning: Option<Returning>,
}

/// Deletes one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The table.
    pub table: String,
    /// The whole `WHERE` clause; [`Delete::target`] divides it.
    pub condition: Option<Condition>,
    /// Whether to answer the old item.
    pub returning: bool,
}

/// One item and the condition of the write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The key.
    pub key: Item,
    /// The condition.
    pub condition: Option<Condition>,
}

/// DynamoDB's message about a write that does not name its item.
const KEY_MANDATORY: &str = "Where clause does not contain a mandatory equality on all key attributes";

impl Insert {
    /// Refuses an item without the table's key.
    pub fn check(&self, keys: Keys<'_>) -> Result<()> {
        keys.attributes()
            .try_for_each(|attribute| match self.item.get(&attribute.name) {
                Some(value) => check_type(attribute, value),
                None => Err(StatementError::new(format!(
                    "One or more parameter values were invalid: Missing the key {} in the item",
                    attribute.name
                ))),
            })
    }

    /// The condition of the insertion: no item has the key.
    #[must_use]
    pub fn condition(&self, keys: Keys<'_>) -> Condition {
        Condition::NotExists(key_path(keys.hash))
    }
}

impl Change {
    /// The item to change; it must exist, for PartiQL's `UPDATE` creates nothing.
    pub fn target(&self, keys: Keys<'_>) -> Result<Target> {
        let (key, rest) = written(self.condition.as_ref(), keys)?;
        Ok(Target {
            key,
            condition: Some(exists_and(keys, rest)),
        })
    }
}

impl Delete {
    /// The item to delete. A condition counts only if the item exists: deleting nothing succeeds.
    pub fn target(&self, keys: Keys<'_>) -> Result<Target> {
        let (key, rest) = written(self.condition.as_ref(), keys)?;
        let missing = Condition::NotExists(key_path(keys.hash));
        Ok(Target {
            key,
            condition: rest.map(|rest| Condition::Or(vec![missing, rest])),
        })
    }
}

impl Select {
    /// The key, if the statement names exactly one item and has no further condition.
    pub fn key(&self, keys: Keys<'_>) -> Result<Option<Item>> {
        let all = self.condition.as_ref().map(conjuncts).unwrap_or_default();
        let (key, rest) = keys.single_item(&all)?;
        Ok(key.filter(|_| rest.is_empty() && self.index.is_none()))
    }

    /// The item and condition of an `EXISTS`: the item must exist, and there must be more conditions than its
    /// key.
    pub fn exists(&self, keys: Keys<'_>) -> Result<Target> {
        let all = self.condition.as_ref().map(conjuncts).unwrap_or_default();
        let (key, rest) = keys.single_item(&all)?;
        match (key, conjunction(&rest)) {
            (Some(key), Some(rest)) if self.index.is_none() => Ok(Target {
                key,
                condition: Some(exists_and(keys, Some(rest))),
            }),
            _ => Err(StatementError::new(
                "EXISTS() must contain a single item read with additional condition",
            )),
        }
    }
}

/// The key of a write and the other conditions.
fn written(condition: Option<&Condition>, keys: Keys<'_>) -> Result<(Item, Option<Condition>)> {
    let all = condition.map(conjuncts).unwrap_or_default();
    let (key, rest) = keys.single_item(&all)?;
    let key = key.ok_or_else(|| StatementError::new(KEY_MANDATORY))?;
    Ok((key, conjunction(&rest)))
}

fn exists_and(keys: Keys<'_>, rest: Option<Condition>) -> Condition {
    let exists = Condition::Exists(key_path(keys.hash));
    match rest {
        None => exists,
        Some(Condition::And(mut all)) => {
            all.insert(0, exists);
            Condition::And(all)
        }
        Some(other) => Condition::And(vec![exists, other]),
    }
}

fn key_path(attribute: &KeyAttribute) -> Path {
    Path::top(attribute.name.clone())
}
