//! The statements of an `ExecuteTransaction`.

use trestle_api::{CancellationReason, Error, ErrorKind, ExecuteTransaction, ParameterizedStatement};
use trestle_partiql::{Parsed, Statement, parse};

use super::{StatementTable, bind_statement, write_of_statement};
use crate::condition_parameters::shows;
use crate::write::Write;

/// One statement of a transaction, and its position.
#[derive(Debug)]
pub struct TransactionStatement<'r> {
    at: usize,
    given: &'r ParameterizedStatement,
    /// The statement.
    pub parsed: Parsed,
}

impl TransactionStatement<'_> {
    /// A refusal that names the statement that it concerns.
    #[must_use]
    pub fn refused(&self, error: &Error) -> Error {
        refused(self.at, error.message())
    }

    /// The statement with its parameters inserted.
    pub fn bind(&self) -> Result<Statement, Error> {
        bind_statement(&self.parsed, self.given.parameters.as_ref()).map_err(|error| self.refused(&error))
    }
}

fn refused(at: usize, message: &str) -> Error {
    Error::validation(format!(
        "Validation failed in TransactStatements[{at}]: {message}"
    ))
}

/// The statements, after all checks that need no table: either all read, or all write.
pub fn statements_of_transaction(
    request: &ExecuteTransaction,
) -> Result<Vec<TransactionStatement<'_>>, Error> {
    let mut all = Vec::with_capacity(request.transact_statements.len());
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
        all.push(TransactionStatement { at, given, parsed });
    }
    let reads = all.iter().filter(|one| one.parsed.is_read()).count();
    if reads > 0 && reads < all.len() {
        return Err(Error::validation(
            "ExecuteTransaction API does not support both read and write operations in the same request.",
        ));
    }
    Ok(all)
}

/// The writes of all statements, each in its table of `tables`. A statement that does not fit its table
/// cancels the transaction; the error has a reason for each statement.
pub fn writes_of_statements<'t>(
    statements: &[TransactionStatement<'_>],
    tables: impl IntoIterator<Item = Result<StatementTable<'t>, Error>>,
) -> Result<Vec<Write>, Error> {
    let mut writes = Vec::with_capacity(statements.len());
    let mut reasons = Vec::with_capacity(statements.len());
    for (statement, table) in statements.iter().zip(tables) {
        let table = table?;
        let bound = statement.bind()?;
        let exists = matches!(bound, Statement::Exists(_));
        let show = shows(statement.given.return_values_on_condition_check_failure);
        match write_of_statement(bound, table, show) {
            Ok(written) => {
                reasons.push(CancellationReason::none());
                writes.push(written.write);
            }
            Err(error) if exists => return Err(statement.refused(&error)),
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
