//! What can happen to a run: requests bring commands, and queues keep them for later. Messages come late, and come again; a
//! command that finds the run elsewhere changes nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use trestle::ids;

use super::spec::Action;
use super::step::{Step, of_run};
use super::{Error, Result, Service};
use crate::model::*;

/// How long a worker may take, unless the node says.
const TIMEOUT_SECONDS: u64 = 60;

/// Something that happens to a run. `guid` is a task or an event; the same event again changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub(crate) enum Command {
    /// A worker takes an attempt of a task; the first is 0.
    #[rustfmt::skip]
    StartTask { guid: String, attempt: i64, worker_id: String },
    /// A worker says what became of it, or its time is over. With an error it is tried again, if there are retries left.
    #[rustfmt::skip]
    ReportTask { guid: String, attempt: i64, output: Option<String>, error: Option<String> },
    /// The sleep at this position is over.
    Wake(i64),
    PutEvent(Event),
    AssignUserTask {
        guid: String,
        user: String,
    },
    #[rustfmt::skip]
    CompleteUserTask { guid: String, results: Option<String> },
    /// The run stands still behind the node that it is at.
    Stop,
    Resume,
    /// The run goes, with everything that belongs to it, a bounded number of rows at a time.
    Delete,
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
        mut variables: BTreeMap<String, String>,
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
            return Err(Error::Invalid(format!(
                "workflow {workflow} has no variable {name}"
            )));
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
        let (waits_for, key) = (
            &event.event_name,
            event.correlation_key.as_deref().unwrap_or_default(),
        );
        let tag = &format!("__correlationKey_{key}__waitsFor_{waits_for}");
        let waiting = self
            .db
            .node_runs_by_tag(NodeRunsByTagWhere { tenant, tag })
            .first()
            .await?;
        let run = waiting.map(|node| node.wf_run_id);
        let run = run.ok_or(Error::NotFound("run that waits for this key"))?;
        self.process(tenant, &run, &Command::PutEvent(event)).await
    }
}

impl Step<'_> {
    /// Changes the run in memory. `None`: there is nothing to do any more.
    pub(crate) async fn carry_out(&mut self, command: &Command) -> Result<Option<Value>> {
        match command {
            Command::StartTask {
                guid,
                attempt,
                worker_id,
            } => self.start_task(guid, *attempt, worker_id).await,
            Command::ReportTask {
                guid,
                attempt,
                output,
                error,
            } => self.report_task((guid, *attempt), output, error.as_deref()).await,
            Command::Wake(position) => self.wake(*position).await,
            Command::PutEvent(event) => self.put_event(event).await,
            Command::AssignUserTask { guid, user } => self.assign_user_task(guid, user).await,
            Command::CompleteUserTask { guid, results } => self.complete_user_task(guid, results).await,
            Command::Stop => self.turn(WfRunStatus::Running, WfRunStatus::Halted).await,
            Command::Resume => self.turn(WfRunStatus::Halted, WfRunStatus::Running).await,
            Command::Delete => Ok(None),
        }
    }

    /// An attempt of a task in this state, the node that it is for, the retries and how long a worker may take.
    async fn task(
        &self,
        guid: &str,
        wanted: (i64, TaskRunStatus),
    ) -> Result<(TaskRun, NodeRun, i64, Duration)> {
        let key = of_run!(self => TaskRunKey { task_guid: guid.to_owned() });
        let task = self.service.db.get(key).await?.ok_or(Error::NotFound("task"))?;
        if (task.attempt, task.status) != wanted {
            let reason = format!("attempt {} of task {guid} is {}", task.attempt, task.status);
            return Err(Error::Conflict(reason));
        }
        let node = self.node(task.position).await?;
        let (retries, seconds) = match self.spec.node(&node.node_name).map(|node| &node.run) {
            Some(Action::Task(task)) => (task.retries, task.timeout_seconds),
            _ => (0, None),
        };
        let timeout = Duration::from_secs(seconds.unwrap_or(TIMEOUT_SECONDS));
        Ok((task, node, retries, timeout))
    }

    async fn start_task(&mut self, guid: &str, attempt: i64, worker: &str) -> Result<Option<Value>> {
        let wanted = (attempt, TaskRunStatus::Scheduled);
        let (mut task, _, _, timeout) = self.task(guid, wanted).await?;
        task.status = TaskRunStatus::Running;
        (task.worker_id, task.started_at) = (Some(worker.to_owned()), Some(self.now()));
        let error = Some("no worker reported in time".to_owned());
        let late = Command::ReportTask {
            guid: guid.to_owned(),
            attempt,
            output: None,
            error,
        };
        self.later(late, timeout)?;
        let answer = json!(task);
        self.put(task);
        Ok(Some(answer))
    }

    async fn report_task(
        &mut self,
        (guid, attempt): (&str, i64),
        output: &Option<String>,
        error: Option<&str>,
    ) -> Result<Option<Value>> {
        let wanted = (attempt, TaskRunStatus::Running);
        let (mut task, node, retries, _) = self.task(guid, wanted).await?;
        (task.ended_at, task.output) = (Some(self.now()), output.clone());
        task.error = error.map(str::to_owned);
        match error {
            None => {
                task.status = TaskRunStatus::Success;
                self.complete(node, output.clone()).await?;
            }
            Some(_) if attempt < retries => {
                (task.status, task.attempt) = (TaskRunStatus::Scheduled, attempt + 1);
                // A second after the first failure, twice as long after each further one.
                self.call_worker(&task, Duration::from_secs(1 << attempt.clamp(0, 6)))?;
            }
            Some(reason) => {
                task.status = TaskRunStatus::Failed;
                self.fail(node, reason)?;
            }
        }
        let answer = json!(task);
        self.put(task);
        Ok(Some(answer))
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

    async fn user_task(&self, guid: &str) -> Result<UserTaskRun> {
        let key = of_run!(self => UserTaskRunKey { user_task_guid: guid.to_owned() });
        match self
            .service
            .db
            .get(key)
            .await?
            .ok_or(Error::NotFound("user task"))?
        {
            task if task.status == UserTaskRunStatus::Done => {
                Err(Error::Conflict(format!("user task {guid} is done already")))
            }
            task => Ok(task),
        }
    }

    async fn assign_user_task(&mut self, guid: &str, user: &str) -> Result<Option<Value>> {
        let mut task = self.user_task(guid).await?;
        (task.status, task.user_id) = (UserTaskRunStatus::Assigned, Some(user.to_owned()));
        let answer = json!(task);
        self.put(task);
        Ok(Some(answer))
    }

    async fn complete_user_task(&mut self, guid: &str, results: &Option<String>) -> Result<Option<Value>> {
        let mut task = self.user_task(guid).await?;
        (task.status, task.ended_at) = (UserTaskRunStatus::Done, Some(self.now()));
        task.results.clone_from(results);
        let (answer, node) = (json!(task), self.node(task.position).await?);
        self.put(task);
        self.complete(node, results.clone()).await?;
        Ok(Some(answer))
    }

    /// The oldest event of this name that no node has taken, and none in this step.
    pub(crate) async fn unclaimed(&mut self, event_name: &str) -> Result<Option<ExternalEvent>> {
        let (tenant, wf_run_id) = (self.run.tenant.as_str(), self.run.wf_run_id.as_str());
        let named = ExternalEventsNamedWhere {
            tenant,
            wf_run_id,
            event_name,
        };
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
            return Err(Error::Conflict(
                "the run does not wait for this event any more".to_owned(),
            ));
        }
        let mut row = ExternalEvent {
            content: event.content.clone(),
            ..new.into()
        };
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
