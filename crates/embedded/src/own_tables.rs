//! Clients read the tables of Trestle itself and do not write them: a row that is changed by hand would contradict what
//! queues and routes know. The parts of large values are the exception: clients put them, and the models' hook checks each.

use trestle_api::{Access, Error, OWN_TABLES, Request, is_own_table, own_table_refusal};
use trestle_model::PARTS_TABLE;

use trestle_models::Models;

/// Refuses a request that would write one of Trestle's own tables.
pub(crate) fn refuse_writes(models: &Models, request: &Request) -> Result<(), Error> {
    if let Some(table) = request.own_table_written()
        && !puts_part(models, request)
    {
        return Err(own_table_refusal(table));
    }
    match request.access() {
        Access::Statements(texts) => texts.into_iter().try_for_each(statement),
        Access::Read | Access::Write => Ok(()),
    }
}

/// Whether the request puts a part of a large value, and a model has such values, so that its hook checks it.
fn puts_part(models: &Models, request: &Request) -> bool {
    match request {
        Request::PutItem(put) => put.table_name == PARTS_TABLE && models.have_large_values(),
        _ => false,
    }
}

/// A statement is only looked at closely if it mentions what such a table's name begins with. One that cannot be read
/// is the engine's to refuse.
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
