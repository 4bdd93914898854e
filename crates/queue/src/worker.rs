//! A worker: receives the messages of a queue, passes each to the application, and deletes or retries it.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use trestle_env::{Alarm, Timestamp};

use crate::error::QueueError;
use crate::handle::Handle;
use crate::message::Message;
use crate::queues::Queues;
use crate::receive::Receive;

/// Messages received at once.
const RECEIVE_MAX: usize = 10;
/// How long to wait for messages in one request.
const WAIT: Duration = Duration::from_secs(20);
/// How long to wait after the database failed. It is real time, because the database needs it.
const PAUSE: Duration = Duration::from_millis(200);

/// The settings of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerSettings {
    /// The most jobs at once.
    pub concurrency: usize,
    /// How long a job stays with its worker after the last extension. Longer work is extended.
    pub visibility: Duration,
    /// How long to wait after the first failure; twice as long after each further one.
    pub first_retry: Duration,
    /// The longest wait after a failure.
    pub longest_retry: Duration,
}

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            concurrency: 16,
            visibility: Duration::from_secs(30),
            first_retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(300),
        }
    }
}

impl WorkerSettings {
    /// The same settings with another number of jobs at once.
    #[must_use]
    pub fn at_once(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    fn retry_after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.first_retry
            .saturating_mul(1 << doublings)
            .min(self.longest_retry)
    }
}

/// A message for the application, with its body parsed from JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job<J> {
    /// The message's id: the same for each reception of this message, and unique.
    pub id: String,
    /// How often it was received, including this time.
    pub receives: u32,
    /// When it was sent.
    pub sent: Timestamp,
    /// The job.
    pub body: J,
}

/// A running worker. When dropped, it takes no more messages; [`Worker::stop`] also waits for those it has.
#[derive(Debug)]
#[must_use = "a worker stops when it is dropped"]
pub struct Worker {
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) task: JoinHandle<()>,
}

impl Worker {
    /// Takes no more messages, and returns when the last running job is done.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        // It ends without an action; if it panicked, there is nothing left to wait for.
        let _ = self.task.await;
    }
}

impl Queues {
    /// Lets a handler work on the messages of a queue, several at once.
    ///
    /// A message is deleted when its handler succeeds. When the handler fails, the message is received again,
    /// after a longer time each time; once it was received as often as the queue's redrive policy allows, it
    /// moves to the dead-letter queue with the error as its reason. A message that cannot be parsed moves
    /// there immediately. While a handler works, no other receiver gets its message.
    ///
    /// A handler may get the same message again: after a crash, or when it finished and the message could not be deleted.
    ///
    /// Must be called inside a Tokio runtime with timers.
    pub fn work<J, H, F, E>(&self, queue: impl Into<String>, settings: WorkerSettings, handler: H) -> Worker
    where
        J: DeserializeOwned + Send + 'static,
        H: Fn(Job<J>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let (stop, stopped) = watch::channel(false);
        let bench = Arc::new(Bench {
            queues: self.clone(),
            queue: queue.into(),
            settings,
            handler,
        });
        let task = tokio::spawn(bench.run(stopped));
        Worker { stop, task }
    }
}

/// The state that all jobs of a worker share.
struct Bench<H> {
    queues: Queues,
    queue: String,
    settings: WorkerSettings,
    handler: H,
}

impl<H> Bench<H> {
    async fn run<J, F, E>(self: Arc<Self>, mut stopped: watch::Receiver<bool>)
    where
        J: DeserializeOwned + Send + 'static,
        H: Fn(Job<J>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let places = self.settings.concurrency.max(1);
        let free = Arc::new(Semaphore::new(places));
        while !*stopped.borrow() {
            let messages = tokio::select! {
                messages = self.receive(&free) => messages,
                // An error means that the worker was dropped.
                _ = stopped.changed() => break,
            };
            for message in messages {
                let Ok(place) = Arc::clone(&free).acquire_owned().await else {
                    return;
                };
                let bench = Arc::clone(&self);
                tokio::spawn(async move {
                    bench.job(message).await;
                    drop(place);
                });
            }
        }
        // All permits are free when the last job is done.
        let _ = free.acquire_many(u32::try_from(places).unwrap_or(u32::MAX)).await;
    }

    /// As many messages as there are free permits, at least one.
    async fn receive(&self, free: &Semaphore) -> Vec<Message> {
        if let Ok(place) = free.acquire().await {
            drop(place);
        }
        let ask = Receive {
            max: free.available_permits().clamp(1, RECEIVE_MAX),
            visibility: Some(self.settings.visibility),
            wait: Some(WAIT),
        };
        match self.queues.receive(&self.queue, ask).await {
            Ok(messages) => messages,
            Err(error) => {
                tracing::warn!(%error, queue = self.queue, "a worker cannot receive messages");
                tokio::time::sleep(PAUSE).await;
                Vec::new()
            }
        }
    }

    async fn job<J, F, E>(&self, message: Message)
    where
        J: DeserializeOwned,
        H: Fn(Job<J>) -> F,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let handle = &message.receipt_handle;
        let done = match serde_json::from_str(&message.body) {
            Err(error) => {
                let reason = format!("the message cannot be read: {error}");
                self.give_up(handle, reason).await
            }
            Ok(body) => {
                let job = Job {
                    id: message.id.clone(),
                    receives: message.receives,
                    sent: message.sent,
                    body,
                };
                // A separate task, so that a panic of the handler counts as any other failure.
                let work = tokio::spawn((self.handler)(job));
                match self.hold(handle, work).await {
                    Ok(()) => self.queues.delete(&self.queue, handle).await,
                    Err(reason) => self.failed(&message, reason).await,
                }
            }
        };
        if let Err(error) = done {
            tracing::warn!(%error, queue = self.queue, id = message.id, "a message will come again");
        }
    }

    /// Waits for a handler, and hides the message from other receivers meanwhile.
    async fn hold<E: Display>(
        &self,
        handle: &str,
        mut work: JoinHandle<Result<(), E>>,
    ) -> Result<(), String> {
        let visibility = self.settings.visibility;
        let mut alarm = Alarm::new(Arc::clone(&self.queues.inner().clock));
        let mut renewal = self.queues.now().plus(visibility / 2);
        loop {
            tokio::select! {
                done = &mut work => return match done {
                    Ok(done) => done.map_err(|error| error.to_string()),
                    Err(_) => Err("the handler panicked".to_owned()),
                },
                () = alarm.at(renewal) => {}
            }
            renewal = self.queues.now().plus(visibility / 2);
            // If another receiver has it by now, it is handled again; handlers must allow that.
            if let Err(error) = self
                .queues
                .change_visibility(&self.queue, handle, visibility)
                .await
            {
                tracing::debug!(%error, queue = self.queue, "a message could not be held");
            }
        }
    }

    /// Makes a message ready again later, or gives it up.
    async fn failed(&self, message: &Message, reason: String) -> Result<(), QueueError> {
        let (id, handle) = (&message.id, &message.receipt_handle);
        let state = self.queues.open(&self.queue).await?;
        // In this queue: a dead letter that is processed has its earlier attempts before it.
        let receives = Handle::decode(handle, state.definition.id)?.receives;
        tracing::warn!(queue = self.queue, id, receives, reason, "a message failed");
        let limit = self
            .queues
            .dead_letters(&state)
            .map(|redrive| redrive.receives_max);
        if limit.is_some_and(|limit| receives >= limit) {
            return self.give_up(handle, reason).await;
        }
        let later = self.settings.retry_after(receives);
        self.queues.change_visibility(&self.queue, handle, later).await
    }

    /// Gives a message up. Without a dead-letter queue it is received again, as rarely as the settings allow.
    async fn give_up(&self, handle: &str, reason: String) -> Result<(), QueueError> {
        if self.queues.give_up(&self.queue, handle, reason).await? {
            return Ok(());
        }
        let later = self.settings.longest_retry;
        self.queues.change_visibility(&self.queue, handle, later).await
    }
}
