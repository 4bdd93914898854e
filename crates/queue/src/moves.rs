//! Message move tasks: they move a dead-letter queue's messages back to where they came from, or elsewhere.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use trestle_env::{Alarm, Timestamp, ids};

use crate::definition::State;
use crate::error::{ErrorCode, QueueError};
use crate::finish::in_background;
use crate::index::{MessageNumber, Taken};
use crate::name;
use crate::queues::Queues;
use crate::redrive::Arrival;
use crate::rows;
use crate::storage;

/// Messages moved at a time.
const CHUNK: usize = 25;
/// Tasks kept of each queue.
const KEPT: usize = 10;

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum MoveStatus {
    /// Moving messages.
    Running,
    /// Every message was moved.
    Completed,
    /// Asked to stop.
    Cancelling,
    /// Stopped, as asked.
    Cancelled,
    /// Stopped by an error.
    Failed,
}

impl MoveStatus {
    /// The name in SQS.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Completed => "COMPLETED",
            Self::Cancelling => "CANCELLING",
            Self::Cancelled => "CANCELLED",
            Self::Failed => "FAILED",
        }
    }

    fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Cancelling)
    }
}

/// A task that moves messages from one queue to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveTask {
    /// Names the task.
    pub id: String,
    /// The queue that messages are moved from.
    pub source: String,
    /// The destination queue; `None` for the queues that the messages came from.
    pub destination: Option<String>,
    /// The most messages per second.
    pub per_second: Option<u32>,
    /// When it began.
    pub started: Timestamp,
    /// Its state.
    pub status: MoveStatus,
    /// How many messages it has moved.
    pub moved: u64,
    /// How many messages there were at its beginning.
    pub to_move: u64,
    /// Why it failed.
    pub failure: Option<String>,
}

impl MoveTask {
    fn row(&self) -> Result<trestle_item::Item, QueueError> {
        let json = serde_json::to_string(self).map_err(|error| QueueError::internal(error.to_string()))?;
        Ok(rows::document(rows::MOVES, &self.sort(), json))
    }

    fn sort(&self) -> String {
        format!("{}#{:016x}#{}", self.source, self.started.as_millis(), self.id)
    }
}

/// A task and the bell that stops it.
struct Kept {
    task: Mutex<MoveTask>,
    cancelled: Notify,
}

impl Kept {
    fn new(task: MoveTask) -> Arc<Self> {
        Arc::new(Self {
            task: Mutex::new(task),
            cancelled: Notify::new(),
        })
    }
}

/// All tasks, oldest first.
#[derive(Default)]
pub(crate) struct Moves {
    kept: Mutex<Vec<Arc<Kept>>>,
}

impl Queues {
    /// Starts to move the messages of a dead-letter queue to `destination`, or back to where each came from.
    /// Returns the task's id.
    pub async fn start_move(
        &self,
        source: &str,
        destination: Option<&str>,
        per_second: Option<u32>,
    ) -> Result<String, QueueError> {
        let state = self.open(source).await.map_err(|_| unknown("SourceArn"))?;
        if self.dead_letter_sources(source).await?.is_empty() {
            return Err(QueueError::invalid(
                "Source queue must be configured as a Dead Letter Queue.",
            ));
        }
        if let Some(name) = destination {
            if name == source {
                return Err(QueueError::invalid(
                    "Source queue arn and destination queue arn cannot be the same.",
                ));
            }
            self.queue(name).await.map_err(|_| unknown("DestinationArn"))?;
            if name::is_fifo(name) != name::is_fifo(source) {
                return Err(QueueError::invalid(
                    "Source queue and destination queue must both be standard queues or both be FIFO queues.",
                ));
            }
        }
        let to_move = self.counts(source).await?.visible as u64;
        let kept = Kept::new(MoveTask {
            id: ids::uuid(),
            source: source.to_owned(),
            destination: destination.map(str::to_owned),
            per_second,
            started: self.now(),
            status: MoveStatus::Running,
            moved: 0,
            to_move,
            failure: None,
        });
        let task = kept.task.lock().clone();
        let forgotten = {
            let mut all = self.inner().moves.kept.lock();
            let of_source = |kept: &Arc<Kept>| kept.task.lock().source == source;
            if all
                .iter()
                .any(|kept| of_source(kept) && kept.task.lock().status.is_active())
            {
                return Err(QueueError::invalid(
                    "There is already a task running. Only one active task is allowed for a source queue arn at a \
                     given time.",
                ));
            }
            all.push(Arc::clone(&kept));
            let old = all
                .iter()
                .filter(|kept| of_source(kept))
                .count()
                .saturating_sub(KEPT);
            let mut left = old;
            let mut forgotten = Vec::new();
            all.retain(|kept| {
                let drop = left > 0 && of_source(kept);
                if drop {
                    left -= 1;
                    forgotten.push(rows::key(rows::MOVES, kept.task.lock().sort()));
                }
                !drop
            });
            forgotten
        };
        let mut writes: Vec<_> = forgotten.into_iter().map(storage::delete).collect();
        writes.push(storage::put(task.row()?));
        if let Err(error) = self.inner().storage.write(writes).await {
            self.inner()
                .moves
                .kept
                .lock()
                .retain(|other| !Arc::ptr_eq(other, &kept));
            return Err(error);
        }
        let last = state.lot.with(|index| index.last());
        in_background(carry_out(self.clone(), kept, last)).await;
        Ok(task.id)
    }

    /// The tasks of a queue, newest first.
    pub async fn moves(&self, source: &str) -> Result<Vec<MoveTask>, QueueError> {
        self.queue(source).await.map_err(|_| unknown("SourceArn"))?;
        let all = self.inner().moves.kept.lock();
        let tasks = all.iter().rev().map(|kept| kept.task.lock().clone());
        Ok(tasks.filter(|task| task.source == source).collect())
    }

    /// Stops a task; returns how many messages it has moved. They stay where they are.
    pub async fn cancel_move(&self, id: &str) -> Result<u64, QueueError> {
        // Tasks are unknown before the queues are loaded.
        self.exists("").await?;
        let all = self.inner().moves.kept.lock();
        let Some(kept) = all.iter().find(|kept| kept.task.lock().id == id) else {
            return Err(QueueError::new(
                ErrorCode::ResourceNotFoundException,
                "Task does not exist.",
            ));
        };
        let mut task = kept.task.lock();
        if task.status != MoveStatus::Running {
            return Err(QueueError::unsupported("Only running tasks can be cancelled."));
        }
        task.status = MoveStatus::Cancelling;
        kept.cancelled.notify_one();
        Ok(task.moved)
    }

    /// Reads the tasks, and continues those that a crash interrupted.
    pub(crate) async fn load_moves(&self) -> Result<(), QueueError> {
        let mut tasks: Vec<MoveTask> = Vec::new();
        self.inner()
            .storage
            .each(rows::MOVES, |item| {
                tasks.push(rows::read_document(&item)?.1);
                Ok(())
            })
            .await?;
        tasks.sort_by_key(|task| task.started);
        for task in tasks {
            let active = task.status.is_active();
            let kept = Kept::new(task);
            self.inner().moves.kept.lock().push(Arc::clone(&kept));
            if active && let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(resumed(self.clone(), kept));
            }
        }
        Ok(())
    }

    async fn move_chunks(&self, kept: &Kept, last: MessageNumber) -> Result<MoveStatus, QueueError> {
        let (source, destination, per_second) = {
            let task = kept.task.lock();
            (task.source.clone(), task.destination.clone(), task.per_second)
        };
        let clock = Arc::clone(&self.inner().clock);
        let mut alarm = Alarm::new(Arc::clone(&clock));
        let chunk = per_second.map_or(CHUNK, |rate| CHUNK.min(rate as usize).max(1));
        loop {
            if kept.task.lock().status == MoveStatus::Cancelling {
                return Ok(MoveStatus::Cancelled);
            }
            let (state, now) = (self.open(&source).await?, clock.now());
            let lot = &state.lot;
            lot.advance(now, state.meaning.retention, &self.inner().storage)
                .await;
            let taken = lot.withdraw(chunk, last);
            if taken.is_empty() {
                return Ok(MoveStatus::Completed);
            }
            let moved = taken.len() as u64;
            match &destination {
                Some(name) => self.forward(&state, name, taken).await?,
                None => self.send_back(&state, taken).await?,
            }
            kept.task.lock().moved += moved;
            if let Some(rate) = per_second {
                let until = now.plus(Duration::from_millis(moved * 1000 / u64::from(rate.max(1))));
                tokio::select! {
                    () = alarm.at(until) => {}
                    () = kept.cancelled.notified() => {}
                }
            }
        }
    }

    /// Moves messages that were removed from a queue to another one.
    async fn forward(&self, from: &State, to: &str, taken: Vec<Taken>) -> Result<(), QueueError> {
        match self.open(to).await {
            Ok(to) => {
                let (from, to) = (Arc::clone(&from.lot), Arc::clone(&to.lot));
                self.move_all(from, to, taken, Arrival::New).await
            }
            Err(error) => {
                from.lot.restore(taken, self.now());
                Err(error)
            }
        }
    }

    /// Moves messages that were removed from a dead-letter queue to where each came from.
    async fn send_back(&self, from: &State, mut taken: Vec<Taken>) -> Result<(), QueueError> {
        while !taken.is_empty() {
            let origins = match self.origins(from, &taken).await {
                Ok(origins) => origins,
                Err(error) => {
                    from.lot.restore(taken, self.now());
                    return Err(error);
                }
            };
            // Successive messages from the same queue are moved together.
            let Some(first) = origins.first().cloned() else {
                from.lot.restore(taken, self.now());
                return Err(QueueError::defect("messages have no origins"));
            };
            let run = origins.iter().take_while(|origin| **origin == first).count();
            let rest = taken.split_off(run);
            if let Err(error) = self.forward(from, &first, taken).await {
                from.lot.restore(rest, self.now());
                return Err(error);
            }
            taken = rest;
        }
        Ok(())
    }

    async fn origins(&self, from: &State, taken: &[Taken]) -> Result<Vec<String>, QueueError> {
        let sequences: Vec<MessageNumber> = taken.iter().map(|taken| taken.sequence).collect();
        let rows = self.inner().storage.read(&from.lot.partition, &sequences).await?;
        let origin = |row: Option<rows::Stored>| {
            let arn = row.and_then(|stored| stored.dead_letter_source);
            let name = arn.as_deref().and_then(crate::name::of_arn).map(str::to_owned);
            name.ok_or_else(|| QueueError::invalid("CouldNotDetermineMessageSource"))
        };
        rows.into_iter().map(origin).collect()
    }
}

/// A task that a crash interrupted. Boxed, because its future contains the one that starts it.
fn resumed(queues: Queues, kept: Arc<Kept>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(carry_out(queues, kept, MessageNumber(u64::MAX)))
}

/// Runs a task to its end and stores its outcome.
async fn carry_out(queues: Queues, kept: Arc<Kept>, last: MessageNumber) {
    let outcome = queues.move_chunks(&kept, last).await;
    let row = {
        let mut task = kept.task.lock();
        match outcome {
            Ok(status) => task.status = status,
            Err(error) => {
                task.status = MoveStatus::Failed;
                task.failure = Some(match error.code() {
                    ErrorCode::InvalidParameterValue => error.message().to_owned(),
                    code => code.query_name().to_owned(),
                });
            }
        }
        task.row()
    };
    let noted = match row {
        Ok(row) => queues.inner().storage.put(row).await,
        Err(error) => Err(error),
    };
    if let Err(error) = noted {
        tracing::warn!(%error, "the end of a message move task could not be noted");
    }
}

fn unknown(parameter: &str) -> QueueError {
    QueueError::new(
        ErrorCode::ResourceNotFoundException,
        format!("The resource that you specified for the {parameter} parameter doesn't exist."),
    )
}
