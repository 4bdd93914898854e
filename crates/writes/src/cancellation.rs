//! How an error about one item cancels a transaction.

use trestle_api::{CancellationCode, CancellationReason, Error, ErrorKind};

/// Why one item cancelled the transaction. An error that does not concern an item ends the transaction
/// directly.
pub fn reason_of(error: Error) -> Result<CancellationReason, Error> {
    match error.kind() {
        ErrorKind::ConditionalCheckFailed => Ok(match error.taken_value() {
            Some(taken) => CancellationReason::taken(error.message(), taken.clone()),
            None => CancellationReason::condition_failed(error.item().cloned()),
        }),
        ErrorKind::Validation => Ok(CancellationReason::validation(error.message())),
        ErrorKind::DuplicateItem => Ok(CancellationReason::new(
            CancellationCode::DuplicateItem,
            error.message(),
        )),
        _ => Err(error),
    }
}

/// The cancellation by one item of `total`. Where no single item is the reason, the error is returned as it
/// is.
#[must_use]
pub fn canceled_by(error: Error, position: Option<usize>, total: usize) -> Error {
    let Some(position) = position else {
        return error;
    };
    let why = match reason_of(error) {
        Ok(why) => why,
        Err(error) => return error,
    };
    let mut reasons = vec![CancellationReason::none(); total];
    if let Some(slot) = reasons.get_mut(position) {
        *slot = why;
    }
    Error::transaction_canceled(reasons)
}
