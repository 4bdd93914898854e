//! Sends parts as one request, and decides from its response whether to start again.

use tokio::runtime::Handle;
use tokio::time::timeout;
use trestle_api::{
    CancellationCode, CancellationReason, ConsumedCapacity, Error, ErrorKind, Request, Response,
    ReturnConsumedCapacity, TransactWriteItem, TransactWriteItems,
};

use crate::endpoint::Endpoint;
use crate::fleet::ON_ITS_WAY_MAX;
use crate::limits;
use crate::look_again::Look;
use crate::part::Part;

/// The changes that are written together.
#[derive(Debug, Default)]
pub(crate) struct Commit {
    /// The rows that were read, with their changes.
    pub(crate) parts: Vec<Part>,
    /// Parts of the client's transaction in tables without a model, with their positions.
    pub(crate) others: Vec<(usize, TransactWriteItem)>,
    /// How much of the cost to report.
    pub(crate) capacity: Option<ReturnConsumedCapacity>,
    /// How many items the client's transaction has; `None` for a write of a single item.
    pub(crate) items: Option<usize>,
    /// Items of the gateway: the record of the client's transaction, or the check that a moment is held. If
    /// one fails, the whole write starts again, and finds out why.
    pub(crate) own: Vec<TransactWriteItem>,
    /// The searches for rows on which the write depends. The commit does not check that no row was added to their results: they are
    /// repeated after it (`look_again.rs`).
    pub(crate) looks: Vec<Look>,
}

/// The result of sending a commit.
#[derive(Debug)]
pub(crate) enum Sent {
    /// It was carried out.
    Done(Vec<ConsumedCapacity>),
    /// A row has changed since it was read, or is in another transaction: begin again.
    Overtaken(WhyAgain),
}

/// Why a write begins again.
#[derive(Debug, Default)]
pub(crate) struct WhyAgain {
    /// The positions of rows in the client's request that another write has changed, or is changing.
    pub(crate) positions: Vec<usize>,
    /// The endpoint throttled the write, and there was no other reason.
    pub(crate) is_throttled: bool,
}

impl Endpoint {
    /// Sends a commit, and repeats its looks for rows.
    pub(crate) async fn send(&self, mut commit: Commit) -> Result<Sent, Error> {
        if !commit.parts.iter().any(Part::writes) && commit.others.is_empty() && commit.items.is_none() {
            return Ok(Sent::Done(Vec::new()));
        }
        self.keep_images(&commit.parts).await?;
        self.until_renewed().await?;
        if !self.has_transactions().await? {
            return self.send_by_intent(commit).await;
        }
        if !commit.looks.is_empty() {
            return self.send_and_look(commit).await;
        }
        let is_one = commit.parts.len() == 1 && commit.items.is_none() && commit.own.is_empty();
        match commit.parts.pop_if(|_| is_one) {
            Some(part) => self.send_one(part, commit.capacity).await,
            None => self.send_together(commit).await,
        }
    }

    async fn send_one(&self, part: Part, capacity: Option<ReturnConsumedCapacity>) -> Result<Sent, Error> {
        let answer = self.in_time(part.into_request(capacity)).await;
        let used = match answer {
            Ok(Response::PutItem(answer)) => answer.consumed_capacity,
            Ok(Response::UpdateItem(answer)) => answer.consumed_capacity,
            Ok(Response::DeleteItem(answer)) => answer.consumed_capacity,
            Ok(_) => return Err(Error::internal("the answer to a write is of another kind")),
            Err(error) if is_overtaken(&error) => return Ok(Sent::Overtaken(WhyAgain::default())),
            Err(error) => return Err(limits::named(error)),
        };
        Ok(Sent::Done(used.into_iter().collect()))
    }

    /// Sends a write and waits for its response no longer than other gateways wait for this one. Without a
    /// runtime, the time-out of the endpoint applies instead.
    pub(crate) async fn in_time(&self, request: Request) -> Result<Response, Error> {
        let sent = self.database.execute(request);
        match Handle::try_current() {
            Err(_) => sent.await,
            Ok(_) => timeout(ON_ITS_WAY_MAX, sent)
                .await
                .unwrap_or_else(|_| Err(unknown("did not answer in time"))),
        }
    }

    pub(crate) async fn send_together(&self, commit: Commit) -> Result<Sent, Error> {
        limits::check(&commit)?;
        let count = commit.parts.len() + commit.others.len() + commit.own.len();
        // The endpoint returns one reason per item, in the order of the items.
        let mut positions: Vec<Option<usize>> = Vec::with_capacity(count);
        let mut items = Vec::with_capacity(count);
        let mut is_ours = Vec::with_capacity(count);
        for (position, item) in commit.others {
            positions.push(Some(position));
            items.push(item);
            is_ours.push(false);
        }
        for item in commit.own {
            positions.push(None);
            items.push(item);
            is_ours.push(true);
        }
        for part in commit.parts {
            positions.push(part.position);
            items.push(part.into_transact_item());
            is_ours.push(true);
        }
        let request = TransactWriteItems {
            transact_items: items,
            return_consumed_capacity: commit.capacity,
            ..TransactWriteItems::default()
        };
        match self.in_time(request.into()).await {
            Ok(Response::TransactWriteItems(answer)) => {
                Ok(Sent::Done(answer.consumed_capacity.unwrap_or_default()))
            }
            Ok(_) => Err(Error::internal("the answer to a transaction is of another kind")),
            Err(error) if is_overtaken(&error) => Ok(Sent::Overtaken(WhyAgain::default())),
            // The request was sent again, and may still be carried out. If the write began again, it could be made twice.
            Err(error) if error.kind() == ErrorKind::TransactionInProgress => {
                Err(unknown("still works on the transaction"))
            }
            Err(error) if error.kind() == ErrorKind::TransactionCanceled => {
                canceled(&error, &positions, &is_ours, commit.items)
            }
            Err(error) => Err(limits::named(error)),
        }
    }
}

/// The error for a write whose outcome is unknown because of the endpoint.
fn unknown(what: &str) -> Error {
    Error::internal(format!(
        "the endpoint {what}; whether the write was carried out is not known: look before you send it again"
    ))
}

/// Whether a single write conflicts with another one.
fn is_overtaken(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConditionalCheckFailed | ErrorKind::TransactionConflict
    )
}

/// Why a transaction was cancelled: because of other writes, or because of the client's request.
fn canceled(
    error: &Error,
    positions: &[Option<usize>],
    is_ours: &[bool],
    items: Option<usize>,
) -> Result<Sent, Error> {
    let reasons = error.reasons();
    let mut overtaken = Vec::new();
    let mut final_reasons = vec![CancellationReason::none(); items.unwrap_or_default()];
    let mut refused: Option<&CancellationReason> = None;
    let (mut has_others, mut is_throttled) = (false, false);
    for ((reason, position), is_ours) in reasons.iter().zip(positions).zip(is_ours) {
        match reason.code {
            CancellationCode::None => continue,
            CancellationCode::ProvisionedThroughputExceeded | CancellationCode::ThrottlingError => {
                is_throttled = true;
            }
            CancellationCode::TransactionConflict => has_others = true,
            CancellationCode::ConditionalCheckFailed if *is_ours => has_others = true,
            _ => {
                refused = Some(reason);
                if let Some(slot) = position.and_then(|position| final_reasons.get_mut(position)) {
                    *slot = reason.clone();
                }
                continue;
            }
        }
        overtaken.extend(*position);
    }
    match refused {
        None if has_others || is_throttled => Ok(Sent::Overtaken(WhyAgain {
            positions: overtaken,
            is_throttled: is_throttled && !has_others,
        })),
        None => Err(error.clone()),
        Some(_)
            if items.is_some()
                && final_reasons
                    .iter()
                    .any(|reason| reason.code != CancellationCode::None) =>
        {
            Err(Error::transaction_canceled(final_reasons))
        }
        Some(reason) => Err(of_one(reason)),
    }
}

/// The reason for a part as the error of a single write.
fn of_one(reason: &CancellationReason) -> Error {
    let message = reason.message.clone().unwrap_or_default();
    match reason.code {
        CancellationCode::ItemCollectionSizeLimitExceeded => Error::item_collection_too_large(),
        CancellationCode::AccessDenied => Error::access_denied(message),
        _ => Error::validation(message),
    }
}
