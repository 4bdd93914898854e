//! The limits of an endpoint, which are named in the errors of writes that exceed them.

use trestle_api::{CancellationCode, CancellationReason, Error, ErrorKind, TransactWriteItem};
use trestle_item::size;

use crate::commit::Commit;
use crate::part::Becomes;

/// Items in one transaction.
const ITEMS_MAX: usize = 100;
/// Bytes of all items of a transaction together.
const BYTES_MAX: usize = 4 << 20;
/// Why an endpoint throttles a write that seems small to its client.
const THROTTLED: &str = "The endpoint throttles the write. A partition of DynamoDB takes 1,000 write units a second, and a transaction takes \
two of them for each KB of each of its rows. A row that many writes change with their own, such as a counter or a head, is in one \
partition. Send it again later, or spread such rows over more keys";

/// Refuses a commit that does not fit into one transaction.
pub(crate) fn check(commit: &Commit) -> Result<(), Error> {
    let count = commit.parts.len() + commit.others.len() + commit.own.len();
    if count > ITEMS_MAX {
        let own = match commit.own.len() {
            0 => String::new(),
            own => {
                format!(
                    ", {own} of them Trestle's own (a client request token, or an intent to search for rows again)"
                )
            }
        };
        return Err(Error::validation(format!(
            "The write was refused: with everything that follows from it, it has {count} rows{own}, and a transaction of the \
             endpoint has at most {ITEMS_MAX}. Write fewer items in one request, or items on which fewer rows depend"
        )));
    }
    let bytes = bytes_of(commit);
    if bytes > BYTES_MAX {
        return Err(Error::validation(format!(
            "The write was refused: with everything that follows from it, its rows have {bytes} bytes, and those of a transaction \
             of the endpoint have at most {BYTES_MAX} (4 MB). Write fewer or smaller items in one request, or items on which \
             fewer rows depend"
        )));
    }
    Ok(())
}

/// The bytes of the rows as they are written, whether as a whole or by what changes.
fn bytes_of(commit: &Commit) -> usize {
    let parts = commit.parts.iter().map(|part| match &part.becomes {
        Becomes::Replaced(new) | Becomes::Changed(new) => size::of_item(new),
        Becomes::Unchanged | Becomes::Removed => size::of_item(&part.key),
    });
    let others = commit.others.iter().map(|(_, item)| item);
    let others = others.chain(&commit.own).map(put_bytes);
    parts.chain(others).sum()
}

fn put_bytes(item: &TransactWriteItem) -> usize {
    item.put.as_ref().map_or(0, |put| size::of_item(&put.item))
}

/// The error of a single write, or of a transaction as a whole, with the limit that it exceeded.
pub(crate) fn named(error: Error) -> Error {
    match error.kind() {
        kind @ (ErrorKind::ProvisionedThroughputExceeded
        | ErrorKind::RequestLimitExceeded
        | ErrorKind::Throttling) => Error::new(
            kind,
            format!("{THROTTLED}. The endpoint says: {}", error.message()),
        ),
        _ => error,
    }
}

/// The error of a write of a single item that was throttled at every attempt.
pub(crate) fn throttled() -> Error {
    Error::new(ErrorKind::ProvisionedThroughputExceeded, THROTTLED)
}

/// The same as the reason of a part of a transaction.
pub(crate) fn throttled_part() -> CancellationReason {
    CancellationReason::new(CancellationCode::ThrottlingError, THROTTLED)
}
