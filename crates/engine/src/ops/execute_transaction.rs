//! `ExecuteTransaction`: several statements as one, all reads or all writes.

use trestle_api::{
    Error, ExecuteTransaction, ExecuteTransactionOutput, Get, ItemResponse, TransactGetItem, TransactGetItems,
};
use trestle_partiql::{Projection, Select, Statement};
use trestle_writes::{
    TransactionStatement, refused_statement, statements_of_transaction, writes_of_statements,
};

use super::transact_get_items;
use crate::catalog::Table;
use crate::completion::Completion;
use crate::shared::{Shared, internal};
use crate::tokens::Token;
use crate::write_item::ItemWrite;
use crate::{Engine, ops, statement, transact};

pub(crate) fn run(engine: &Engine, request: ExecuteTransaction) -> Completion {
    let members = match statements_of_transaction(&request) {
        Ok(members) => members,
        Err(error) => return Completion::Ready(Err(error)),
    };
    if members.iter().any(|member| member.parsed.is_read()) {
        ops::read(read(engine.shared(), &request, &members))
    } else {
        write(engine, &request, &members)
    }
}

fn read(
    shared: &Shared,
    request: &ExecuteTransaction,
    members: &[TransactionStatement<'_>],
) -> Result<ExecuteTransactionOutput, Error> {
    let mut gets = Vec::with_capacity(members.len());
    let mut projections = Vec::with_capacity(members.len());
    for member in members {
        let table = statement::table(shared, &member.parsed)?;
        let Statement::Select(select) = member.bind()? else {
            return Err(Error::internal("a write was taken for a read"));
        };
        gets.push(TransactGetItem {
            get: get(&table, &select).map_err(|error| member.refused(&error))?,
        });
        projections.push(select.projection);
    }
    let gets = TransactGetItems {
        transact_items: gets,
        return_consumed_capacity: request.return_consumed_capacity,
    };
    let read = transact_get_items::run(shared, &gets)?;
    let responses = read
        .responses
        .into_iter()
        .zip(&projections)
        .map(|(response, wanted)| project(response, wanted));
    Ok(ExecuteTransactionOutput {
        responses: responses.collect(),
        consumed_capacity: read.consumed_capacity,
    })
}

fn get(table: &Table, select: &Select) -> Result<Get, Error> {
    let key = select
        .key(statement::keys(&table.key)?)
        .map_err(refused_statement)?;
    let key = key.ok_or_else(|| {
        Error::validation(
            "Select statements within ExecuteTransaction must specify the primary key in the where clause.",
        )
    })?;
    Ok(Get {
        table_name: table.name.clone(),
        key,
        ..Get::default()
    })
}

fn project(response: ItemResponse, wanted: &Option<Projection>) -> ItemResponse {
    match wanted {
        Some(wanted) => ItemResponse {
            item: response.item.map(|item| wanted.apply(&item)),
        },
        None => response,
    }
}

fn write(engine: &Engine, request: &ExecuteTransaction, members: &[TransactionStatement<'_>]) -> Completion {
    let shared = engine.shared();
    let prepared = writes(shared, members)
        .and_then(|writes| Ok((writes, token(request)?)))
        .and_then(|(writes, token)| transact::prepare(shared, writes, token));
    let (prepared, hold) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return Completion::Ready(Err(error)),
    };
    let capacity = request.return_consumed_capacity;
    let work = move |transaction: &mut crate::transaction::Transaction<'_>| {
        let done = prepared.run(transaction)?;
        // For writes, the list stays empty.
        Ok(ExecuteTransactionOutput {
            responses: Vec::new(),
            consumed_capacity: done.report(capacity),
        }
        .into())
    };
    engine.submit(Box::new(work), Some(hold))
}

fn writes(shared: &Shared, members: &[TransactionStatement<'_>]) -> Result<Vec<ItemWrite>, Error> {
    let tables: Vec<_> = members
        .iter()
        .map(|member| statement::table(shared, &member.parsed))
        .collect();
    let written = tables
        .iter()
        .map(|table| statement::written(table.as_ref().map_err(Error::clone)?));
    let writes = writes_of_statements(members, written)?;
    Ok(writes.into_iter().map(ItemWrite::from).collect())
}

fn token(request: &ExecuteTransaction) -> Result<Option<Token>, Error> {
    let Some(name) = &request.client_request_token else {
        return Ok(None);
    };
    let statements = serde_json::to_vec(&request.transact_statements).map_err(internal)?;
    Ok(Some(Token::new(name.clone(), &statements)))
}
