//! PartiQL: `ExecuteStatement`, `BatchExecuteStatement` and `ExecuteTransaction`.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::{AttributeValue, Item};

use crate::{
    ConsumedCapacity, Error, ErrorKind, ItemResponse, ReturnConsumedCapacity,
    ReturnValuesOnConditionCheckFailure,
};

/// Runs one statement.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ExecuteStatement {
    /// The text.
    pub statement: String,
    /// Values for its `?`s.
    pub parameters: Option<Vec<AttributeValue>>,
    /// Whether a read must see every finished write.
    pub consistent_read: Option<bool>,
    /// Where the previous page ended.
    pub next_token: Option<String>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
    /// The most items to look at.
    pub limit: Option<u32>,
    /// Whether a failed condition shows the item.
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// The result of a statement.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ExecuteStatementOutput {
    /// The items; empty for a write that returns nothing.
    pub items: Vec<Item>,
    /// Where this page ended, if there are more.
    pub next_token: Option<String>,
    /// The cost.
    pub consumed_capacity: Option<ConsumedCapacity>,
    /// The last key looked at, if there are more.
    pub last_evaluated_key: Option<Item>,
}

/// Runs several statements, each on its own.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchExecuteStatement {
    /// The statements: all reads or all writes.
    pub statements: Vec<BatchStatementRequest>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
}

/// One statement of a batch.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchStatementRequest {
    /// The text.
    pub statement: String,
    /// Values for its `?`s.
    pub parameters: Option<Vec<AttributeValue>>,
    /// Whether a read must see every finished write.
    pub consistent_read: Option<bool>,
    /// Whether a failed condition shows the item.
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// The results of a batch of statements.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct BatchExecuteStatementOutput {
    /// One answer per statement, in order.
    pub responses: Vec<BatchStatementResponse>,
    /// The cost per table.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}

/// The result of one statement of a batch.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct BatchStatementResponse {
    /// Why it failed.
    pub error: Option<BatchStatementError>,
    /// The table it worked on.
    pub table_name: Option<String>,
    /// The item it found.
    pub item: Option<Item>,
}

/// Why one statement of a batch failed.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct BatchStatementError {
    /// The class of failure.
    pub code: BatchStatementErrorCode,
    /// The failure in words.
    pub message: String,
    /// The item that failed the condition, if the statement asked for it.
    pub item: Option<Item>,
}

wire_enum! {
    /// The class of a failure within a batch of statements.
    pub enum BatchStatementErrorCode {
        /// The statement is wrong.
        ValidationError = "ValidationError",
        /// A condition did not hold.
        ConditionalCheckFailed = "ConditionalCheckFailed",
        /// An item collection would grow beyond its bound.
        ItemCollectionSizeLimitExceeded = "ItemCollectionSizeLimitExceeded",
        /// The account's quota is used up.
        RequestLimitExceeded = "RequestLimitExceeded",
        /// The table's throughput is used up.
        ProvisionedThroughputExceeded = "ProvisionedThroughputExceeded",
        /// A transaction holds the item.
        TransactionConflict = "TransactionConflict",
        /// Too many requests.
        ThrottlingError = "ThrottlingError",
        /// A defect of the server.
        InternalServerError = "InternalServerError",
        /// No such table.
        ResourceNotFound = "ResourceNotFound",
        /// Not allowed.
        AccessDenied = "AccessDenied",
        /// An `INSERT` found the key taken.
        DuplicateItem = "DuplicateItem",
    }
}

impl BatchStatementErrorCode {
    /// The code for a kind of failure; kinds without a code of their own become an internal error.
    #[must_use]
    pub fn of(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Validation => Self::ValidationError,
            ErrorKind::ConditionalCheckFailed => Self::ConditionalCheckFailed,
            ErrorKind::ItemCollectionSizeLimitExceeded => Self::ItemCollectionSizeLimitExceeded,
            ErrorKind::RequestLimitExceeded => Self::RequestLimitExceeded,
            ErrorKind::ProvisionedThroughputExceeded => Self::ProvisionedThroughputExceeded,
            ErrorKind::TransactionConflict => Self::TransactionConflict,
            ErrorKind::Throttling => Self::ThrottlingError,
            ErrorKind::ResourceNotFound => Self::ResourceNotFound,
            ErrorKind::AccessDenied => Self::AccessDenied,
            ErrorKind::DuplicateItem => Self::DuplicateItem,
            _ => Self::InternalServerError,
        }
    }
}

impl From<Error> for BatchStatementError {
    fn from(error: Error) -> Self {
        let code = BatchStatementErrorCode::of(error.kind());
        Self {
            code,
            message: error.message().to_owned(),
            item: error.item().cloned(),
        }
    }
}

/// Runs several statements atomically: all reads or all writes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ExecuteTransaction {
    /// The statements.
    pub transact_statements: Vec<ParameterizedStatement>,
    /// Identifies the request, so that repeating it has no effect.
    pub client_request_token: Option<String>,
    /// How much of the cost to report.
    pub return_consumed_capacity: Option<ReturnConsumedCapacity>,
}

/// One statement of a transaction.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct ParameterizedStatement {
    /// The text.
    pub statement: String,
    /// Values for its `?`s.
    pub parameters: Option<Vec<AttributeValue>>,
    /// Whether a failed condition shows the item.
    pub return_values_on_condition_check_failure: Option<ReturnValuesOnConditionCheckFailure>,
}

/// The results of the statements of a transaction.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ExecuteTransactionOutput {
    /// One answer per statement, in order.
    pub responses: Vec<ItemResponse>,
    /// The cost per table.
    pub consumed_capacity: Option<Vec<ConsumedCapacity>>,
}
