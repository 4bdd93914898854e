//! Several items written together: the common part of TransactWriteItems and ExecuteTransaction.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use trestle_api::{
    CancellationCode, CancellationReason, ConsumedCapacity, Error, ErrorKind, ReturnConsumedCapacity,
};
use trestle_hook::Refused;
use trestle_writes::{canceled_by, reason_of};

use crate::capacity::{Consumed, Read};
use crate::catalog::Table;
use crate::conflicts::Hold;
use crate::shared::Shared;
use crate::tokens::{Seen, Token};
use crate::transaction::Transaction;
use crate::write_item::{ItemWrite, Outcome, Placed, Ready, stage_all};

/// All items of a transaction together may have this many bytes.
const TRANSACTION_BYTES_MAX: usize = 4 << 20;

/// Writes with their keys, claimed against other transactions.
pub(crate) struct Prepared {
    writes: Vec<Placed>,
    token: Option<Token>,
}

/// The outcome of a transaction: empty, if its token was known.
pub(crate) struct Done {
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) consumed: BTreeMap<String, (Arc<Table>, Consumed)>,
    replayed: bool,
}

/// Looks up all tables and keys and claims the items.
pub(crate) fn prepare(
    shared: &Shared,
    writes: Vec<ItemWrite>,
    token: Option<Token>,
) -> Result<(Prepared, Hold), Error> {
    let catalog = shared.catalog.load();
    let total = writes.len();
    let mut placed = Vec::with_capacity(total);
    let mut seen = HashSet::new();
    let mut bytes = 0;
    for write in writes {
        match write.place(&catalog, shared) {
            Ok(write) => {
                bytes += write.item_bytes();
                if !seen.insert(write.place()) {
                    return Err(Error::validation(
                        "Transaction request cannot include multiple operations on one item",
                    ));
                }
                placed.push(write);
            }
            // An empty key refuses the request; a key of the wrong shape refuses the item. Items after the
            // first one that does not fit its table are not checked, nor are conditions.
            Err(error)
                if error.kind() == ErrorKind::Validation
                    && !error.message().contains("cannot contain an empty") =>
            {
                let refused = Refused {
                    error,
                    at: Some(placed.len()),
                };
                return Err(canceled_by(refused.error, refused.at, total));
            }
            Err(error) => return Err(error),
        }
    }
    if bytes > TRANSACTION_BYTES_MAX {
        return Err(Error::validation(format!(
            "Transaction payload size cannot exceed 4MB. Payload Size: {bytes}"
        )));
    }
    let mut claimed: Vec<Vec<u8>> = placed.iter().map(Placed::place).collect();
    claimed.extend(token.as_ref().map(Token::place));
    match shared.conflicts.claim(claimed) {
        Ok(hold) => Ok((
            Prepared {
                writes: placed,
                token,
            },
            hold,
        )),
        // The token follows the items in the list, and is not one of them.
        Err(mut taken) => match token.and_then(|_| taken.pop()) {
            Some(true) => Err(Error::transaction_in_progress()),
            _ => Err(conflict(&taken)),
        },
    }
}

/// The cancellation of a transaction because some of its items are in another one.
fn conflict(taken: &[bool]) -> Error {
    let ongoing = || {
        CancellationReason::new(
            CancellationCode::TransactionConflict,
            "Transaction is ongoing for the item",
        )
    };
    let reason = |taken: &bool| {
        if *taken {
            ongoing()
        } else {
            CancellationReason::none()
        }
    };
    Error::transaction_canceled(taken.iter().map(reason).collect())
}

impl Prepared {
    /// Writes all items, or cancels with a reason for each.
    pub(crate) fn run(self, transaction: &mut Transaction<'_>) -> Result<Done, Error> {
        if let Some(token) = &self.token
            && token.claim(transaction)? == Seen::Before
        {
            return self.replay(transaction);
        }
        let total = self.writes.len();
        let ready = check(self.writes, transaction)?;
        let staged = stage_all(ready, transaction);
        let mut outcomes = staged.map_err(|refused| canceled_by(refused.error, refused.at, total))?;
        let mut consumed: BTreeMap<String, (Arc<Table>, Consumed)> = BTreeMap::new();
        for outcome in &mut outcomes {
            let entry = consumed
                .entry(outcome.table.name.clone())
                .or_insert_with(|| (Arc::clone(&outcome.table), Consumed::default()));
            entry.1.add(std::mem::take(&mut outcome.consumed).doubled());
        }
        Ok(Done {
            outcomes,
            consumed,
            replayed: false,
        })
    }

    /// Answers a repeated request by reading its items.
    fn replay(self, transaction: &Transaction<'_>) -> Result<Done, Error> {
        let mut consumed: BTreeMap<String, (Arc<Table>, Consumed)> = BTreeMap::new();
        for write in &self.writes {
            let item = write.current(transaction)?;
            let units = Read::Transactional.units(item.map_or(0, |image| image.size()));
            let table = write.table();
            let entry = consumed
                .entry(table.name.clone())
                .or_insert_with(|| (Arc::clone(table), Consumed::default()));
            entry.1.add(Consumed::table(units));
        }
        Ok(Done {
            outcomes: Vec::new(),
            consumed,
            replayed: true,
        })
    }
}

impl Done {
    /// The capacity in the response, if it was asked for: each unit is named as a read or a write.
    pub(crate) fn report(&self, wanted: Option<ReturnConsumedCapacity>) -> Option<Vec<ConsumedCapacity>> {
        let reports: Vec<_> = self
            .consumed
            .values()
            .filter_map(|(table, consumed)| {
                let kind = if self.replayed {
                    crate::capacity::Units::Read
                } else {
                    crate::capacity::Units::Write
                };
                consumed.report_as(table, wanted, kind)
            })
            .collect();
        (!reports.is_empty()).then_some(reports)
    }
}

/// Checks all conditions before anything is staged: the effects of one item do not influence the conditions
/// of another. If several items cannot be changed as requested, only the first is named.
fn check(writes: Vec<Placed>, transaction: &Transaction<'_>) -> Result<Vec<Ready>, Error> {
    let mut all = Vec::with_capacity(writes.len());
    let mut reasons: Vec<CancellationReason> = Vec::with_capacity(writes.len());
    let is_validation = |reason: &CancellationReason| reason.code == CancellationCode::ValidationError;
    for write in writes {
        match write.check(transaction) {
            Ok(ready) => {
                reasons.push(CancellationReason::none());
                all.push(ready);
            }
            Err(error) => {
                let why = reason_of(error)?;
                let is_known = is_validation(&why) && reasons.iter().any(is_validation);
                reasons.push(if is_known { CancellationReason::none() } else { why });
            }
        }
    }
    if all.len() < reasons.len() {
        return Err(Error::transaction_canceled(reasons));
    }
    Ok(all)
}
