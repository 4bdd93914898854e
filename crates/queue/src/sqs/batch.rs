//! The common parts of all batch operations.

use std::collections::HashSet;

use serde::Serialize;

use crate::error::{ErrorCode, QueueError};

const ENTRIES_MAX: usize = 10;
const ID_LEN_MAX: usize = 80;

/// The answer to a batch.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct BatchResult<T> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) successful: Vec<T>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) failed: Vec<Failed>,
}

/// An entry that succeeded without a result.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Done {
    id: String,
}

/// An entry that failed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Failed {
    id: String,
    sender_fault: bool,
    code: &'static str,
    message: String,
}

impl<T> BatchResult<T> {
    pub(super) fn new() -> Self {
        Self {
            successful: Vec::new(),
            failed: Vec::new(),
        }
    }

    pub(super) fn fail(&mut self, id: String, error: &QueueError) {
        self.failed.push(Failed {
            id,
            sender_fault: !error.code().is_fault(),
            code: error.code().query_name(),
            message: error.message().to_owned(),
        });
    }
}

impl BatchResult<Done> {
    pub(super) fn add(&mut self, id: String, result: Result<(), QueueError>) {
        match result {
            Ok(()) => self.successful.push(Done { id }),
            Err(error) => self.fail(id, &error),
        }
    }
}

/// Refuses a batch that is empty or too long, or whose entries' ids are invalid or not unique.
pub(super) fn check<'a>(
    entry: &str,
    ids: impl ExactSizeIterator<Item = Option<&'a String>>,
) -> Result<(), QueueError> {
    if ids.len() == 0 {
        return Err(QueueError::new(
            ErrorCode::EmptyBatchRequest,
            format!("There should be at least one {entry} in the request."),
        ));
    }
    if ids.len() > ENTRIES_MAX {
        return Err(QueueError::new(
            ErrorCode::TooManyEntriesInBatchRequest,
            format!(
                "Maximum number of entries per request are {ENTRIES_MAX}. You have sent {}.",
                ids.len()
            ),
        ));
    }
    let mut seen = HashSet::new();
    for id in ids {
        let id = id.ok_or_else(|| QueueError::missing(&format!("{entry}.Id")))?;
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if id.is_empty() || id.len() > ID_LEN_MAX || !id.bytes().all(valid) {
            return Err(QueueError::new(
                ErrorCode::InvalidBatchEntryId,
                "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at \
                 most 80 letters long.",
            ));
        }
        if !seen.insert(id) {
            return Err(QueueError::new(
                ErrorCode::BatchEntryIdsNotDistinct,
                format!("Id {id} repeated."),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(ids: &[&str]) -> Option<ErrorCode> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        check("Entry", ids.iter().map(Some))
            .err()
            .map(|error| error.code())
    }

    #[test]
    fn ids_tell_at_most_ten_entries_apart() {
        assert_eq!(code(&["a", "B-1_"]), None);
        assert_eq!(code(&[]), Some(ErrorCode::EmptyBatchRequest));
        assert_eq!(code(&["a"; 11]), Some(ErrorCode::TooManyEntriesInBatchRequest));
        assert_eq!(code(&["a", "a"]), Some(ErrorCode::BatchEntryIdsNotDistinct));
        assert_eq!(code(&["a b"]), Some(ErrorCode::InvalidBatchEntryId));
        assert_eq!(code(&[""]), Some(ErrorCode::InvalidBatchEntryId));
        assert_eq!(code(&[&"x".repeat(81)]), Some(ErrorCode::InvalidBatchEntryId));
    }
}
