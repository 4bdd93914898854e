//! DynamoDB's standard messages. Where its own text is not known, Trestle's names the next step.

use std::fmt;

use trestle_item::Item;

use super::{CancellationReason, Error, ErrorKind};

pub(super) const CONDITION_FAILED: &str = "The conditional request failed";
const NOT_FOUND: &str = "Requested resource not found";

impl Error {
    /// The request is invalid.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Validation, message)
    }

    /// The request is invalid, with the message of most parameter checks.
    pub fn invalid_parameter(detail: impl fmt::Display) -> Self {
        Self::validation(format!("One or more parameter values were invalid: {detail}"))
    }

    /// A condition did not hold.
    #[must_use]
    pub fn condition_failed(item: Option<Item>) -> Self {
        Self::new(ErrorKind::ConditionalCheckFailed, CONDITION_FAILED).with_item(item)
    }

    /// No such table, in operations on items.
    #[must_use]
    pub fn resource_not_found() -> Self {
        Self::new(ErrorKind::ResourceNotFound, NOT_FOUND)
    }

    /// No such table, in operations on tables.
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

    /// No table with that ARN, in operations on tags. DynamoDB's text has the same missing letter.
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

    /// A transaction was cancelled. The message lists the codes of the reasons.
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

    /// The server has no room for another request now; SDKs try again.
    #[must_use]
    pub fn throttled() -> Self {
        Self::new(
            ErrorKind::Throttling,
            "Rate of requests exceeds the allowed throughput.",
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

    /// No such operation. DynamoDB gives no message.
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

    /// A defect of the server. The message is for the caller; log the cause where it is known.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InternalServerError, message)
    }

    /// A defect of the server: an impossible state. The message names its place in the code, and stops a
    /// test.
    #[track_caller]
    pub fn defect(what: impl std::fmt::Display) -> Self {
        let place = std::panic::Location::caller();
        debug_assert!(false, "{what}, {place}");
        Self::internal(format!(
            "{what} ({}:{}): a fault of Trestle, please report it",
            place.file(),
            place.line()
        ))
    }
}
