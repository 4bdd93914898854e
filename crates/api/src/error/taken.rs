//! A value that must be unique, and belongs to another row.

use serde::{Deserialize, Serialize};

use super::{CancellationCode, CancellationReason, Error, ErrorKind};

/// A value that a model declares unique, and the row that has it. DynamoDB has no such thing: it is a
/// separate member of a `ConditionalCheckFailedException`, so that a program need not parse the message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Taken {
    /// The entity.
    pub entity: String,
    /// The attributes that are unique together.
    pub attributes: Vec<String>,
    /// Their values, as in the message.
    pub value: String,
    /// What identifies the row that has the value, as in the message.
    pub owner: String,
}

impl Error {
    /// A value that must be unique belongs to another row.
    pub fn taken(message: impl Into<String>, taken: Taken) -> Self {
        Self::new(ErrorKind::ConditionalCheckFailed, message).with_taken(Some(taken))
    }
}

impl CancellationReason {
    /// A value that must be unique belongs to another row.
    pub fn taken(message: impl Into<String>, taken: Taken) -> Self {
        Self {
            taken: Some(Box::new(taken)),
            ..Self::new(CancellationCode::ConditionalCheckFailed, message)
        }
    }
}
