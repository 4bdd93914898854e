//! The application: its database, its queues, and what works in the background.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use trestle::Embedded;
use trestle::queue::{Job, Queues, Receive, Worker, WorkerSettings};
use trestle::typed::Held;

use super::commands::Happening;
use super::spec::{Spec, check_name};
use super::step::Due;
use super::{Error, Result};
use crate::model::{Littlehorse, NewWfSpec, VersionsOfSpecWhere, WfSpec};

/// The queue of what is to happen later: timeouts, the end of a sleep, deletes that go on.
pub const TIMERS: &str = "littlehorse-timers";

/// How often a timer is tried before it is given up.
const TIMER_RECEIVES_MAX: u32 = 10;

/// How often a task is handed to a worker in vain: as often as a queue can.
const TASK_RECEIVES_MAX: u32 = 1000;

/// How long a message waits to be handled: as long as a queue can keep it, 14 days.
const KEPT_SECONDS: &str = "1209600";

/// How long a message is out of sight while its attempt is noted.
const VISIBILITY: Duration = Duration::from_secs(30);

/// What requests and timers work with.
pub struct Service {
    /// The typed client.
    pub db: Littlehorse<Embedded>,
    /// The queues: [`TIMERS`], and one for each task definition of a tenant.
    pub queues: Queues,
}

impl Service {
    /// Starts the application on a database that has the model of `db`, and the worker of its timers.
    pub async fn start(database: &Embedded, db: Littlehorse<Embedded>) -> Result<(Arc<Self>, Worker)> {
        let queues = database.queues().clone();
        let service = Arc::new(Service { db, queues });
        service.create_queue(TIMERS, TIMER_RECEIVES_MAX).await?;
        let timed = Arc::clone(&service);
        let ring = move |job: Job<Due>| Arc::clone(&timed).ring(job.body);
        let timers = service.queues.work(TIMERS, WorkerSettings::default(), ring);
        Ok((service, timers))
    }

    /// A queue, and one for what cannot be handled.
    async fn create_queue(&self, name: &str, receives_max: u32) -> Result<()> {
        let dead = self.queues.create_with_dead_letters(name, receives_max).await?;
        let kept = [("MessageRetentionPeriod".to_owned(), KEPT_SECONDS.to_owned())];
        for queue in [name, &dead] {
            self.queues.set_attributes(queue, &kept.clone().into()).await?;
        }
        Ok(())
    }

    /// What is due is done, unless the run went on without it. What the database refuses it would refuse again: the run
    /// has failed.
    async fn ring(self: Arc<Self>, due: Due) -> Result<()> {
        let mut done = self.process(&due.target, &due.what).await;
        if let Err(Error::Invalid(reason)) = done {
            done = self.process(&due.target, &Happening::Fail(reason)).await;
        }
        match done {
            Ok(_) | Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Stores a workflow as its next version.
    pub async fn put_spec(&self, tenant: &str, spec: Spec) -> Result<WfSpec> {
        check_name(tenant)?;
        spec.check()?;
        for task in spec.tasks() {
            let queue = task_queue(tenant, &task.task_def_name);
            self.create_queue(&queue, TASK_RECEIVES_MAX).await?;
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
    pub async fn poll(
        &self,
        tenant: &str,
        task: &str,
        worker: &str,
        wait: Duration,
    ) -> Result<Option<Value>> {
        let queue = task_queue(tenant, task);
        if !self.queues.exists(&queue).await? {
            return Err(Error::NotFound("task definition"));
        }
        let receive = Receive {
            max: 1,
            visibility: Some(VISIBILITY),
            wait: Some(wait),
        };
        while let Some(message) = self.queues.receive(&queue, receive).await?.pop() {
            let handle = &message.receipt_handle;
            let task = match serde_json::from_str(&message.body) {
                Ok(due) => self.start_task(due, worker).await?,
                Err(error) => {
                    self.queues.give_up(&queue, handle, error.to_string()).await?;
                    continue;
                }
            };
            // Otherwise the message comes again, and finds that the attempt is under way.
            if let Err(error) = self.queues.delete(&queue, handle).await {
                tracing::warn!(%error, queue, "a message will come again");
            }
            if task.is_some() {
                return Ok(task);
            }
        }
        Ok(None)
    }

    /// Notes that a worker takes an attempt. `None`: the run went on without it.
    async fn start_task(&self, mut due: Due, worker: &str) -> Result<Option<Value>> {
        if let Happening::StartTask(attempt) = &mut due.what {
            attempt.worker_id = Some(worker.to_owned());
        }
        match self.process(&due.target, &due.what).await {
            Err(Error::NotFound(_) | Error::Conflict(_)) => Ok(None),
            // If it could not be noted, the message comes again.
            started => Ok(Some(started?)),
        }
    }
}

/// The queue of the tasks of one definition. Neither name has the separator in it.
pub(crate) fn task_queue(tenant: &str, task: &str) -> String {
    format!("{tenant}_{task}")
}
