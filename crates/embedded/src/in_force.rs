//! While a stored model does not load, no model is enforced, and clients write nothing: their rows would lack what
//! follows from them. Reads go on.

use trestle_api::{Error, Request};

use crate::models::Models;

/// Refuses a request that would write while a stored model does not load.
pub(crate) fn refuse_writes(models: &Models, request: &Request) -> Result<(), Error> {
    if models.are_in_force() || !is_write(request) {
        return Ok(());
    }
    match models.why_not_in_force() {
        Some(why) => Err(Error::validation(format!("Nothing is written for now: {why}"))),
        // They came into force in this moment.
        None => Ok(()),
    }
}

/// A statement that cannot be read is the engine's to refuse.
fn is_write(request: &Request) -> bool {
    match request {
        Request::PutItem(_)
        | Request::UpdateItem(_)
        | Request::DeleteItem(_)
        | Request::BatchWriteItem(_)
        | Request::TransactWriteItems(_)
        | Request::CreateTable(_)
        | Request::UpdateTable(_)
        | Request::DeleteTable(_)
        | Request::UpdateTimeToLive(_)
        | Request::TagResource(_)
        | Request::UntagResource(_) => true,
        Request::ExecuteStatement(request) => is_writing_statement(&request.statement),
        Request::BatchExecuteStatement(request) => {
            let mut statements = request.statements.iter();
            statements.any(|one| is_writing_statement(&one.statement))
        }
        Request::ExecuteTransaction(request) => {
            let mut statements = request.transact_statements.iter();
            statements.any(|one| is_writing_statement(&one.statement))
        }
        Request::GetItem(_)
        | Request::Query(_)
        | Request::Scan(_)
        | Request::BatchGetItem(_)
        | Request::TransactGetItems(_)
        | Request::DescribeTable(_)
        | Request::ListTables(_)
        | Request::DescribeTimeToLive(_)
        | Request::ListTagsOfResource(_)
        | Request::DescribeLimits(_)
        | Request::DescribeEndpoints(_)
        | Request::DescribeContinuousBackups(_)
        | Request::ListStreams(_)
        | Request::DescribeStream(_)
        | Request::GetShardIterator(_)
        | Request::GetRecords(_) => false,
    }
}

fn is_writing_statement(text: &str) -> bool {
    trestle_partiql::parse(text).is_ok_and(|parsed| !parsed.is_read())
}
