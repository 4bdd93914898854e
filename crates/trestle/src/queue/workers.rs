//! The workers of an application: their queues are created, counted and stopped together.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::de::DeserializeOwned;
use trestle_queue::{Counts, Job, QueueError, Queues, Worker, WorkerSettings};

/// How often to check whether workers are idle.
const LOOK: Duration = Duration::from_millis(10);

/// Workers that start and stop together, each with a queue and its dead letters.
///
/// ```
/// use std::sync::Arc;
///
/// use trestle::queue::{Job, QueueError, WorkerSettings, Workers};
/// use trestle::{Embedded, Options};
///
/// struct Shop;
///
/// impl Shop {
///     async fn welcome(self: Arc<Self>, job: Job<String>) -> Result<(), QueueError> {
///         println!("Welcome, {}", job.body);
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), QueueError> {
/// # let database = Embedded::in_memory(Options::default()).unwrap();
/// let queues = database.queues();
/// let (shop, workers) = (Arc::new(Shop), Workers::new(queues));
/// workers.add("welcome", 5, WorkerSettings::default(), &shop, Shop::welcome).await?;
/// queues.send_jobs("welcome", ["Ada"]).await?;
/// workers.until_idle().await?;
/// workers.stop().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Workers {
    queues: Queues,
    // In the order in which they were added. The queue's name stays after its worker was stopped.
    started: Mutex<Vec<(String, Option<Worker>)>>,
}

impl Workers {
    /// None yet.
    #[must_use]
    pub fn new(queues: &Queues) -> Self {
        Self {
            queues: queues.clone(),
            started: Mutex::default(),
        }
    }

    /// Creates a queue with dead letters, unless it exists, and calls a function with `state` and each of its
    /// messages. A message that fails `receives_max` times becomes a dead letter.
    pub async fn add<S, J, F, E>(
        &self,
        queue: &str,
        receives_max: u32,
        settings: WorkerSettings,
        state: &Arc<S>,
        handler: impl Fn(Arc<S>, Job<J>) -> F + Send + Sync + 'static,
    ) -> Result<(), QueueError>
    where
        S: Send + Sync + 'static,
        J: DeserializeOwned + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let state = Arc::clone(state);
        let handler = move |job| handler(Arc::clone(&state), job);
        let work = || self.queues.work(queue, settings, handler);
        self.start(queue, receives_max, work).await
    }

    /// The same with a function that receives all waiting messages at once. See [`Queues::work_in_batches`].
    pub async fn add_in_batches<S, J, F, E>(
        &self,
        queue: &str,
        receives_max: u32,
        settings: WorkerSettings,
        state: &Arc<S>,
        handler: impl Fn(Arc<S>, Vec<Job<J>>) -> F + Send + Sync + 'static,
    ) -> Result<(), QueueError>
    where
        S: Send + Sync + 'static,
        J: DeserializeOwned + Clone + Send + 'static,
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let state = Arc::clone(state);
        let handler = move |jobs| handler(Arc::clone(&state), jobs);
        let work = || self.queues.work_in_batches(queue, settings, handler);
        self.start(queue, receives_max, work).await
    }

    async fn start(
        &self,
        queue: &str,
        receives_max: u32,
        work: impl FnOnce() -> Worker,
    ) -> Result<(), QueueError> {
        self.queues.create_with_dead_letters(queue, receives_max).await?;
        let worker = work();
        self.with(|started| started.push((queue.to_owned(), Some(worker))));
        Ok(())
    }

    /// The number of messages in each queue and in its dead-letter queue, whose name ends in `-dead`.
    pub async fn counts(&self) -> Result<BTreeMap<String, Counts>, QueueError> {
        let mut counts = BTreeMap::new();
        for queue in self.names() {
            for queue in [format!("{queue}-dead"), queue] {
                let its = self.queues.counts(&queue).await?;
                counts.insert(queue, its);
            }
        }
        Ok(counts)
    }

    /// Whether no message waits or is being processed, apart from dead letters. The queues are checked in the
    /// order in which they were added: a message that causes one in a later queue is seen in one of the two.
    pub async fn are_idle(&self) -> Result<bool, QueueError> {
        for queue in self.names() {
            if self.queues.counts(&queue).await?.total() > 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until they are idle.
    pub async fn until_idle(&self) -> Result<(), QueueError> {
        while !self.are_idle().await? {
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Stops them. Running work is finished; the rest waits for the next start.
    pub async fn stop(&self) {
        let take = |started: &mut Vec<(String, Option<Worker>)>| {
            let workers = started.iter_mut().filter_map(|(_, worker)| worker.take());
            workers.collect::<Vec<_>>()
        };
        for worker in self.with(take) {
            worker.stop().await;
        }
    }

    fn names(&self) -> Vec<String> {
        self.with(|started| started.iter().map(|(queue, _)| queue.clone()).collect())
    }

    fn with<T>(&self, look: impl FnOnce(&mut Vec<(String, Option<Worker>)>) -> T) -> T {
        look(&mut self.started.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
