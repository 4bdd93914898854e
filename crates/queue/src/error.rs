//! Why a queue refused a request, with SQS's codes and messages.

use std::fmt;

macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $query:literal,)*) => {
        /// The kinds of failure, named as in SQS's service model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $code,)*
        }

        impl ErrorCode {
            /// The name in the service model.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => stringify!($code),)*
                }
            }

            /// The name in SQS's older query protocol, by which many programs still identify errors.
            #[must_use]
            pub const fn query_name(self) -> &'static str {
                match self {
                    $(Self::$code => $query,)*
                }
            }
        }
    };
}

codes! {
    /// Two entries of a batch have the same id.
    BatchEntryIdsNotDistinct = "AWS.SimpleQueueService.BatchEntryIdsNotDistinct",
    /// The messages of a batch are too long together.
    BatchRequestTooLong = "AWS.SimpleQueueService.BatchRequestTooLong",
    /// A batch without entries.
    EmptyBatchRequest = "AWS.SimpleQueueService.EmptyBatchRequest",
    /// No such attribute of a queue.
    InvalidAttributeName = "InvalidAttributeName",
    /// An attribute of a queue cannot have that value.
    InvalidAttributeValue = "InvalidAttributeValue",
    /// A batch entry's id has other characters than it may have.
    InvalidBatchEntryId = "AWS.SimpleQueueService.InvalidBatchEntryId",
    /// A message has characters that it may not have.
    InvalidMessageContents = "InvalidMessageContents",
    /// A parameter is invalid.
    InvalidParameterValue = "InvalidParameterValue",
    /// A request of the older protocol without an action.
    MissingAction = "MissingAction",
    /// A required parameter is absent.
    MissingParameter = "MissingParameter",
    /// Too many of something.
    OverLimit = "OverLimit",
    /// The queue was purged less than a minute ago.
    PurgeQueueInProgress = "AWS.SimpleQueueService.PurgeQueueInProgress",
    /// No such queue.
    QueueDoesNotExist = "AWS.SimpleQueueService.NonExistentQueue",
    /// A queue of that name exists with other attributes.
    QueueNameExists = "QueueAlreadyExists",
    /// The receipt handle is not one of this queue.
    ReceiptHandleIsInvalid = "ReceiptHandleIsInvalid",
    /// A queue or task does not exist, in the form of message move operations.
    ResourceNotFoundException = "ResourceNotFoundException",
    /// The body is not the JSON that was expected.
    SerializationException = "SerializationException",
    /// More than ten entries in a batch.
    TooManyEntriesInBatchRequest = "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
    /// No such operation.
    UnknownOperationException = "InvalidAction",
    /// Trestle's queues do not support that.
    UnsupportedOperation = "AWS.SimpleQueueService.UnsupportedOperation",
    /// The database failed; trying again may help.
    InternalError = "InternalError",
}

impl ErrorCode {
    /// The status of an answer with it.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::InternalError => 500,
            Self::ResourceNotFoundException => 404,
            Self::OverLimit | Self::PurgeQueueInProgress => 403,
            _ => 400,
        }
    }

    /// Whether the server is at fault and not the caller.
    #[must_use]
    pub const fn is_fault(self) -> bool {
        matches!(self, Self::InternalError)
    }
}

/// Why a queue refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueError {
    code: ErrorCode,
    message: String,
}

impl QueueError {
    /// An error of any kind.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The kind of failure.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn no_such_queue() -> Self {
        Self::new(
            ErrorCode::QueueDoesNotExist,
            "The specified queue does not exist.",
        )
    }

    pub(crate) fn missing(parameter: &str) -> Self {
        Self::new(
            ErrorCode::MissingParameter,
            format!("The request must contain the parameter {parameter}."),
        )
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParameterValue, message)
    }

    pub(crate) fn value(value: impl fmt::Display, parameter: &str, reason: impl fmt::Display) -> Self {
        Self::invalid(format!(
            "Value {value} for parameter {parameter} is invalid. Reason: {reason}"
        ))
    }

    /// A parameter that only the other kind of queue has.
    pub(crate) fn not_for_this_queue(value: impl fmt::Display, parameter: &str) -> Self {
        let reason = "The request include parameter that is not valid for this queue type.";
        Self::value(value, parameter, reason)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::UnsupportedOperation, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InternalError, message)
    }

    /// A defect: a state that the code rules out; the place is part of the message.
    #[track_caller]
    pub(crate) fn defect(what: &str) -> Self {
        Self::internal(trestle_api::Error::defect(what).message())
    }

    pub(crate) fn invalid_handle(handle: &str) -> Self {
        Self::new(
            ErrorCode::ReceiptHandleIsInvalid,
            format!("The input receipt handle \"{handle}\" is not a valid receipt handle."),
        )
    }
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for QueueError {}

impl From<trestle_api::Error> for QueueError {
    fn from(error: trestle_api::Error) -> Self {
        Self::internal(error.to_string())
    }
}
