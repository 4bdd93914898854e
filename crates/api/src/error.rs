//! The one public error, and DynamoDB's stock messages.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::Item;

use crate::ErrorKind;

/// Why a request failed: its kind, and a message in DynamoDB's words.
#[derive(Clone, PartialEq)]
pub struct Error {
    // Boxed so that a `Result` on the hot path is not as wide as the rare failure.
    details: Box<Details>,
}

#[derive(Clone, PartialEq)]
struct Details {
    kind: ErrorKind,
    message: String,
    item: Option<Item>,
    reasons: Vec<CancellationReason>,
}

/// Why one part of a transaction failed; parts that did not fail have the code `None`.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CancellationReason {
    /// The class of failure.
    pub code: CancellationCode,
    /// The failure in words; absent when this part did not fail.
    pub message: Option<String>,
    /// The item that failed the condition, if the request asked for it.
    pub item: Option<Item>,
}

wire_enum! {
    /// The class of a failure within a transaction.
    pub enum CancellationCode {
        /// This part did not fail.
        None = "None",
        /// Its condition did not hold.
        ConditionalCheckFailed = "ConditionalCheckFailed",
        /// An item collection would grow beyond its bound.
        ItemCollectionSizeLimitExceeded = "ItemCollectionSizeLimitExceeded",
        /// Another transaction holds the item.
        TransactionConflict = "TransactionConflict",
        /// The table's throughput is used up.
        ProvisionedThroughputExceeded = "ProvisionedThroughputExceeded",
        /// Too many requests.
        ThrottlingError = "ThrottlingError",
        /// This part makes no sense.
        ValidationError = "ValidationError",
        /// A PartiQL `INSERT` found the key taken.
        DuplicateItem = "DuplicateItem",
        /// Not allowed.
        AccessDenied = "AccessDenied",
    }
}

impl CancellationReason {
    /// The reason of a part that did not fail.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// A failure with a message.
    pub fn new(code: CancellationCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: Some(message.into()),
            item: None,
        }
    }

    /// A condition that did not hold, with the item if the request asked for it.
    #[must_use]
    pub fn condition_failed(item: Option<Item>) -> Self {
        Self {
            item,
            ..Self::new(CancellationCode::ConditionalCheckFailed, CONDITION_FAILED)
        }
    }

    /// A part that makes no sense.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(CancellationCode::ValidationError, message)
    }
}

const CONDITION_FAILED: &str = "The conditional request failed";
const NOT_FOUND: &str = "Requested resource not found";

impl Error {
    /// An error of any kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            details: Box::new(Details {
                kind,
                message: message.into(),
                item: None,
                reasons: Vec::new(),
            }),
        }
    }

    /// What kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.details.kind
    }

    /// The failure in words.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.details.message
    }

    /// The item that failed the condition, if the request asked for it.
    #[must_use]
    pub fn item(&self) -> Option<&Item> {
        self.details.item.as_ref()
    }

    /// Why each part of a transaction failed, in order; empty for other kinds.
    #[must_use]
    pub fn reasons(&self) -> &[CancellationReason] {
        &self.details.reasons
    }

    /// Adds the item that failed the condition.
    #[must_use]
    pub fn with_item(mut self, item: Option<Item>) -> Self {
        self.details.item = item;
        self
    }

    /// Adds the reasons of a cancelled transaction, for those who read errors from the wire.
    #[must_use]
    pub fn with_reasons(mut self, reasons: Vec<CancellationReason>) -> Self {
        self.details.reasons = reasons;
        self
    }
}

/// Constructors, one per stock message.
impl Error {
    /// The request makes no sense.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Validation, message)
    }

    /// The request makes no sense, said in the way of most parameter checks.
    pub fn invalid_parameter(detail: impl fmt::Display) -> Self {
        Self::validation(format!("One or more parameter values were invalid: {detail}"))
    }

    /// A condition did not hold.
    #[must_use]
    pub fn condition_failed(item: Option<Item>) -> Self {
        Self::new(ErrorKind::ConditionalCheckFailed, CONDITION_FAILED).with_item(item)
    }

    /// No such table, said by operations on items.
    #[must_use]
    pub fn resource_not_found() -> Self {
        Self::new(ErrorKind::ResourceNotFound, NOT_FOUND)
    }

    /// No such table, said by operations on tables.
    pub fn table_not_found(table: impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::ResourceNotFound,
            format!("{NOT_FOUND}: Table: {table} not found"),
        )
    }

    /// No such stream.
    pub fn stream_not_found(arn: impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::ResourceNotFound,
            format!("{NOT_FOUND}: Stream: {arn} not found"),
        )
    }

    /// No table with that ARN, said by operations on tags. The missing letter is DynamoDB's.
    pub fn arn_not_found(arn: impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::ResourceNotFound,
            format!("{NOT_FOUND}: ResourcArn: {arn} not found"),
        )
    }

    /// The table exists already.
    pub fn table_exists(table: impl fmt::Display) -> Self {
        Self::new(ErrorKind::ResourceInUse, format!("Table already exists: {table}"))
    }

    /// The table is being created, changed or deleted: `detail` says which, such as `Table is being updated: t`.
    pub fn resource_in_use(detail: impl fmt::Display) -> Self {
        let message = format!("Attempt to change a resource which is still in use: {detail}");
        Self::new(ErrorKind::ResourceInUse, message)
    }

    /// A transaction was given up. The message lists the codes of the reasons.
    #[must_use]
    pub fn transaction_canceled(reasons: Vec<CancellationReason>) -> Self {
        let codes = reasons
            .iter()
            .map(|reason| reason.code.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        let message = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
        );
        Self::new(ErrorKind::TransactionCanceled, message).with_reasons(reasons)
    }

    /// A transaction holds the item.
    #[must_use]
    pub fn transaction_conflict() -> Self {
        Self::new(
            ErrorKind::TransactionConflict,
            "Transaction is ongoing for the item",
        )
    }

    /// The same transaction is still running.
    #[must_use]
    pub fn transaction_in_progress() -> Self {
        Self::new(
            ErrorKind::TransactionInProgress,
            "The transaction with the given request token is already in progress.",
        )
    }

    /// A request token was used again with a different request.
    #[must_use]
    pub fn idempotent_mismatch() -> Self {
        Self::new(
            ErrorKind::IdempotentParameterMismatch,
            "DynamoDB rejected the request because you retried a request with a different payload but with an \
             idempotent token that was already used.",
        )
    }

    /// An item collection would grow beyond its bound.
    #[must_use]
    pub fn item_collection_too_large() -> Self {
        Self::new(
            ErrorKind::ItemCollectionSizeLimitExceeded,
            "Collection size exceeded: an item collection in a table with local secondary indexes is limited to \
             10 GB.",
        )
    }

    /// Too many tables, indexes or changes at once.
    pub fn limit_exceeded(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::LimitExceeded, message)
    }

    /// The table's throughput is used up.
    #[must_use]
    pub fn throughput_exceeded() -> Self {
        Self::new(
            ErrorKind::ProvisionedThroughputExceeded,
            "The level of configured provisioned throughput for the table was exceeded. Consider increasing your \
             provisioning level with the UpdateTable API.",
        )
    }

    /// A PartiQL `INSERT` found the key taken.
    #[must_use]
    pub fn duplicate_item() -> Self {
        Self::new(ErrorKind::DuplicateItem, "Duplicate primary key exists in table")
    }

    /// A shard iterator that is too old.
    #[must_use]
    pub fn expired_iterator() -> Self {
        Self::new(
            ErrorKind::ExpiredIterator,
            "The shard iterator has expired: it can be used for 15 minutes. Get a new one with GetShardIterator.",
        )
    }

    /// Stream records that are no longer kept.
    #[must_use]
    pub fn trimmed_data_access() -> Self {
        Self::new(
            ErrorKind::TrimmedDataAccess,
            "The operation attempted to read past the oldest stream record in a shard.",
        )
    }

    /// The body is not JSON, or a member has the wrong JSON type.
    pub fn serialization(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Serialization, message)
    }

    /// No such operation. DynamoDB says nothing more.
    #[must_use]
    pub fn unknown_operation() -> Self {
        Self::new(ErrorKind::UnknownOperation, "")
    }

    /// An operation of the API that Trestle does not have.
    pub fn unsupported_operation(name: impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::UnknownOperation,
            format!("{name} is not supported by Trestle"),
        )
    }

    /// Not allowed.
    pub fn access_denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::AccessDenied, message)
    }

    /// The `Authorization` header lacks a part.
    pub fn incomplete_signature(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::IncompleteSignature, message)
    }

    /// The signature does not match.
    #[must_use]
    pub fn invalid_signature() -> Self {
        Self::new(
            ErrorKind::InvalidSignature,
            "The request signature we calculated does not match the signature you provided. Check your AWS Secret \
             Access Key and signing method. Consult the service documentation for details.",
        )
    }

    /// The request is not signed.
    #[must_use]
    pub fn missing_authentication_token() -> Self {
        Self::new(
            ErrorKind::MissingAuthenticationToken,
            "Request is missing Authentication Token",
        )
    }

    /// The access key is unknown.
    #[must_use]
    pub fn unrecognized_client() -> Self {
        Self::new(
            ErrorKind::UnrecognizedClient,
            "The security token included in the request is invalid.",
        )
    }

    /// A fault of ours. The message is for the caller; log the cause where it is known.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InternalServerError, message)
    }
}

impl fmt::Display for Error {
    /// The message, or the kind's name where DynamoDB gives no message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            "" => f.write_str(self.kind().as_str()),
            message => f.write_str(message),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            kind,
            message,
            item,
            reasons,
        } = &*self.details;
        let mut out = f.debug_struct("Error");
        out.field("kind", kind).field("message", message);
        if item.is_some() {
            out.field("item", item);
        }
        if !reasons.is_empty() {
            out.field("reasons", reasons);
        }
        out.finish()
    }
}

impl std::error::Error for Error {}

impl From<trestle_item::ValueError> for Error {
    fn from(error: trestle_item::ValueError) -> Self {
        Self::validation(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_transaction_lists_its_codes_in_order() {
        let error = Error::transaction_canceled(vec![
            CancellationReason::none(),
            CancellationReason::condition_failed(None),
        ]);
        assert_eq!(
            error.message(),
            "Transaction cancelled, please refer cancellation reasons for specific reasons \
             [None, ConditionalCheckFailed]"
        );
    }

    #[test]
    fn a_reason_that_is_none_is_only_a_code() {
        assert_eq!(
            serde_json::to_string(&CancellationReason::none()).unwrap(),
            r#"{"Code":"None"}"#
        );
    }

    #[test]
    fn an_error_is_one_pointer_wide() {
        assert_eq!(size_of::<Result<(), Error>>(), size_of::<usize>());
    }

    #[test]
    fn an_error_without_a_message_shows_its_kind() {
        assert_eq!(
            Error::unknown_operation().to_string(),
            "UnknownOperationException"
        );
    }
}
