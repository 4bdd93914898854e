//! Which requests read and which write: the only such list.

use crate::Request;

/// Whether a request reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access<'a> {
    /// It changes nothing.
    Read,
    /// It changes rows or tables if it succeeds.
    Write,
    /// It depends on its PartiQL statements, given as text. They are parsed in a crate above this one.
    Statements(Vec<&'a str>),
}

impl Access<'_> {
    /// Whether anything is written; `is_write` decides for a statement.
    pub fn writes(&self, is_write: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Read => false,
            Self::Write => true,
            Self::Statements(texts) => texts.iter().any(|text| is_write(text)),
        }
    }
}

impl Request {
    /// Whether this request reads or writes.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        match self {
            Self::PutItem(_)
            | Self::UpdateItem(_)
            | Self::DeleteItem(_)
            | Self::BatchWriteItem(_)
            | Self::TransactWriteItems(_)
            | Self::CreateTable(_)
            | Self::UpdateTable(_)
            | Self::DeleteTable(_)
            | Self::UpdateTimeToLive(_)
            | Self::TagResource(_)
            | Self::UntagResource(_) => Access::Write,
            Self::ExecuteStatement(request) => Access::Statements(vec![&request.statement]),
            Self::BatchExecuteStatement(request) => {
                let statements = request.statements.iter();
                Access::Statements(statements.map(|one| one.statement.as_str()).collect())
            }
            Self::ExecuteTransaction(request) => {
                let statements = request.transact_statements.iter();
                Access::Statements(statements.map(|one| one.statement.as_str()).collect())
            }
            Self::GetItem(_)
            | Self::Query(_)
            | Self::Scan(_)
            | Self::BatchGetItem(_)
            | Self::TransactGetItems(_)
            | Self::DescribeTable(_)
            | Self::ListTables(_)
            | Self::DescribeTimeToLive(_)
            | Self::ListTagsOfResource(_)
            | Self::DescribeLimits(_)
            | Self::DescribeEndpoints(_)
            | Self::DescribeContinuousBackups(_)
            | Self::ListStreams(_)
            | Self::DescribeStream(_)
            | Self::GetShardIterator(_)
            | Self::GetRecords(_) => Access::Read,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BatchExecuteStatement, BatchStatementRequest, PutItem, Query};

    #[test]
    fn statements_are_handed_out_and_other_requests_are_known() {
        assert_eq!(Request::Query(Query::default()).access(), Access::Read);
        assert_eq!(Request::PutItem(PutItem::default()).access(), Access::Write);
        let one = |text: &str| BatchStatementRequest {
            statement: text.to_owned(),
            ..BatchStatementRequest::default()
        };
        let batch = Request::BatchExecuteStatement(BatchExecuteStatement {
            statements: vec![one("a"), one("b")],
            ..BatchExecuteStatement::default()
        });
        assert_eq!(batch.access(), Access::Statements(vec!["a", "b"]));
        assert!(batch.access().writes(|text| text == "b"));
        assert!(!batch.access().writes(|_| false));
        assert!(Access::Write.writes(|_| false) && !Access::Read.writes(|_| true));
    }
}
