//! Whether an endpoint has transactions, and what a gateway does not do without them.

use trestle_api::{Database, DatabaseExt, Error, ErrorKind, TransactWriteItems};

/// Whether the endpoint has transactions.
pub(crate) async fn has_transactions(database: &dyn Database) -> Result<bool, Error> {
    // It has no items, and is refused either way.
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

/// The refusal of something that is done by transactions alone: what is not possible, and what is possible instead.
pub(crate) fn refusal(what: &str, instead: &str) -> Error {
    Error::validation(format!(
        "The endpoint has no transactions (TransactWriteItems; `trestle endpoint probe` shows its capabilities), so {what}: {instead}"
    ))
}
