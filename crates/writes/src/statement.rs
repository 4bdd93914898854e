//! PartiQL statements that write one item each.

mod identified;
mod transaction;

pub use transaction::{TransactionStatement, statements_of_transaction, writes_of_statements};

use trestle_api::Error;
use trestle_expr::Update;
use trestle_hook::Hook;
use trestle_item::{AttributeValue, Item, size};
use trestle_partiql::{Keys, Parsed, Returning, Statement, StatementError, parse};

use crate::write::{Action, Write, check_size};

/// DynamoDB's message about `EXISTS` outside a transaction.
const EXISTS_MISPLACED: &str = "EXISTS can only be used in ExecuteTransaction write requests.";

/// A refused statement is a mistake of the request.
#[must_use]
pub fn refused_statement(refusal: StatementError) -> Error {
    Error::validation(refusal.to_string())
}

/// Parses a statement outside a transaction.
pub fn parse_alone(text: &str) -> Result<Parsed, Error> {
    let parsed = parse(text).map_err(refused_statement)?;
    match parsed.is_exists() {
        true => Err(Error::validation(EXISTS_MISPLACED)),
        false => Ok(parsed),
    }
}

/// Refuses a batch that reads and writes. Statements that cannot be parsed count as neither. Returns whether
/// the others read.
pub fn check_batch_is_of_one_kind<'p>(statements: impl Iterator<Item = &'p Parsed>) -> Result<bool, Error> {
    let (mut reads, mut writes) = (false, false);
    for statement in statements {
        match statement.is_read() {
            true => reads = true,
            false => writes = true,
        }
    }
    match reads && writes {
        true => Err(Error::validation(
            "Read and write requests together in the same batch is not supported.",
        )),
        false => Ok(reads),
    }
}

/// The statement with its parameters inserted.
pub fn bind_statement(
    statement: &Parsed,
    parameters: Option<&Vec<AttributeValue>>,
) -> Result<Statement, Error> {
    statement
        .bind(parameters.map_or(&[], Vec::as_slice))
        .map_err(refused_statement)
}

/// The table that a statement writes.
#[derive(Clone, Copy)]
pub struct StatementTable<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its key.
    pub keys: Keys<'t>,
    /// The hook that knows the meaning of its rows, if there is one.
    pub hook: Option<&'t dyn Hook>,
}

impl std::fmt::Debug for StatementTable<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatementTable")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// A statement that writes one item, and the item in its answer.
#[derive(Clone, Debug)]
pub struct StatementWrite {
    /// The write.
    pub write: Write,
    /// The item in its answer.
    pub shown: StatementShown,
}

/// The item in the answer to a statement that writes.
#[derive(Clone, Debug, Default)]
pub struct StatementShown {
    returning: Option<Returning>,
    update: Option<Update>,
}

/// The write of a statement; `None` for a `SELECT`.
pub fn write_of_statement(
    statement: Statement,
    table: StatementTable<'_>,
    show_on_failure: bool,
) -> Result<StatementWrite, Error> {
    let keys = table.keys;
    let mut shown = StatementShown::default();
    let (action, condition) = match statement {
        Statement::Insert(insert) => {
            if table.hook.is_none() {
                insert.check(keys).map_err(refused_statement)?;
            }
            check_size(size::of_item(&insert.item))?;
            (Action::Insert(insert.item), None)
        }
        Statement::Update(mut change) => {
            change.condition = identified::with_key(table, change.condition)?;
            let target = change.target(keys).map_err(refused_statement)?;
            shown = StatementShown {
                returning: change.returning,
                update: Some(change.update.clone()),
            };
            (Action::Update(target.key, Some(change.update)), target.condition)
        }
        Statement::Delete(mut delete) => {
            delete.condition = identified::with_key(table, delete.condition)?;
            let target = delete.target(keys).map_err(refused_statement)?;
            shown.returning = delete.returning.then_some(Returning::AllOld);
            (Action::Delete(target.key), target.condition)
        }
        Statement::Exists(mut select) => {
            select.condition = identified::with_key(table, select.condition)?;
            let target = select.exists(keys).map_err(refused_statement)?;
            (Action::Check(target.key), target.condition)
        }
        Statement::Select(_) => return Err(Error::internal("a read was taken for a write")),
    };
    let write = Write {
        table_name: table.name.to_owned(),
        action,
        condition,
        show_on_failure,
    };
    Ok(StatementWrite { write, shown })
}

impl StatementShown {
    /// Whether the answer shows anything.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.returning.is_some()
    }

    /// The item as the answer shows it; `None` if there is nothing to show.
    #[must_use]
    pub fn of(&self, old: Option<&Item>, new: Option<&Item>) -> Option<Item> {
        let touched = |image: Option<&Item>| {
            let touched = self.update.as_ref()?.updated(image?);
            (!touched.is_empty()).then_some(touched)
        };
        match self.returning? {
            Returning::AllOld => old.cloned(),
            Returning::AllNew => new.cloned(),
            Returning::ModifiedOld => touched(old),
            Returning::ModifiedNew => touched(new),
        }
    }
}
