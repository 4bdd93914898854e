//! `StartMessageMoveTask`, `ListMessageMoveTasks` and `CancelMessageMoveTask`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::{Door, required, within};
use crate::error::{ErrorCode, QueueError};
use crate::moves::{MoveStatus, MoveTask};
use crate::name;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct StartMessageMoveTask {
    source_arn: Option<String>,
    destination_arn: Option<String>,
    max_number_of_messages_per_second: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct TaskHandle {
    task_handle: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListMessageMoveTasks {
    source_arn: Option<String>,
    max_results: Option<i64>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListMessageMoveTasksResult {
    results: Vec<Task>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Task {
    task_handle: Option<String>,
    status: &'static str,
    source_arn: String,
    destination_arn: Option<String>,
    max_number_of_messages_per_second: Option<u32>,
    approximate_number_of_messages_moved: u64,
    approximate_number_of_messages_to_move: u64,
    failure_reason: Option<String>,
    started_timestamp: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct CancelMessageMoveTaskResult {
    approximate_number_of_messages_moved: u64,
}

/// The content of a handle.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HandleText {
    task_id: String,
    source_arn: String,
}

impl Door<'_> {
    pub(super) async fn start_message_move_task(
        &self,
        request: StartMessageMoveTask,
    ) -> Result<TaskHandle, QueueError> {
        let arn = required(request.source_arn, "SourceArn")?;
        let source = queue_of(&arn, "SourceArn")?;
        let destination = match &request.destination_arn {
            Some(arn) => Some(queue_of(arn, "DestinationArn")?),
            None => None,
        };
        let rate = request.max_number_of_messages_per_second.map(|rate| {
            let reason = "Must be between 1 and 500, if provided.";
            within(rate, (1, 500), "MaxNumberOfMessagesPerSecond", reason)
        });
        let rate = rate.transpose()?.and_then(|rate| u32::try_from(rate).ok());
        let id = self.queues.start_move(source, destination, rate).await?;
        Ok(TaskHandle {
            task_handle: Some(handle(id, arn)?),
        })
    }

    pub(super) async fn list_message_move_tasks(
        &self,
        request: ListMessageMoveTasks,
    ) -> Result<ListMessageMoveTasksResult, QueueError> {
        let arn = required(request.source_arn, "SourceArn")?;
        let reason = "Must be between 1 and 10, if provided.";
        let max = within(request.max_results.unwrap_or(1), (1, 10), "MaxResults", reason)?;
        let tasks = self.queues.moves(queue_of(&arn, "SourceArn")?).await?;
        let tasks = tasks.into_iter().take(usize::try_from(max).unwrap_or(1));
        let results: Result<_, _> = tasks.map(|task| self.show(task)).collect();
        Ok(ListMessageMoveTasksResult { results: results? })
    }

    pub(super) async fn cancel_message_move_task(
        &self,
        request: TaskHandle,
    ) -> Result<CancelMessageMoveTaskResult, QueueError> {
        let text = required(request.task_handle, "TaskHandle")?;
        let bytes = STANDARD.decode(&text).ok();
        let handle: Option<HandleText> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let handle =
            handle.ok_or_else(|| QueueError::invalid("Value for parameter TaskHandle is invalid."))?;
        self.queues
            .moves(queue_of(&handle.source_arn, "SourceArn")?)
            .await?;
        Ok(CancelMessageMoveTaskResult {
            approximate_number_of_messages_moved: self.queues.cancel_move(&handle.task_id).await?,
        })
    }

    fn show(&self, task: MoveTask) -> Result<Task, QueueError> {
        let arn = |name: &str| self.queues.settings().arn(name);
        let source_arn = arn(&task.source);
        Ok(Task {
            // Only a task that can be cancelled has a handle.
            task_handle: match task.status {
                MoveStatus::Running => Some(handle(task.id, source_arn.clone())?),
                _ => None,
            },
            status: task.status.as_str(),
            destination_arn: task.destination.as_deref().map(arn),
            source_arn,
            max_number_of_messages_per_second: task.per_second,
            approximate_number_of_messages_moved: task.moved,
            approximate_number_of_messages_to_move: task.to_move,
            failure_reason: task.failure,
            started_timestamp: task.started.as_millis(),
        })
    }
}

fn handle(task_id: String, source_arn: String) -> Result<String, QueueError> {
    let text = serde_json::to_vec(&HandleText { task_id, source_arn })
        .map_err(|error| QueueError::internal(error.to_string()))?;
    Ok(STANDARD.encode(text))
}

fn queue_of<'a>(arn: &'a str, parameter: &str) -> Result<&'a str, QueueError> {
    name::of_arn(arn).ok_or_else(|| {
        QueueError::new(
            ErrorCode::ResourceNotFoundException,
            format!("The resource that you specified for the {parameter} parameter doesn't exist."),
        )
    })
}
