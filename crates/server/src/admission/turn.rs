//! When a request is executed: there is memory for it, and its client reads its earlier answers.

use super::work::{Processor, WorkPermit, cost, is_apart};
use super::{Admission, ConnectionMemory, Share, Throttled};
use bytes::Bytes;
use trestle_api::{Error, OperationName};

/// The right to execute one request.
pub(crate) struct ExecutionTurn {
    /// Memory, if the request is large.
    pub(crate) work: Option<WorkPermit>,
    /// Present if the request takes long and is executed on a separate thread.
    pub(crate) processor: Option<Processor>,
}

/// Why a request is not executed.
pub(crate) enum NoTurn {
    Throttled,
    Failed(Error),
}

/// The cost of executing a request.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// The share that must have room for the answer.
    share: Share,
    /// Whether it takes long even if its body is small.
    is_long: bool,
}

impl Effort {
    /// The cost of an operation on tables. A client whose last answer was large is expected to get another
    /// large one.
    pub(crate) fn of(operation: OperationName, connection: &ConnectionMemory) -> Self {
        let share = answer_share(operation);
        let is_scan = operation == OperationName::Scan;
        Effort {
            share,
            is_long: is_scan || (share == Share::LargeAnswer && connection.has_large_answers()),
        }
    }

    /// The cost of an operation with a small answer.
    pub(crate) fn small() -> Self {
        Effort {
            share: Share::Small,
            is_long: false,
        }
    }

    /// Whether the answer may be large.
    pub(crate) fn has_large_answer(self) -> bool {
        self.share == Share::LargeAnswer
    }
}

/// The share that must have room before an operation is executed.
fn answer_share(operation: OperationName) -> Share {
    match operation {
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

impl Admission {
    /// Returns when a request may be executed. All conditions hold at the same moment: otherwise many
    /// requests could meet the first condition and then lose it while they wait for the last one.
    pub(crate) async fn turn(
        &self,
        connection: &ConnectionMemory,
        body: &Bytes,
        effort: Effort,
    ) -> Result<ExecutionTurn, NoTurn> {
        let is_small = body.len() <= super::SMALL_BODY_BYTES && !effort.is_long;
        if is_small && connection.is_read() && self.held.has_room(effort.share) {
            return Ok(ExecutionTurn {
                work: None,
                processor: None,
            });
        }
        Box::pin(self.wait_for_turn(connection, body, effort)).await
    }

    async fn wait_for_turn(
        &self,
        connection: &ConnectionMemory,
        body: &Bytes,
        effort: Effort,
    ) -> Result<ExecutionTurn, NoTurn> {
        let work_bytes = self.work_bytes(body).await?;
        loop {
            connection.reads().await;
            self.held.room_for(effort.share).await?;
            let work = match work_bytes {
                Some(bytes) => Some(self.work.permit(bytes).await?),
                None => None,
            };
            let processor = if effort.is_long || is_apart(body.len()) {
                Some(self.work.processor().await?)
            } else {
                None
            };
            if connection.is_read() && self.held.has_room(effort.share) {
                return Ok(ExecutionTurn { work, processor });
            }
        }
    }

    /// The memory to execute a large request; `None` for a small one, whose body counts for it.
    async fn work_bytes(&self, body: &Bytes) -> Result<Option<usize>, Error> {
        if body.len() <= super::SMALL_BODY_BYTES {
            return Ok(None);
        }
        if !is_apart(body.len()) {
            return Ok(Some(cost(body)));
        }
        let body = body.clone();
        self.work.apart(move || cost(&body)).await.map(Some)
    }
}

impl From<Throttled> for NoTurn {
    fn from(Throttled: Throttled) -> Self {
        NoTurn::Throttled
    }
}

impl From<Error> for NoTurn {
    fn from(error: Error) -> Self {
        NoTurn::Failed(error)
    }
}
