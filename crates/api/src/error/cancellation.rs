//! Why the parts of a transaction failed.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use trestle_item::Item;

use super::stock::CONDITION_FAILED;
use super::{ErrorKind, Taken};

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
    /// The value that belongs to another row, if that is the reason.
    pub taken: Option<Box<Taken>>,
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
        /// This part is invalid.
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
            taken: None,
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

    /// An invalid part.
    pub fn validation(message: impl Into<String>) -> Self {
        Self::new(CancellationCode::ValidationError, message)
    }
}

impl CancellationCode {
    /// The code for a failure that cancels a transaction; `None` if such a failure fails the request outright.
    #[must_use]
    pub fn of(kind: ErrorKind) -> Option<Self> {
        match kind {
            ErrorKind::ConditionalCheckFailed => Some(Self::ConditionalCheckFailed),
            ErrorKind::ItemCollectionSizeLimitExceeded => Some(Self::ItemCollectionSizeLimitExceeded),
            ErrorKind::TransactionConflict => Some(Self::TransactionConflict),
            ErrorKind::ProvisionedThroughputExceeded => Some(Self::ProvisionedThroughputExceeded),
            ErrorKind::Throttling => Some(Self::ThrottlingError),
            ErrorKind::Validation => Some(Self::ValidationError),
            ErrorKind::DuplicateItem => Some(Self::DuplicateItem),
            ErrorKind::AccessDenied => Some(Self::AccessDenied),
            _ => None,
        }
    }
}
