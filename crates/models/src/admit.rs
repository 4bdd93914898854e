//! What clients may not do to the tables of Trestle and of models.
//!
//! Clients may read the tables of Trestle itself but not write them: a manual change would contradict the
//! state of queues and routes. The parts of large values are the exception: clients put them, and the models'
//! hook checks each. Tables and indexes of a model are deleted only if all derived rows stay right. While a
//! stored model does not load, no model is enforced and writes of clients are refused, because derived rows
//! would be missing.

use trestle_api::{
    Access, Error, OWN_TABLES, Request, TableDescription, UpdateTable, is_own_table, own_table_refusal,
    table_name,
};
use trestle_model::PARTS_TABLE;

use crate::Models;

/// Why a table or an index must not be deleted, if it exists. The database itself refuses to delete one that
/// does not exist.
#[derive(Clone, Debug)]
pub struct Objection {
    /// The table.
    pub table: String,
    index: Option<String>,
    error: Error,
}

impl Objection {
    /// Refuses the request if the table or index that it would delete exists.
    pub fn hold_against(self, there: Option<&TableDescription>) -> Result<(), Error> {
        let Some(there) = there else { return Ok(()) };
        let mut indexes = there.global_secondary_indexes.iter().flatten();
        match &self.index {
            Some(index) if !indexes.any(|there| there.index_name == *index) => Ok(()),
            _ => Err(self.error),
        }
    }
}

impl Models {
    /// Refuses a client's write that models or Trestle itself forbid.
    pub fn admit(&self, request: &Request) -> Result<(), Error> {
        if let Some(table) = request.own_table_written()
            && !self.puts_part(request)
        {
            return Err(own_table_refusal(table));
        }
        match request.access() {
            Access::Statements(texts) => texts.into_iter().try_for_each(statement)?,
            Access::Read | Access::Write => {}
        }
        self.admit_unenforced(request)
    }

    /// Refuses a request that would write while a stored model does not load. Reads are allowed.
    pub fn admit_unenforced(&self, request: &Request) -> Result<(), Error> {
        match request.access().writes(trestle_partiql::is_write) {
            true => self.refuse_while_not_in_force(),
            false => Ok(()),
        }
    }

    /// Refuses any write while a stored model does not load.
    pub fn refuse_while_not_in_force(&self) -> Result<(), Error> {
        if self.are_in_force() {
            return Ok(());
        }
        match self.why_not_in_force() {
            Some(why) => Err(Error::validation(format!("Nothing is written for now: {why}"))),
            // The models have been enforced in the meantime.
            None => Ok(()),
        }
    }

    /// Why a request that deletes a table or an index must not be carried out; `None` if it may be.
    #[must_use]
    pub fn objection(&self, request: &Request) -> Option<Objection> {
        match request {
            Request::DeleteTable(request) => self.objection_to_deletion(table_name(&request.table_name)),
            Request::UpdateTable(request) => self.objection_to_index_deletion(request),
            _ => None,
        }
    }

    /// Whether the request puts a part of a large value, and a model has such values, so that its hook checks it.
    fn puts_part(&self, request: &Request) -> bool {
        match request {
            Request::PutItem(put) => put.table_name == PARTS_TABLE && self.have_large_values(),
            _ => false,
        }
    }

    fn objection_to_deletion(&self, table: &str) -> Option<Objection> {
        let model = self.model_with(table)?;
        let across = model.depends_across(table)?;
        let (name, effect, other) = (model.name(), across.effect, across.other_table);
        let error = Error::resource_in_use(format!(
            "Table {table} cannot be deleted: the {effect} in model {name} relates its rows to rows of table {other}. Remove the \
             model first (`trestle model remove {name}`), or apply a version of it without this effect."
        ));
        Some(Objection {
            table: table.to_owned(),
            index: None,
            error,
        })
    }

    fn objection_to_index_deletion(&self, request: &UpdateTable) -> Option<Objection> {
        let table = table_name(&request.table_name);
        let mut deleted = deleted_indexes(request).peekable();
        deleted.peek()?;
        let model = self.model_with(table)?;
        deleted.find_map(|index| {
            let effect = model.effect_through(table, index)?;
            let name = model.name();
            let error = Error::resource_in_use(format!(
                "Index {index} of table {table} cannot be deleted: the {effect} in model {name} finds rows through it. Apply a \
                 version of the model without this effect first."
            ));
            Some(Objection {
                table: table.to_owned(),
                index: Some(index.to_owned()),
                error,
            })
        })
    }
}

fn deleted_indexes(request: &UpdateTable) -> impl Iterator<Item = &str> {
    let updates = request.global_secondary_index_updates.iter().flatten();
    updates.filter_map(|update| Some(update.delete.as_ref()?.index_name.as_str()))
}

/// A statement is parsed only if it contains the prefix of such tables' names. The engine refuses one that
/// cannot be parsed.
fn statement(text: &str) -> Result<(), Error> {
    if !text.contains(OWN_TABLES) {
        return Ok(());
    }
    match trestle_partiql::parse(text) {
        Ok(parsed) if !parsed.is_read() && is_own_table(parsed.table()) => {
            Err(own_table_refusal(parsed.table()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_write_own_tables_are_refused_and_others_are_not() {
        for text in [
            r#"INSERT INTO "_trestle.queues" VALUE {'pk': 'a', 'sk': 'b'}"#,
            r#" update "_trestle.queues" SET x = 1 WHERE pk = 'a' AND sk = 'b'"#,
            r#"DELETE FROM "_trestle.queues" WHERE pk = 'a' AND sk = 'b'"#,
        ] {
            assert!(statement(text).is_err(), "{text}");
        }
        for text in [
            r#"SELECT * FROM "_trestle.queues""#,
            r#"INSERT INTO "t" VALUE {'pk': '_trestle'}"#,
            "_trestle",
        ] {
            assert_eq!(statement(text), Ok(()), "{text}");
        }
    }
}
