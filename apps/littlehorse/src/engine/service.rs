//! The application: its database, its queues, and what works in the background.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trestle::Embedded;
use trestle::queue::{Job, Queues, Receive, Worker, WorkerSettings};
use trestle::typed::{Held, Timestamp};

use super::commands::Command;
use super::spec::Spec;
use super::{Error, Result};
use crate::model::{Littlehorse, NewWfSpec, VersionsOfSpecWhere, WfSpec};

/// The queue of what is to happen later: timeouts, the end of a sleep, deletes that go on.
pub const TIMERS: &str = "littlehorse-timers";

/// How often a timer is tried before it is given up.
const TIMER_RECEIVES_MAX: u32 = 10;

/// How long a task waits for a worker: as long as a queue can keep it, 14 days.
const TASK_SECONDS_MAX: &str = "1209600";

/// How long a message is out of sight while its attempt is noted.
const VISIBILITY: Duration = Duration::from_secs(30);

/// What requests and timers work with.
pub struct Service {
    /// The typed client.
    pub db: Littlehorse<Embedded>,
    /// The queues: [`TIMERS`], and one for each task definition of a tenant.
    pub queues: Queues,
}

/// A message: what is to happen to a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Due {
    pub(crate) tenant: String,
    pub(crate) run: String,
    pub(crate) command: Command,
}

impl Service {
    /// Starts the application on a database that has the model of `db`, and the worker of its timers.
    pub async fn start(database: &Embedded, db: Littlehorse<Embedded>) -> Result<(Arc<Self>, Worker)> {
        let queues = database.queues().clone();
        queues.create_with_dead_letters(TIMERS, TIMER_RECEIVES_MAX).await?;
        let service = Arc::new(Service { db, queues });
        let timed = Arc::clone(&service);
        let ring = move |job: Job<Due>| Arc::clone(&timed).ring(job.body);
        let timers = service.queues.work(TIMERS, WorkerSettings::default(), ring);
        Ok((service, timers))
    }

    /// What is due is done, unless the run went on without it.
    async fn ring(self: Arc<Self>, due: Due) -> Result<()> {
        match self.process(&due.tenant, &due.run, &due.command).await {
            Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.db.now()
    }

    /// Stores a workflow, as JSON, as its next version.
    pub async fn put_spec(&self, tenant: &str, spec: Value) -> Result<WfSpec> {
        let spec: Spec = serde_json::from_value(spec)?;
        spec.check()?;
        for task in spec.tasks() {
            let kept = [("MessageRetentionPeriod".to_owned(), TASK_SECONDS_MAX.to_owned())];
            let queue = task_queue(tenant, &task.task_def_name);
            self.queues.create(&queue, &kept.into(), &[].into()).await?;
        }
        let version = match self.newest_spec(tenant, &spec.name).await {
            Err(Error::NotFound(_)) => 0,
            newest => newest?.0.version + 1,
        };
        let new = WfSpec::from(NewWfSpec {
            tenant: tenant.to_owned(),
            version,
            created_at: self.now(),
            definition: serde_json::to_string(&spec)?,
            name: spec.name,
        });
        match self.db.put(&new).if_not_exists().await.held()? {
            Some(()) => Ok(new),
            None => Err(Error::Busy),
        }
    }

    pub(crate) async fn newest_spec(&self, tenant: &str, name: &str) -> Result<(WfSpec, Spec)> {
        let versions = self.db.versions_of_spec(VersionsOfSpecWhere { tenant, name });
        let newest = versions.first().await?.ok_or(Error::NotFound("workflow"))?;
        let spec = serde_json::from_str(&newest.definition)?;
        Ok((newest, spec))
    }

    /// The next task of a definition, taken by a worker; waits a while if there is none.
    pub async fn poll(&self, tenant: &str, task: &str, by: &str, wait: Duration) -> Result<Option<Value>> {
        let queue = task_queue(tenant, task);
        if !self.queues.exists(&queue).await? {
            return Err(Error::NotFound("task definition"));
        }
        let (max, visibility, wait) = (1, Some(VISIBILITY), Some(wait));
        let receive = Receive { max, visibility, wait };
        while let Some(message) = self.queues.receive(&queue, receive).await?.pop() {
            let Due { run, mut command, .. } = serde_json::from_str(&message.body)?;
            if let Command::StartTask(attempt) = &mut command {
                attempt.worker_id = Some(by.to_owned());
            }
            let task = match self.process(tenant, &run, &command).await {
                Err(Error::NotFound(_) | Error::Conflict(_)) => None,
                // If it could not be noted, the message comes again.
                started => Some(started?),
            };
            // If this is never done, the message comes again and finds that the attempt is under way.
            self.queues.delete(&queue, &message.receipt_handle).await?;
            if task.is_some() {
                return Ok(task);
            }
        }
        Ok(None)
    }
}

/// The queue of the tasks of one definition. Neither name has the separator in it.
pub(crate) fn task_queue(tenant: &str, task: &str) -> String {
    format!("lh_{tenant}_{task}")
}
