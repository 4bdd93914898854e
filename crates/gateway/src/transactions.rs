//! Whether an endpoint supports transactions, and what a gateway refuses without them.

use trestle_api::{Database, DatabaseExt, Error, ErrorKind, TransactWriteItems};

/// Whether the endpoint supports transactions.
pub(crate) async fn has_transactions(database: &dyn Database) -> Result<bool, Error> {
    // It has no items, and is refused in any case.
    let nothing = TransactWriteItems::default();
    match database.transact_write_items(nothing).await {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            ErrorKind::UnknownOperation => Ok(false),
            ErrorKind::Validation => Ok(true),
            _ => Err(error),
        },
    }
}

/// The error for something that requires transactions: what is impossible, and the alternative.
pub(crate) fn refusal(what: &str, instead: &str) -> Error {
    Error::validation(format!(
        "The endpoint has no transactions (TransactWriteItems; `trestle endpoint probe` shows its capabilities), so {what}: {instead}"
    ))
}
