//! PartiQL statements that write modelled tables: each is a write like any other.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use trestle_api::{
    Access, BatchExecuteStatement, BatchExecuteStatementOutput, BatchStatementRequest,
    BatchStatementResponse, DatabaseExt, Error, ErrorKind, ExecuteStatement, ExecuteStatementOutput,
    ExecuteTransaction, ExecuteTransactionOutput, Request, Response, table_name,
};
use trestle_hook::{By, Hook};
use trestle_partiql::Parsed;
use trestle_writes::{
    StatementShown, StatementTable, StatementWrite, bind_statement, check_batch_is_of_one_kind, parse_alone,
    shows, statements_of_transaction, write_of_statement, writes_of_statements,
};

use crate::endpoint::Endpoint;
use crate::table_shape::{RowId, TableShape};
use crate::token::Token;
use crate::write::Asked;

/// Whether a request has a statement that writes a modelled table. A statement that cannot be parsed is
/// refused by the endpoint.
pub(crate) fn writes_by_statement(hook: &dyn Hook, request: &Request) -> bool {
    let Access::Statements(texts) = request.access() else {
        return false;
    };
    let mut read = texts
        .into_iter()
        .filter_map(|text| trestle_partiql::parse(text).ok());
    read.any(|statement| writes_modelled(hook, &statement))
}

/// Refuses statements during a migration, because they do not find rows in former places.
pub(crate) fn refuse_while_rows_move(hook: &dyn Hook, request: &Request) -> Result<(), Error> {
    let Access::Statements(texts) = request.access() else {
        return Ok(());
    };
    let mut read = texts
        .into_iter()
        .filter_map(|text| trestle_partiql::parse(text).ok());
    match read.find(|statement| hook.former(table_name(statement.table())).is_some()) {
        None => Ok(()),
        Some(statement) => Err(Error::validation(format!(
            "Table {} is being migrated, and a gateway accepts no PartiQL for it: use the operations of items, Query \
             or Scan until the migration is finished",
            statement.table()
        ))),
    }
}

fn writes_modelled(hook: &dyn Hook, statement: &Parsed) -> bool {
    !statement.is_read() && hook.covers(table_name(statement.table()))
}

/// A statement of a batch that writes a modelled table.
struct Member {
    table: String,
    asked: Asked,
    shown: StatementShown,
}

impl Endpoint {
    /// `ExecuteStatement`.
    pub(crate) async fn statement(
        &self,
        hook: &Arc<dyn Hook>,
        request: ExecuteStatement,
    ) -> Result<Response, Error> {
        let parsed = parse_alone(&request.statement)?;
        let shape = self.shape_of(&parsed).await?;
        let bound = bind_statement(&parsed, request.parameters.as_ref())?;
        let show = shows(request.return_values_on_condition_check_failure);
        let StatementWrite { write, shown } =
            write_of_statement(bound, written(&**hook, &parsed, &shape)?, show)?;
        let asked = Asked {
            shows_item: shown.is_any(),
            capacity: request.return_consumed_capacity,
            ..Asked::one(write)
        };
        let mut done = self.write(hook, asked).await?;
        let (old, new) = done.rows.pop().unwrap_or_default();
        Ok(ExecuteStatementOutput {
            items: shown.of(old.as_deref(), new.as_deref()).into_iter().collect(),
            consumed_capacity: done.capacity.pop(),
            ..ExecuteStatementOutput::default()
        }
        .into())
    }

    /// `BatchExecuteStatement`: statements on modelled tables are executed one after another, the rest passes
    /// through.
    pub(crate) async fn statements(
        &self,
        hook: &Arc<dyn Hook>,
        request: BatchExecuteStatement,
    ) -> Result<Response, Error> {
        let capacity = request.return_consumed_capacity;
        let parsed: Vec<_> = request
            .statements
            .iter()
            .map(|member| parse_alone(&member.statement))
            .collect();
        check_batch_is_of_one_kind(parsed.iter().flatten())?;
        let mut responses = vec![BatchStatementResponse::default(); parsed.len()];
        let (mut members, mut others, mut ids) = (Vec::new(), Vec::new(), BTreeSet::new());
        for ((at, given), parsed) in request.statements.into_iter().enumerate().zip(parsed) {
            let parsed = match parsed {
                Ok(parsed) if writes_modelled(&**hook, &parsed) => parsed,
                _ => {
                    others.push((at, given));
                    continue;
                }
            };
            match self.member(hook, &given, &parsed).await {
                Err(error) => answer(&mut responses, at, failed(error, None)),
                Ok((member, id)) => {
                    if !ids.insert(id) {
                        return Err(Error::validation(
                            "Provided list of item keys contains duplicates",
                        ));
                    }
                    members.push((at, member));
                }
            }
        }
        let mut used = Vec::new();
        if !others.is_empty() {
            let (places, statements): (Vec<usize>, Vec<_>) = others.into_iter().unzip();
            let rest = BatchExecuteStatement {
                statements,
                return_consumed_capacity: capacity,
            };
            let passed = self.database.batch_execute_statement(rest).await?;
            used.extend(passed.consumed_capacity.into_iter().flatten());
            for (at, response) in places.into_iter().zip(passed.responses) {
                answer(&mut responses, at, response);
            }
        }
        for (at, member) in members {
            let asked = Asked {
                capacity,
                ..member.asked
            };
            let response = match self.write(hook, asked).await {
                Err(error) => failed(error, Some(member.table)),
                Ok(mut done) => {
                    used.append(&mut done.capacity);
                    let (old, new) = done.rows.pop().unwrap_or_default();
                    BatchStatementResponse {
                        item: member.shown.of(old.as_deref(), new.as_deref()),
                        table_name: Some(member.table),
                        error: None,
                    }
                }
            };
            answer(&mut responses, at, response);
        }
        Ok(BatchExecuteStatementOutput {
            responses,
            consumed_capacity: Some(used).filter(|used| !used.is_empty()),
        }
        .into())
    }

    /// A statement of a batch, and the id of its row.
    async fn member(
        &self,
        hook: &Arc<dyn Hook>,
        given: &BatchStatementRequest,
        parsed: &Parsed,
    ) -> Result<(Member, RowId), Error> {
        let shape = self.shape_of(parsed).await?;
        let bound = bind_statement(parsed, given.parameters.as_ref())?;
        let show = shows(given.return_values_on_condition_check_failure);
        let StatementWrite { write, shown } =
            write_of_statement(bound, written(&**hook, parsed, &shape)?, show)?;
        let asked = Asked {
            shows_item: shown.is_any(),
            ..Asked::one(write)
        };
        let id = self.id_of_one(&**hook, &asked).await?;
        let member = Member {
            table: table_name(parsed.table()).to_owned(),
            asked,
            shown,
        };
        Ok((member, id))
    }

    /// `ExecuteTransaction`. Rows of tables without a model are read and checked like the others.
    pub(crate) async fn statements_as_one(
        &self,
        hook: &Arc<dyn Hook>,
        request: ExecuteTransaction,
    ) -> Result<Response, Error> {
        let members = statements_of_transaction(&request)?;
        let token = Token::of(
            request.client_request_token.as_ref(),
            &request.transact_statements,
        )?;
        let shapes = join_all(members.iter().map(|member| self.shape_of(&member.parsed))).await;
        let tables = members.iter().zip(&shapes).map(|(member, shape)| {
            let shape = shape.as_ref().map_err(Error::clone)?;
            written(&**hook, &member.parsed, shape)
        });
        let writes: Vec<_> = writes_of_statements(&members, tables)?
            .into_iter()
            .enumerate()
            .collect();
        let asked = Asked {
            items: Some(writes.len()),
            writes,
            others: Vec::new(),
            capacity: request.return_consumed_capacity,
            shows_item: false,
            token,
            by: By::Client,
        };
        let done = self.write(hook, asked).await?;
        Ok(ExecuteTransactionOutput {
            // For writes, the list stays empty.
            responses: Vec::new(),
            consumed_capacity: Some(done.capacity).filter(|used| !used.is_empty()),
        }
        .into())
    }

    async fn shape_of(&self, statement: &Parsed) -> Result<Arc<TableShape>, Error> {
        let shape = self.shapes.of(&*self.database, table_name(statement.table()));
        shape.await.map_err(|error| match error.kind() {
            // With the error of operations on items.
            ErrorKind::ResourceNotFound => Error::resource_not_found(),
            _ => error,
        })
    }
}

/// A table in the form that statements use.
fn written<'t>(
    hook: &'t dyn Hook,
    statement: &'t Parsed,
    shape: &'t TableShape,
) -> Result<StatementTable<'t>, Error> {
    let name = table_name(statement.table());
    Ok(StatementTable {
        name,
        keys: shape.keys()?,
        hook: Some(hook).filter(|hook| hook.covers(name)),
    })
}

fn answer(responses: &mut [BatchStatementResponse], at: usize, response: BatchStatementResponse) {
    if let Some(slot) = responses.get_mut(at) {
        *slot = response;
    }
}

/// An error names its table only if the statement was executed.
fn failed(error: Error, table_name: Option<String>) -> BatchStatementResponse {
    BatchStatementResponse {
        error: Some(error.into()),
        table_name,
        item: None,
    }
}
