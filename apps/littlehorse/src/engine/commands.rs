//! What can happen to a run: requests bring commands, and queues keep what is due later. Messages come late, and come again;
//! what finds the run elsewhere changes nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trestle::ids;

use super::spec::{Action, Task};
use super::step::{Step, Target, of_run};
use super::tags::tag;
use super::{Error, Result, Service, Texts};
use crate::model::*;

/// Something that a client lets happen to a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Command {
    /// A worker says what became of an attempt. With an error it is tried again, if there are retries left.
    ReportTask(Attempt),
    /// The same event again changes nothing.
    PutEvent(Event),
    /// A person is to do a user task.
    AssignUserTask {
        /// The task.
        guid: String,
        /// The person.
        user: String,
    },
    /// A person did it.
    CompleteUserTask {
        /// The task.
        guid: String,
        /// What came of it.
        results: Option<String>,
    },
    /// The run stands still behind the node that it is at.
    Stop,
    /// It goes on.
    Resume,
}

/// Something that happens to a run, from wherever it comes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Happening {
    Command(Command),
    /// A worker takes an attempt of a task.
    StartTask(Attempt),
    /// The sleep at this position is over.
    Wake(i64),
    /// The engine cannot go on with the run, for this reason.
    Fail(String),
    /// The run goes, with everything that belongs to it, a bounded number of rows at a time.
    Delete,
}

/// An attempt of a task; the first is 0.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attempt {
    pub(crate) guid: String,
    pub(crate) attempt: i64,
    /// Given with a report, it is the worker that took the attempt.
    pub(crate) worker_id: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
}

/// An event from outside.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    pub(crate) event_name: String,
    #[serde(default = "ids::uuid")]
    pub(crate) guid: String,
    pub(crate) content: Option<String>,
    /// What the run waits for, if the event does not name the run.
    pub(crate) correlation_key: Option<String>,
}

/// A run to begin.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunWf {
    pub(crate) wf_spec_name: String,
    #[serde(default = "ids::uuid")]
    pub(crate) wf_run_id: String,
    #[serde(default)]
    pub(crate) variables: Texts,
}

impl Service {
    /// Lets a command happen to a run: what became of it.
    pub async fn command(&self, tenant: &str, run: &str, command: Command) -> Result<Value> {
        let target = Target::named(tenant, run);
        self.process(&target, &Happening::Command(command)).await
    }

    /// Deletes some rows of a run, and leaves the others to the timers.
    pub async fn delete(&self, tenant: &str, run: &str) -> Result<Value> {
        self.process(&Target::named(tenant, run), &Happening::Delete)
            .await
    }

    /// Begins a run of the newest version of a workflow. Everything up to its first wait is one commit.
    pub async fn run_wf(&self, tenant: &str, mut new: RunWf) -> Result<WfRun> {
        let (row, spec) = self.newest_spec(tenant, &new.wf_spec_name).await?;
        let run = NewWfRun {
            tenant: tenant.to_owned(),
            wf_run_id: new.wf_run_id,
            wf_spec_name: row.name,
            wf_spec_version: row.version,
            start_time: self.db.now(),
        };
        let mut step = Step::of(self, run.into(), spec);
        for (name, initial) in step.spec.variables.clone() {
            step.assign(&name, new.variables.remove(&name).or(initial));
        }
        if let Some(name) = new.variables.keys().next() {
            let reason = format!("workflow {} has no variable {name}", step.spec.name);
            return Err(Error::Invalid(reason));
        }
        step.begin().await?;
        let id = step.run.wf_run_id.clone();
        let begun = step.commit().await?;
        begun.ok_or_else(|| Error::Conflict(format!("there is a run {id} already")))
    }

    /// Brings an event to the run that waits for one with its key. If it came to a run before, it is that one.
    pub async fn put_correlated(&self, tenant: &str, event: Event) -> Result<Value> {
        let key = event.correlation_key.as_deref();
        let key = key.ok_or_else(|| Error::Invalid("correlationKey is missing".to_owned()))?;
        let (name, guid) = (event.event_name.as_str(), event.guid.as_str());
        let waiting = &tag([("correlationKey", key), ("waitsFor", name)])?;
        let waiting = self
            .db
            .node_runs_by_tag(NodeRunsByTagWhere { tenant, tag: waiting });
        let mut runs: Vec<String> = waiting
            .collect()
            .await?
            .into_iter()
            .map(|node| node.wf_run_id)
            .collect();
        // It is looked for after those that wait: another request may bring it to one of them now.
        let came = &tag([("correlationKey", key), ("eventName", name), ("guid", guid)])?;
        let came = self
            .db
            .external_events_by_tag(ExternalEventsByTagWhere { tenant, tag: came });
        if let Some(event) = came.first().await? {
            runs = vec![event.wf_run_id];
        }
        for run in runs {
            match self.command(tenant, &run, Command::PutEvent(event.clone())).await {
                // It went on, or is being deleted; another one may wait.
                Err(Error::NotFound(_) | Error::Conflict(_)) => continue,
                answered => return answered,
            }
        }
        Err(Error::NotFound("run that waits for this key"))
    }
}

impl Step<'_> {
    /// Lets it happen in memory and commits it. `None`: another step came first.
    pub(crate) async fn carry_out(mut self, what: &Happening) -> Result<Option<Value>> {
        let answer = match what {
            Happening::Command(Command::ReportTask(attempt)) => self.report_task(attempt).await?,
            Happening::Command(Command::PutEvent(event)) => self.put_event(event).await?,
            Happening::Command(Command::AssignUserTask { guid, user }) => {
                self.assign_user_task(guid, user).await?
            }
            Happening::Command(Command::CompleteUserTask { guid, results }) => {
                self.complete_user_task(guid, results).await?
            }
            Happening::Command(Command::Stop) => self.turn(WfRunStatus::Running, WfRunStatus::Halted).await?,
            Happening::Command(Command::Resume) => {
                self.turn(WfRunStatus::Halted, WfRunStatus::Running).await?
            }
            Happening::StartTask(attempt) => self.start_task(attempt).await?,
            Happening::Wake(position) => self.wake(*position).await?,
            Happening::Fail(reason) => self.give_up(reason)?,
            Happening::Delete => Value::Null,
        };
        let run = match self.is_idle {
            true => Some(self.run),
            false => self.commit().await?,
        };
        // What has no answer of its own is answered with the run.
        Ok(run.map(|run| if answer.is_null() { json!(run) } else { answer }))
    }

    /// The task of an attempt in this state.
    async fn task(&self, of: &Attempt, status: TaskRunStatus) -> Result<TaskRun> {
        let key = of_run!(self => TaskRunKey { task_guid: of.guid.clone() });
        let task = self.service.db.get(key).await?.ok_or(Error::NotFound("task"))?;
        if (task.attempt, task.status) != (of.attempt, status) {
            let reason = format!("attempt {} of task {} is {}", task.attempt, of.guid, task.status);
            return Err(Error::Conflict(reason));
        }
        Ok(task)
    }

    /// What the workflow says of a task.
    fn spec_of(&self, task: &TaskRun) -> Result<&Task> {
        match self.spec_at(task.position).map(|node| &node.run) {
            Some(Action::Task(task)) => Ok(task),
            _ => Err(Error::NotFound("task of the workflow")),
        }
    }

    async fn start_task(&mut self, attempt: &Attempt) -> Result<Value> {
        let mut task = self.task(attempt, TaskRunStatus::Scheduled).await?;
        let timeout = Duration::from_secs(self.spec_of(&task)?.timeout_seconds);
        let mut report = attempt.clone();
        report.error = Some("no worker reported in time".to_owned());
        self.later(Happening::Command(Command::ReportTask(report)), timeout)?;
        task.status = TaskRunStatus::Running;
        task.worker_id = attempt.worker_id.clone();
        task.started_at = Some(self.now());
        Ok(self.put(task))
    }

    async fn report_task(&mut self, attempt: &Attempt) -> Result<Value> {
        let mut task = self.task(attempt, TaskRunStatus::Running).await?;
        if attempt.worker_id.is_some() && attempt.worker_id != task.worker_id {
            return Err(Error::Conflict(format!(
                "another worker has task {}",
                attempt.guid
            )));
        }
        let node = self.running_node(task.position).await?;
        let retries = self.spec_of(&task)?.retries;
        task.ended_at = Some(self.now());
        task.output = attempt.output.clone();
        task.error = attempt.error.clone();
        match &attempt.error {
            None => {
                task.status = TaskRunStatus::Success;
                self.complete(node, attempt.output.clone()).await?;
            }
            Some(_) if task.attempt < retries => {
                // A second after the first failure, twice as long after each further one.
                let wait = Duration::from_secs(1 << task.attempt.clamp(0, 6));
                task.status = TaskRunStatus::Scheduled;
                task.attempt += 1;
                self.call_worker(&task, wait)?;
            }
            Some(reason) => {
                task.status = TaskRunStatus::Failed;
                self.fail(node, reason)?;
            }
        }
        Ok(self.put(task))
    }

    async fn wake(&mut self, position: i64) -> Result<Value> {
        let node = self.running_node(position).await?;
        self.complete(node, None).await?;
        Ok(Value::Null)
    }

    /// Ends a run that is not over.
    fn give_up(&mut self, reason: &str) -> Result<Value> {
        self.is_idle = self.run.end_time.is_some();
        if !self.is_idle {
            self.run.error = Some(reason.to_owned());
            self.end(WfRunStatus::Error)?;
        }
        Ok(Value::Null)
    }

    /// Stops or resumes. A run that is resumed goes on if its node was done meanwhile.
    async fn turn(&mut self, from: WfRunStatus, to: WfRunStatus) -> Result<Value> {
        match self.run.status {
            status if status == to => self.is_idle = true,
            status if status == from => self.run.status = to,
            status => return Err(Error::Conflict(format!("the run is {status} already"))),
        }
        let node = self.node(self.run.position).await?;
        if !self.is_idle && to == WfRunStatus::Running && node.status == NodeRunStatus::Completed {
            self.go_on().await?;
        }
        Ok(Value::Null)
    }

    /// A task for a person that is not done.
    async fn user_task(&self, guid: &str) -> Result<UserTaskRun> {
        let key = of_run!(self => UserTaskRunKey { user_task_guid: guid.to_owned() });
        let task = self.service.db.get(key).await?;
        match task.ok_or(Error::NotFound("user task"))? {
            task if task.status == UserTaskRunStatus::Done => {
                Err(Error::Conflict(format!("user task {guid} is done already")))
            }
            task => Ok(task),
        }
    }

    async fn assign_user_task(&mut self, guid: &str, user: &str) -> Result<Value> {
        let mut task = self.user_task(guid).await?;
        task.status = UserTaskRunStatus::Assigned;
        task.user_id = Some(user.to_owned());
        Ok(self.put(task))
    }

    async fn complete_user_task(&mut self, guid: &str, results: &Option<String>) -> Result<Value> {
        let mut task = self.user_task(guid).await?;
        let node = self.running_node(task.position).await?;
        task.status = UserTaskRunStatus::Done;
        task.ended_at = Some(self.now());
        task.results = results.clone();
        self.complete(node, results.clone()).await?;
        Ok(self.put(task))
    }

    async fn put_event(&mut self, event: &Event) -> Result<Value> {
        let answer = json!({ "wfRunId": self.run.wf_run_id, "guid": event.guid });
        let new = of_run!(self => NewExternalEvent {
            event_name: event.event_name.clone(),
            guid: event.guid.clone(),
            created_at: self.now(),
        });
        if self.service.db.get(new.key()).await?.is_some() {
            self.is_idle = true;
            return Ok(answer);
        }
        let node = self.node(self.run.position).await?;
        let is_waited_for =
            node.status == NodeRunStatus::Running && node.waits_for.as_ref() == Some(&event.event_name);
        let is_for_node = is_waited_for && event.correlation_key == node.correlation_key;
        if event.correlation_key.is_some() && !is_for_node {
            return Err(Error::Conflict(
                "the run does not wait for this event any more".to_owned(),
            ));
        }
        let id = format!("{}/{}", event.event_name, event.guid);
        self.inventory().await?.external_events.insert(id);
        let row = ExternalEvent {
            content: event.content.clone(),
            correlation_key: event.correlation_key.clone(),
            ..new.into()
        };
        if is_waited_for {
            self.claim(node, row);
            self.go_on().await?;
        } else {
            self.put(row);
        }
        Ok(answer)
    }
}
