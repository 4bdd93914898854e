//! The application: its database, its queues, and its background work.

use trestle::AnyDatabase;
use trestle::queue::{Job, Queues, Receive, Worker, WorkerSettings};

use super::*;

/// The queue of work for later: timeouts, ends of sleeps, continued deletes.
pub const TIMERS: &str = "littlehorse-timers";

/// How often a timer is tried before it becomes a dead letter; a task is delivered as often as a queue can.
const TIMER_RECEIVES_MAX: u32 = 10;
const TASK_RECEIVES_MAX: u32 = 1000;
/// The longest that a poll waits for a task.
const POLL_SECONDS_MAX: u64 = 20;

/// The state of requests and timers.
pub struct Service {
    /// The typed client.
    pub db: Littlehorse<AnyDatabase>,
    /// The queues: [`TIMERS`], and one for each task definition of a tenant.
    pub queues: Queues,
}

/// A worker asks for a task, and waits a while for one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Poll {
    task_def_name: String,
    worker_id: String,
    #[serde(default)]
    wait_seconds: u64,
}

impl Service {
    /// Starts the application on a database that has the model of `db`, and the worker of its timers.
    pub async fn start(database: &AnyDatabase, db: Littlehorse<AnyDatabase>) -> Result<(Arc<Self>, Worker)> {
        let queues = database.queues().clone();
        let made = queues.create_with_dead_letters(TIMERS, TIMER_RECEIVES_MAX);
        made.await?;
        let service = Arc::new(Service { db, queues });
        let timed = Arc::clone(&service);
        let ring = move |job: Job<Due>| Arc::clone(&timed).ring(job.body);
        let timers = service.queues.work(TIMERS, WorkerSettings::default(), ring);
        Ok((service, timers))
    }

    /// Executes what is due, unless the run advanced without it. If the database refuses it, the run fails.
    async fn ring(self: Arc<Self>, due: Due) -> Result<()> {
        let mut done = self.attempt(&due).await;
        if let Err(Error::Invalid(reason)) = done {
            let command = Command::Fail(reason);
            done = self.attempt(&Due { command, ..due }).await;
        }
        done.map(drop)
    }

    /// Stores a workflow as its next version.
    pub async fn put_spec(&self, tenant: &str, spec: Spec) -> Result<WfSpec> {
        check_name(tenant)?;
        spec.check()?;
        for node in &spec.nodes {
            if let Action::Task(task) = &node.run {
                let queue = task_queue(tenant, &task.task_def_name);
                let receives_max = TASK_RECEIVES_MAX;
                self.queues.create_with_dead_letters(&queue, receives_max).await?;
            }
        }
        let version = match self.newest_spec(tenant, &spec.name).await {
            Err(Error::NotFound(_)) => 0,
            newest => newest?.0.version + 1,
        };
        let new = WfSpec::from(NewWfSpec {
            tenant: tenant.to_owned(),
            version,
            created_at: self.db.now(),
            definition: serde_json::to_string(&spec)?,
            name: spec.name,
        });
        let held = self.db.put(&new).if_not_exists().await.held()?;
        held.map(|()| new).ok_or_else(busy)
    }

    pub(crate) async fn newest_spec(&self, tenant: &str, name: &str) -> Result<(WfSpec, Spec)> {
        let versions = self.db.versions_of_spec(VersionsOfSpecWhere { tenant, name });
        let newest = versions
            .first()
            .await?
            .ok_or_else(|| Error::not_found("such workflow"))?;
        let spec = serde_json::from_str(&newest.definition)?;
        Ok((newest, spec))
    }

    /// The next task of a definition, taken by a worker.
    pub async fn poll(&self, tenant: &str, poll: Poll) -> Result<Option<Value>> {
        if poll.worker_id.is_empty() {
            return Err(Error::invalid("workerId is empty"));
        }
        let queue = task_queue(tenant, &poll.task_def_name);
        if !self.queues.exists(&queue).await? {
            return Err(Error::not_found("such task definition"));
        }
        let seconds = poll.wait_seconds.min(POLL_SECONDS_MAX);
        let receive = Receive {
            wait: Some(Duration::from_secs(seconds)),
            ..Receive::default()
        };
        while let Some(message) = self.queues.receive(&queue, receive).await?.pop() {
            let handle = &message.receipt_handle;
            let Ok(mut due) = serde_json::from_str::<Due>(&message.body) else {
                self.queues.give_up(&queue, handle, "it is no task").await?;
                continue;
            };
            if let Command::StartTask(attempt) = &mut due.command {
                attempt.worker_id = Some(poll.worker_id.clone());
            }
            // If the attempt cannot be recorded, the message is received again.
            let task = self.attempt(&due).await?;
            // If this fails, the message is received again, and the attempt is found in progress.
            if let Err(error) = self.queues.delete(&queue, handle).await {
                tracing::warn!(%error, queue, "a message will come again");
            }
            if task.is_some() {
                return Ok(task);
            }
        }
        Ok(None)
    }
}

/// The queue of one definition's tasks. Neither name contains the separator.
pub(crate) fn task_queue(tenant: &str, task: &str) -> String {
    format!("{tenant}_{task}")
}
