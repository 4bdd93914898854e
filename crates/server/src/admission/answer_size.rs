//! Which operations can have large answers.

use super::Share;
use trestle_api::OperationName;

/// What an operation's answer may need of the memory that clients hold.
pub(crate) trait AnswerSize {
    /// The share that must have room before the operation is executed.
    fn answer_share(self) -> Share;
}

impl AnswerSize for OperationName {
    fn answer_share(self) -> Share {
        match self {
            OperationName::Query
            | OperationName::Scan
            | OperationName::BatchGetItem
            | OperationName::TransactGetItems
            | OperationName::ExecuteStatement
            | OperationName::BatchExecuteStatement
            | OperationName::ExecuteTransaction
            | OperationName::GetRecords => Share::LargeAnswer,
            _ => Share::Small,
        }
    }
}
