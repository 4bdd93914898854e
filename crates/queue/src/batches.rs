//! A worker whose handler takes several messages at once: for work that is cheaper together, such as a commit.

use std::fmt::Display;
use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tokio::sync::{mpsc, oneshot};

use crate::queues::Queues;
use crate::worker::{Job, Worker, WorkerSettings};

/// A job that waits for the next batch, and the channel for its result.
type Waiting<J> = (Job<J>, oneshot::Sender<Result<(), String>>);

impl Queues {
    /// Lets a handler work on the messages of a queue as [`Queues::work`] does, passing it all waiting
    /// messages at once: one, or up to the concurrency of the settings. If it fails, it gets each message
    /// separately, so that one bad message fails alone.
    ///
    /// Must be called inside a Tokio runtime with timers.
    pub fn work_in_batches<J, H, F, E>(
        &self,
        queue: impl Into<String>,
        settings: WorkerSettings,
        handler: H,
    ) -> Worker
    where
        J: DeserializeOwned + Clone + Send + 'static,
        H: Fn(Vec<Job<J>>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let most = settings.concurrency.max(1);
        let (jobs, waiting) = mpsc::channel(most);
        // It ends with the worker, which has the only sender.
        let batches = tokio::spawn(handle_batches(waiting, most, Arc::new(handler)));
        let Worker { stop, task } = self.work(queue, settings, move |job| {
            let jobs = jobs.clone();
            async move {
                let ended = || "the worker has ended".to_owned();
                let (done, is_done) = oneshot::channel();
                jobs.send((job, done)).await.map_err(|_| ended())?;
                is_done.await.map_err(|_| ended())?
            }
        });
        let task = tokio::spawn(async move {
            // If one of them panicked, there is nothing left to wait for.
            let _ = (task.await, batches.await);
        });
        Worker { stop, task }
    }
}

async fn handle_batches<J, H, F, E>(mut waiting: mpsc::Receiver<Waiting<J>>, most: usize, handler: Arc<H>)
where
    J: Clone + Send + 'static,
    H: Fn(Vec<Job<J>>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    let mut batch = Vec::new();
    while waiting.recv_many(&mut batch, most).await > 0 {
        let jobs: Vec<Job<J>> = batch.iter().map(|(job, _)| job.clone()).collect();
        let is_alone = jobs.len() == 1;
        let together = handle(&handler, jobs).await;
        for (job, done) in batch.drain(..) {
            let result = match &together {
                Err(_) if !is_alone => handle(&handler, vec![job]).await,
                result => result.clone(),
            };
            // A stopped worker does not wait; its message is received again.
            let _ = done.send(result);
        }
    }
}

/// Runs the handler in a separate task, so that a panic counts as any other failure.
async fn handle<J, H, F, E>(handler: &Arc<H>, jobs: Vec<Job<J>>) -> Result<(), String>
where
    J: Send + 'static,
    H: Fn(Vec<Job<J>>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    let handler = Arc::clone(handler);
    let work = tokio::spawn(async move { handler(jobs).await.map_err(|error| error.to_string()) });
    work.await
        .unwrap_or_else(|_| Err("the handler panicked".to_owned()))
}
