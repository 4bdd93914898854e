//! `DeleteTable`.

use trestle_api::{DeleteTable, DeleteTableOutput, Error, TableStatus, table_name};

use crate::catalog::{State, Stream, Table};
use crate::completion::Completion;
use crate::transaction::Transaction;
use crate::{Engine, describe, ops};

pub(crate) fn run(engine: &Engine, request: DeleteTable) -> Completion {
    ops::write(engine, move |transaction| delete(transaction, &request))
}

fn delete(transaction: &mut Transaction<'_>, request: &DeleteTable) -> Result<DeleteTableOutput, Error> {
    let name = table_name(&request.table_name);
    let now = transaction.now();
    let table = transaction
        .catalog()
        .tables
        .get(name)
        .cloned()
        .ok_or_else(|| Error::table_not_found(name))?;
    match table.state.at(now) {
        State::Creating(_) => return Err(Error::resource_in_use(format!("Table is being created: {name}"))),
        State::Deleting(_) => return Err(Error::resource_in_use(format!("Table is being deleted: {name}"))),
        State::Updating(_) | State::Active => {}
    }
    if table.deletion_protection {
        return Err(Error::validation(
            "Resource cannot be deleted as it is currently protected against deletion. \
             Disable deletion protection first.",
        ));
    }
    let mut description = describe::table(&table, transaction.catalog(), now);
    description.table_status = TableStatus::Deleting;
    // Like DynamoDB: the response does not describe the definition of the table.
    description.attribute_definitions.clear();
    description.key_schema.clear();
    description.creation_date_time = None;
    description.local_secondary_indexes = None;
    description.global_secondary_indexes = None;
    if let Some(stream) = table
        .stream
        .and_then(|id| transaction.catalog().streams.get(&id))
        .filter(|stream| stream.is_enabled())
        .cloned()
    {
        let closed = Some((now, transaction.sequence()));
        transaction.put_stream(Stream {
            closed,
            ..Stream::clone(&stream)
        })?;
    }
    let delay = transaction.shared().options.delete_table_delay;
    if delay.is_zero() {
        transaction.drop_table(&table);
    } else {
        transaction.put_table(Table {
            state: State::Deleting(now.plus(delay)),
            ..Table::clone(&table)
        })?;
    }
    Ok(DeleteTableOutput {
        table_description: Box::new(description),
    })
}
