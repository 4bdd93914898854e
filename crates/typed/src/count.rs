//! Counting rows in the database.

use trestle_api::{Request, Response, Select};

use crate::Error;
use crate::handle::Handle;

/// The number of rows that a query or a scan finds, page by page. The rows are not transferred.
pub(crate) async fn count(handle: Handle<'_>, mut request: Request) -> Result<u64, Error> {
    let mut rows = 0;
    loop {
        match &mut request {
            Request::Query(query) => query.select = Some(Select::Count),
            Request::Scan(scan) => scan.select = Some(Select::Count),
            other => return Err(unexpected(other.operation())),
        }
        let (count, last) = match handle.database.execute(request.clone()).await? {
            Response::Query(page) => (page.count, page.last_evaluated_key),
            Response::Scan(page) => (page.count, page.last_evaluated_key),
            other => return Err(unexpected(other.operation())),
        };
        rows += u64::from(count);
        if last.is_none() {
            return Ok(rows);
        }
        match &mut request {
            Request::Query(query) => query.exclusive_start_key = last,
            Request::Scan(scan) => scan.exclusive_start_key = last,
            _ => {}
        }
    }
}

fn unexpected(operation: impl std::fmt::Display) -> Error {
    trestle_api::Error::internal(format!("rows were counted by {operation}")).into()
}
