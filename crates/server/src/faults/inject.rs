//! A request that gets a fault.

use super::held_back::HeldBack;
use super::{Fault, Hit};
use crate::dispatch;
use crate::http::Service;
use crate::receive::ReceivedRequest;
use crate::reply::Reply;
use hyper::StatusCode;
use std::sync::Arc;
use std::time::Instant;
use trestle_api::{Database, Error, OperationName};

/// An operation that gets a fault.
pub(crate) struct Faulted<'a> {
    pub(crate) service: &'a Service,
    pub(crate) database: &'a Arc<dyn Database>,
    pub(crate) operation: OperationName,
    pub(crate) received: Instant,
    pub(crate) id: &'a str,
}

impl Faulted<'_> {
    /// Answers the operation with the fault, or executes it without an answer.
    pub(crate) async fn answer(self, hit: Hit, asked: ReceivedRequest) -> Reply {
        let Faulted { operation, id, .. } = self;
        tracing::debug!(operation = operation.as_str(), id, fault = ?hit.fault, "a fault is injected");
        match hit.fault {
            Fault::Throttle if is_batch(operation) => self.in_part(hit.tables, asked).await,
            Fault::Throttle => self.refuse(&throttled(operation)),
            Fault::Internal => self.refuse(&Error::internal(
                "The request failed because of an injected fault",
            )),
            Fault::Unavailable => {
                self.service.metrics.operations.of(operation).failed_by_us();
                unavailable()
            }
            Fault::Unknown => self.refuse(&Error::unknown_operation()),
            Fault::CutBefore => Reply::cut(),
            Fault::CutAfter => {
                self.carry_out(asked).await;
                Reply::cut()
            }
            Fault::Delay(delay) => {
                let answer = self.carry_out(asked).await;
                tokio::time::sleep(delay).await;
                answer
            }
        }
    }

    async fn carry_out(&self, asked: ReceivedRequest) -> Reply {
        self.carry_out_on(self.database, asked).await
    }

    /// Executes a part of a batch.
    async fn in_part(&self, tables: Vec<String>, asked: ReceivedRequest) -> Reply {
        let database = Arc::clone(self.database);
        let database: Arc<dyn Database> = Arc::new(HeldBack { database, tables });
        self.carry_out_on(&database, asked).await
    }

    async fn carry_out_on(&self, database: &Arc<dyn Database>, asked: ReceivedRequest) -> Reply {
        let (service, operation) = (self.service, self.operation);
        dispatch::execute(service, database, operation, asked, self.received, self.id).await
    }

    fn refuse(&self, error: &Error) -> Reply {
        self.service.metrics.operations.of(self.operation).failed(error);
        dispatch::error_answer(error)
    }
}

fn is_batch(operation: OperationName) -> bool {
    matches!(
        operation,
        OperationName::BatchWriteItem | OperationName::BatchGetItem
    )
}

/// DynamoDB throttles items by the throughput of their table, and operations on tables by the rate of
/// requests.
fn throttled(operation: OperationName) -> Error {
    match operation {
        OperationName::CreateTable
        | OperationName::UpdateTable
        | OperationName::DeleteTable
        | OperationName::DescribeTable
        | OperationName::ListTables
        | OperationName::UpdateTimeToLive
        | OperationName::DescribeTimeToLive
        | OperationName::TagResource
        | OperationName::UntagResource
        | OperationName::ListTagsOfResource
        | OperationName::DescribeLimits
        | OperationName::DescribeEndpoints
        | OperationName::DescribeContinuousBackups
        | OperationName::ListStreams
        | OperationName::DescribeStream
        | OperationName::GetShardIterator => Error::throttled(),
        OperationName::PutItem
        | OperationName::GetItem
        | OperationName::UpdateItem
        | OperationName::DeleteItem
        | OperationName::Query
        | OperationName::Scan
        | OperationName::BatchGetItem
        | OperationName::BatchWriteItem
        | OperationName::TransactGetItems
        | OperationName::TransactWriteItems
        | OperationName::ExecuteStatement
        | OperationName::BatchExecuteStatement
        | OperationName::ExecuteTransaction
        | OperationName::GetRecords => Error::throughput_exceeded(),
    }
}

/// DynamoDB's wording. Trestle itself never gives this answer, so it is not an error of an operation.
fn unavailable() -> Reply {
    const BODY: &str = r#"{"__type":"com.amazon.coral.availability#ServiceUnavailable","message":"The service is currently unavailable or busy."}"#;
    Reply::json(StatusCode::SERVICE_UNAVAILABLE, BODY)
}
