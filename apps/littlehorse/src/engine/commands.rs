//! What can happen to a run: requests bring commands, and queues keep them for later. Messages come late, and come again; a
//! command that finds the run elsewhere changes nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trestle::ids;

use super::spec::Action;
use super::step::{Step, of_run};
use super::tags::Getable;
use super::{Error, Result, Service, Texts};
use crate::model::*;

/// How long a worker may take, unless the node says.
const TIMEOUT_SECONDS: u64 = 60;

/// Something that happens to a run. `guid` is a task or an event; the same event again changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub(crate) enum Command {
    /// A worker takes an attempt of a task.
    StartTask(Attempt),
    /// A worker says what became of it, or its time is over. With an error it is tried again, if there are retries left.
    ReportTask(Attempt),
    /// The sleep at this position is over.
    Wake(i64),
    PutEvent(Event),
    AssignUserTask {
        guid: String,
        user: String,
    },
    CompleteUserTask {
        guid: String,
        results: Option<String>,
    },
    /// The run stands still behind the node that it is at.
    Stop,
    Resume,
    /// The run goes, with everything that belongs to it, a bounded number of rows at a time.
    Delete,
}

/// An attempt of a task; the first is 0.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Attempt {
    pub(crate) guid: String,
    pub(crate) attempt: i64,
    pub(crate) worker_id: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
}

/// An event from outside.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Event {
    pub(crate) event_name: String,
    #[serde(default = "ids::uuid")]
    pub(crate) guid: String,
    pub(crate) content: Option<String>,
    /// What the run waits for, if the event does not name the run.
    pub(crate) correlation_key: Option<String>,
}

impl Service {
    /// Lets a command, as JSON, happen to a run: what became of it.
    pub async fn command(&self, tenant: &str, run: &str, command: Value) -> Result<Value> {
        self.process(tenant, run, &serde_json::from_value(command)?).await
    }

    /// Begins a run of the newest version of a workflow. Everything up to its first wait is one commit.
    pub async fn run_wf(
        &self,
        tenant: &str,
        workflow: &str,
        id: Option<String>,
        mut variables: Texts,
    ) -> Result<WfRun> {
        let (row, spec) = self.newest_spec(tenant, workflow).await?;
        let run = NewWfRun {
            tenant: tenant.to_owned(),
            wf_run_id: id.unwrap_or_else(ids::uuid),
            wf_spec_name: row.name,
            wf_spec_version: row.version,
            start_time: self.now(),
        };
        let (run, id) = (WfRun::from(run.clone()), run.wf_run_id);
        let mut step = Step::of(self, run, spec, true);
        for (name, initial) in step.spec.variables.clone() {
            step.assign(&name, variables.remove(&name).or(initial));
        }
        if let Some(name) = variables.keys().next() {
            return Err(Error::Invalid(format!("workflow {workflow} has no variable {name}")));
        }
        step.begin().await?;
        match step.commit().await? {
            true => self.wf_run(tenant, &id).await,
            false => Err(Error::Conflict(format!("there is a run {id} already"))),
        }
    }

    /// Brings an event, as JSON, to the run that waits for one with its key.
    pub async fn put_correlated(&self, tenant: &str, event: Value) -> Result<Value> {
        let event: Event = serde_json::from_value(event)?;
        let (waits_for, key) = (&event.event_name, event.correlation_key.as_deref().unwrap_or_default());
        let tag = &format!("__correlationKey_{key}__waitsFor_{waits_for}");
        let waiting = self.db.node_runs_by_tag(NodeRunsByTagWhere { tenant, tag }).first().await?;
        let run = waiting.map(|node| node.wf_run_id);
        let run = run.ok_or(Error::NotFound("run that waits for this key"))?;
        self.process(tenant, &run, &Command::PutEvent(event)).await
    }
}

impl Step<'_> {
    /// Changes the run in memory. `None`: there is nothing to do any more.
    pub(crate) async fn carry_out(&mut self, command: &Command) -> Result<Option<Value>> {
        match command {
            Command::StartTask(attempt) => self.start_task(attempt).await,
            Command::ReportTask(attempt) => self.report_task(attempt).await,
            Command::Wake(position) => self.wake(*position).await,
            Command::PutEvent(event) => self.put_event(event).await,
            Command::AssignUserTask { guid, user } => self.user_task(guid, Some(user), None).await,
            Command::CompleteUserTask { guid, results } => {
                self.user_task(guid, None, results.as_deref()).await
            }
            Command::Stop => self.turn(WfRunStatus::Running, WfRunStatus::Halted).await,
            Command::Resume => self.turn(WfRunStatus::Halted, WfRunStatus::Running).await,
            Command::Delete => Ok(None),
        }
    }

    /// Writes a row, and answers with it.
    fn reply<G: Getable + Serialize>(&mut self, mut row: G) -> Result<Option<Value>> {
        row.retag();
        let answer = json!(row);
        self.put(row);
        Ok(Some(answer))
    }

    /// The task of an attempt in this state, the node that it is for, the retries and how long a worker may take.
    async fn task(&self, of: &Attempt, status: TaskRunStatus) -> Result<(TaskRun, NodeRun, i64, Duration)> {
        let key = of_run!(self => TaskRunKey { task_guid: of.guid.clone() });
        let task = self.service.db.get(key).await?.ok_or(Error::NotFound("task"))?;
        if (task.attempt, task.status) != (of.attempt, status) {
            let reason = format!("attempt {} of task {} is {}", task.attempt, of.guid, task.status);
            return Err(Error::Conflict(reason));
        }
        let node = self.node(task.position).await?;
        let (retries, seconds) = match self.spec.node(&node.node_name).map(|node| &node.run) {
            Some(Action::Task(task)) => (task.retries, task.timeout_seconds),
            _ => (0, None),
        };
        Ok((task, node, retries, Duration::from_secs(seconds.unwrap_or(TIMEOUT_SECONDS))))
    }

    async fn start_task(&mut self, attempt: &Attempt) -> Result<Option<Value>> {
        let (mut task, _, _, timeout) = self.task(attempt, TaskRunStatus::Scheduled).await?;
        task.status = TaskRunStatus::Running;
        (task.worker_id, task.started_at) = (attempt.worker_id.clone(), Some(self.now()));
        let error = Some("no worker reported in time".to_owned());
        self.later(Command::ReportTask(Attempt { error, ..attempt.clone() }), timeout)?;
        self.reply(task)
    }

    async fn report_task(&mut self, attempt: &Attempt) -> Result<Option<Value>> {
        let (mut task, node, retries, _) = self.task(attempt, TaskRunStatus::Running).await?;
        task.ended_at = Some(self.now());
        (task.output, task.error) = (attempt.output.clone(), attempt.error.clone());
        match &attempt.error {
            None => {
                task.status = TaskRunStatus::Success;
                self.complete(node, attempt.output.clone()).await?;
            }
            Some(_) if task.attempt < retries => {
                // A second after the first failure, twice as long after each further one.
                let wait = Duration::from_secs(1 << task.attempt.clamp(0, 6));
                (task.status, task.attempt) = (TaskRunStatus::Scheduled, task.attempt + 1);
                self.call_worker(&task, wait)?;
            }
            Some(reason) => {
                task.status = TaskRunStatus::Failed;
                self.fail(node, reason)?;
            }
        }
        self.reply(task)
    }

    async fn wake(&mut self, position: i64) -> Result<Option<Value>> {
        let node = self.node(position).await?;
        if node.status != NodeRunStatus::Running {
            return Ok(None);
        }
        self.complete(node, None).await?;
        Ok(Some(Value::Null))
    }

    /// Stops or resumes. A run that is resumed goes on if its node was done meanwhile.
    async fn turn(&mut self, from: WfRunStatus, to: WfRunStatus) -> Result<Option<Value>> {
        match self.run.status {
            status if status == to => return Ok(None),
            status if status == from => self.run.status = to,
            status => return Err(Error::Conflict(format!("the run is {status} already"))),
        }
        let node = self.node(self.run.position).await?;
        if to == WfRunStatus::Running && node.status == NodeRunStatus::Completed {
            self.go_on_behind(&node.node_name).await?;
        }
        Ok(Some(json!(self.run)))
    }

    /// Gives a task to a person, or notes what they did.
    async fn user_task(
        &mut self,
        guid: &str,
        user: Option<&str>,
        results: Option<&str>,
    ) -> Result<Option<Value>> {
        let key = of_run!(self => UserTaskRunKey { user_task_guid: guid.to_owned() });
        let task = self.service.db.get(key).await?;
        let mut task = task.ok_or(Error::NotFound("user task"))?;
        if task.status == UserTaskRunStatus::Done {
            return Err(Error::Conflict(format!("user task {guid} is done already")));
        }
        match user {
            Some(_) => (task.status, task.user_id) = (UserTaskRunStatus::Assigned, user.map(str::to_owned)),
            None => {
                (task.status, task.ended_at) = (UserTaskRunStatus::Done, Some(self.now()));
                task.results = results.map(str::to_owned);
                let node = self.node(task.position).await?;
                self.complete(node, task.results.clone()).await?;
            }
        }
        self.reply(task)
    }

    /// The oldest event of this name that no node has taken, and none in this step.
    pub(crate) async fn unclaimed(&mut self, event_name: &str) -> Result<Option<ExternalEvent>> {
        let (tenant, wf_run_id) = (self.run.tenant.as_str(), self.run.wf_run_id.as_str());
        let named = ExternalEventsNamedWhere { tenant, wf_run_id, event_name };
        let mut events = self.service.db.external_events_named(named).collect().await?;
        events.retain(|event| event.claimed_by.is_none() && !self.taken.contains(&event.guid));
        let oldest = events.into_iter().min_by_key(|event| event.created_at.moment());
        self.taken.extend(oldest.iter().map(|event| event.guid.clone()));
        Ok(oldest)
    }

    async fn put_event(&mut self, event: &Event) -> Result<Option<Value>> {
        let (event_name, guid, created_at) = (event.event_name.clone(), event.guid.clone(), self.now());
        let id = format!("{event_name}/{guid}");
        let answer = json!({ "wfRunId": self.run.wf_run_id, "guid": guid });
        let mut node = self.node(self.run.position).await?;
        let is_waited_for =
            node.status == NodeRunStatus::Running && node.waits_for.as_ref() == Some(&event_name);
        let new = of_run!(self => NewExternalEvent { event_name, guid, created_at });
        if self.service.db.get(new.key()).await?.is_some() {
            return Ok(None);
        }
        if event.correlation_key.is_some()
            && !(is_waited_for && event.correlation_key == node.correlation_key)
        {
            return Err(Error::Conflict("the run does not wait for this event any more".to_owned()));
        }
        let mut row = ExternalEvent { content: event.content.clone(), ..new.into() };
        self.inventory().await?.external_events.insert(id.clone());
        row.claimed_by = is_waited_for.then_some(node.position);
        self.put(row);
        if is_waited_for {
            node.subject = Some(id);
            self.complete(node, event.content.clone()).await?;
        }
        Ok(Some(answer))
    }
}
