//! PartiQL statements as operations on items: what the three operations that run statements have in common.

mod continuation;
mod identified;
mod read;

pub(crate) use read::read;

use std::sync::Arc;

use trestle_api::Error;
use trestle_expr::Update;
use trestle_item::{AttributeValue, Item};
use trestle_partiql::{Keys, Parsed, Returning, Statement, StatementError};

use crate::catalog::Table;
use crate::image;
use crate::schema::KeySchema;
use crate::shared::Shared;
use crate::write_item::{Action, ItemWrite, Outcome, image_to_put};

/// What DynamoDB says of `EXISTS` outside a transaction.
pub(crate) const EXISTS_MISPLACED: &str = "EXISTS can only be used in ExecuteTransaction write requests.";

/// A refused statement is a mistake of the request.
pub(crate) fn refused(refusal: StatementError) -> Error {
    Error::validation(refusal.to_string())
}

/// The table a statement names.
pub(crate) fn table(shared: &Shared, statement: &Parsed) -> Result<Arc<Table>, Error> {
    let catalog = shared.catalog.load();
    catalog.table(statement.table(), shared.clock.now()).cloned()
}

/// The statement with its parameters in place.
pub(crate) fn bind(statement: &Parsed, parameters: Option<&Vec<AttributeValue>>) -> Result<Statement, Error> {
    statement
        .bind(parameters.map_or(&[], Vec::as_slice))
        .map_err(refused)
}

/// Keys as PartiQL sees them.
pub(crate) fn keys(schema: &KeySchema) -> Result<Keys<'_>, Error> {
    Keys::new(&schema.hash, &schema.range).map_err(refused)
}

/// A statement that writes one item, and what its answer shows.
pub(crate) struct Write {
    pub(crate) item: ItemWrite,
    pub(crate) shown: Shown,
}

/// What the answer to a write shows of the item.
pub(crate) struct Shown {
    returning: Option<Returning>,
    update: Option<Update>,
}

/// The write that a statement means in `table`. A `SELECT` is none.
pub(crate) fn write(statement: Statement, table: &Table, show_on_failure: bool) -> Result<Write, Error> {
    let keys = keys(&table.key)?;
    let mut shown = Shown {
        returning: None,
        update: None,
    };
    let (action, condition) = match statement {
        Statement::Insert(insert) => {
            if table.hook.is_none() {
                insert.check(keys).map_err(refused)?;
            }
            (Action::Insert(image_to_put(insert.item)?), None)
        }
        Statement::Update(mut change) => {
            change.condition = identified::with_key(table, change.condition)?;
            let target = change.target(keys).map_err(refused)?;
            shown = Shown {
                returning: change.returning,
                update: Some(change.update.clone()),
            };
            (Action::Update(target.key, Some(change.update)), target.condition)
        }
        Statement::Delete(mut delete) => {
            delete.condition = identified::with_key(table, delete.condition)?;
            let target = delete.target(keys).map_err(refused)?;
            shown.returning = delete.returning.then_some(Returning::AllOld);
            (Action::Delete(target.key), target.condition)
        }
        Statement::Exists(mut select) => {
            select.condition = identified::with_key(table, select.condition)?;
            let target = select.exists(keys).map_err(refused)?;
            (Action::Check(target.key), target.condition)
        }
        Statement::Select(_) => return Err(Error::internal("a read was taken for a write")),
    };
    let item = ItemWrite {
        table_name: table.name.clone(),
        action,
        condition,
        show_on_failure,
    };
    Ok(Write { item, shown })
}

impl Shown {
    /// The item as the answer shows it; `None` if there is nothing to show.
    pub(crate) fn of(&self, outcome: &Outcome) -> Option<Item> {
        let (old, new) = (
            image::item(outcome.old.as_ref()),
            image::item(outcome.new.as_ref()),
        );
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
