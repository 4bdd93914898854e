//! `ExecuteTransaction`: several statements as one, all reads or all writes.

use std::sync::Arc;

use trestle_api::{
    CancellationReason, Error, ErrorKind, ExecuteTransaction, ExecuteTransactionOutput, Get, ItemResponse,
    ParameterizedStatement, TransactGetItem, TransactGetItems,
};
use trestle_partiql::{Parsed, Projection, Select, Statement, parse};

use super::transact_get_items;
use crate::catalog::Table;
use crate::completion::Completion;
use crate::shared::{Shared, internal};
use crate::tokens::Token;
use crate::write_item::ItemWrite;
use crate::{Engine, ops, statement, transact};

pub(crate) fn run(engine: &Engine, request: ExecuteTransaction) -> Completion {
    let members = match check(&request) {
        Ok(members) => members,
        Err(error) => return Completion::Ready(Err(error)),
    };
    if members.iter().any(|member| member.parsed.is_read()) {
        ops::read(read(engine.shared(), &request, &members))
    } else {
        write(engine, &request, &members)
    }
}

/// One statement and where it came from.
struct Member<'r> {
    at: usize,
    given: &'r ParameterizedStatement,
    parsed: Parsed,
}

impl Member<'_> {
    /// A refusal that says which statement it is about.
    fn refused(&self, error: &Error) -> Error {
        refused(self.at, error.message())
    }

    /// The table and the statement with its parameters in place.
    fn bind(&self, shared: &Shared) -> Result<(Arc<Table>, Statement), Error> {
        let table = statement::table(shared, &self.parsed)?;
        let bound = statement::bind(&self.parsed, self.given.parameters.as_ref());
        Ok((table, bound.map_err(|error| self.refused(&error))?))
    }
}

fn refused(at: usize, message: &str) -> Error {
    Error::validation(format!(
        "Validation failed in TransactStatements[{at}]: {message}"
    ))
}

/// Everything that can be refused without a table.
fn check(request: &ExecuteTransaction) -> Result<Vec<Member<'_>>, Error> {
    let mut members = Vec::with_capacity(request.transact_statements.len());
    for (at, given) in request.transact_statements.iter().enumerate() {
        let parsed = parse(&given.statement).map_err(|refusal| refused(at, &refusal.to_string()))?;
        if parsed.returning().is_some() {
            return Err(refused(
                at,
                "RETURNING clause is not supported in ExecuteTransaction.",
            ));
        }
        if parsed.index().is_some() {
            return Err(refused(
                at,
                "Reads on indices are not supported within transactions.",
            ));
        }
        members.push(Member { at, given, parsed });
    }
    let reads = members.iter().filter(|member| member.parsed.is_read()).count();
    if reads > 0 && reads < members.len() {
        return Err(Error::validation(
            "ExecuteTransaction API does not support both read and write operations in the same request.",
        ));
    }
    Ok(members)
}

fn read(
    shared: &Shared,
    request: &ExecuteTransaction,
    members: &[Member<'_>],
) -> Result<ExecuteTransactionOutput, Error> {
    let mut gets = Vec::with_capacity(members.len());
    let mut projections = Vec::with_capacity(members.len());
    for member in members {
        let (table, bound) = member.bind(shared)?;
        let Statement::Select(select) = bound else {
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
        .map_err(statement::refused)?;
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

fn write(engine: &Engine, request: &ExecuteTransaction, members: &[Member<'_>]) -> Completion {
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
        // Writes answer nothing: the list stays empty, whatever they did.
        Ok(ExecuteTransactionOutput {
            responses: Vec::new(),
            consumed_capacity: done.report(capacity),
        }
        .into())
    };
    engine.submit(Box::new(work), Some(hold))
}

/// The writes of all statements. A statement that does not fit its table cancels the transaction, with a reason for
/// each.
fn writes(shared: &Shared, members: &[Member<'_>]) -> Result<Vec<ItemWrite>, Error> {
    let mut writes = Vec::with_capacity(members.len());
    let mut reasons = Vec::with_capacity(members.len());
    for member in members {
        let (table, bound) = member.bind(shared)?;
        let exists = matches!(bound, Statement::Exists(_));
        let show = trestle_writes::shows(member.given.return_values_on_condition_check_failure);
        match statement::write(bound, &table, show) {
            Ok(write) => {
                reasons.push(CancellationReason::none());
                writes.push(write.item);
            }
            Err(error) if exists => return Err(member.refused(&error)),
            Err(error) if error.kind() == ErrorKind::Validation => {
                reasons.push(CancellationReason::validation(error.message()));
            }
            Err(error) => return Err(error),
        }
    }
    if writes.len() < reasons.len() {
        return Err(Error::transaction_canceled(reasons));
    }
    Ok(writes)
}

fn token(request: &ExecuteTransaction) -> Result<Option<Token>, Error> {
    let Some(name) = &request.client_request_token else {
        return Ok(None);
    };
    let statements = serde_json::to_vec(&request.transact_statements).map_err(internal)?;
    Ok(Some(Token::new(name.clone(), &statements)))
}
