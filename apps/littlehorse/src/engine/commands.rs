//! The commands of a run. Messages can be late or repeated: a command that finds the run in another state
//! changes nothing.

use trestle::ids;

use super::*;

/// How long a worker may take, by default.
const TIMEOUT_SECONDS: u64 = 60;

/// A command for a run. `guid` is a task or an event.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Command {
    /// A worker reports its result, or its time is over. After an error it is tried again, if there are
    /// retries left.
    ReportTask(Attempt),
    /// The same event again changes nothing.
    PutEvent(Event),
    /// A task is assigned to a person.
    AssignUserTask { guid: String, user: String },
    /// A person has done a task.
    CompleteUserTask { guid: String, results: Option<String> },
    /// The run stops after its current node.
    Stop,
    /// It is resumed.
    Resume,
    /// A worker takes an attempt of a task. This command and those below are only for the engine.
    StartTask(Attempt),
    /// The sleep at this position is over.
    Wake(i64),
    /// The engine cannot continue the run.
    Fail(String),
    /// Deletes the run with everything that belongs to it, a bounded number of rows at a time.
    Delete,
}

/// An attempt of a task; the first is 0. In a report, `worker_id` may name the worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Attempt {
    pub(crate) guid: String,
    pub(crate) attempt: i64,
    pub(crate) worker_id: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
}

/// An event from outside. If it does not name a run, it has the key that a run waits for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    pub(crate) event_name: String,
    #[serde(default = "ids::uuid")]
    pub(crate) guid: String,
    pub(crate) content: Option<String>,
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
    /// Applies a command to a run, and returns the result.
    pub async fn command(&self, tenant: &str, run: &str, command: Command) -> Result<Value> {
        self.process(&Due::of(tenant, run, command)).await
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
            return Err(Error::Invalid(format!("the workflow has no variable {name}")));
        }
        let entry = step.arrive("entrypoint", NodeRunType::Entrypoint);
        step.close(entry, None);
        step.go_on().await?;
        let exists = format!("there is a run {} already", step.run.wf_run_id);
        step.commit().await?.ok_or(Error::Conflict(exists))
    }

    /// Brings an event to the run that waits for one with its key. If a run got it before, that run is
    /// returned.
    pub async fn put_correlated(&self, tenant: &str, event: Event) -> Result<Value> {
        let missing = || Error::invalid("correlationKey is missing");
        let key = event.correlation_key.as_ref().ok_or_else(missing)?;
        let key = ("correlationKey", key);
        let name = &event.event_name;
        let waits = tag([key, ("waitsFor", name)])?;
        let came = tag([key, ("eventName", name), ("guid", &event.guid)])?;
        let waiting = NodeRunsByTagWhere { tenant, tag: &waits };
        let waiting = self.db.node_runs_by_tag(waiting).collect().await?;
        // After waiting runs: another request may be delivering the event to one of them just now.
        let taken = ExternalEventsByTagWhere { tenant, tag: &came };
        let runs = match self.db.external_events_by_tag(taken).first().await? {
            Some(event) => vec![event.wf_run_id],
            None => waiting.into_iter().map(|node| node.wf_run_id).collect(),
        };
        for run in runs {
            let put = Command::PutEvent(event.clone());
            // Otherwise the run advanced, or is being deleted; another one may wait.
            if self.attempt(&Due::of(tenant, &run, put)).await?.is_some() {
                return Ok(json!({ "wfRunId": run, "guid": event.guid }));
            }
        }
        Err(Error::not_found("such run that waits for this key"))
    }
}

impl Step<'_> {
    /// Applies a command in memory, and commits the changes. `None` if another step was first.
    pub(crate) async fn carry_out(mut self, command: &Command) -> Result<Option<Value>> {
        // `None` means that there is nothing left to do.
        let answer = match command {
            Command::ReportTask(attempt) => self.report_task(attempt).await?,
            Command::PutEvent(event) => self.put_event(event).await?,
            Command::AssignUserTask { guid, user } => {
                let mut task = self.user_task(guid).await?;
                task.status = UserTaskRunStatus::Assigned;
                task.user_id = Some(user.clone());
                Some(self.put(task))
            }
            Command::CompleteUserTask { guid, results } => self.complete_user_task(guid, results).await?,
            Command::Stop => self.turn(WfRunStatus::Running, WfRunStatus::Halted).await?,
            Command::Resume => self.turn(WfRunStatus::Halted, WfRunStatus::Running).await?,
            Command::StartTask(attempt) => self.start_task(attempt).await?,
            Command::Wake(position) => {
                let node = self.running_node(*position).await?;
                self.close(node, None);
                self.go_on().await?;
                Some(Value::Null)
            }
            Command::Fail(reason) if self.run.end_time.is_none() => {
                self.run.error = Some(reason.clone());
                self.end(WfRunStatus::Error)?;
                Some(Value::Null)
            }
            Command::Fail(_) | Command::Delete => None,
        };
        let Some(answer) = answer else {
            return Ok(Some(json!(self.run)));
        };
        // A command without a result of its own is answered with the run.
        let run = self.commit().await?;
        Ok(run.map(|run| if answer.is_null() { json!(run) } else { answer }))
    }

    /// The task of an attempt in this state, with its definition in the workflow.
    async fn task(&self, of: &Attempt, status: TaskRunStatus) -> Result<(TaskRun, Task)> {
        let key = of_run!(self => TaskRunKey { task_guid: of.guid.clone() });
        let task = self
            .service
            .db
            .get(key)
            .await?
            .ok_or_else(|| Error::not_found("such task"))?;
        if (task.attempt, task.status) != (of.attempt, status) {
            let reason = format!("attempt {} of task {} is {}", task.attempt, of.guid, task.status);
            return Err(Error::Conflict(reason));
        }
        match self.spec_at(task.position).map(|node| &node.run) {
            Some(Action::Task(spec)) => Ok((task, spec.clone())),
            _ => Err(Error::not_found("such task of the workflow")),
        }
    }

    async fn start_task(&mut self, attempt: &Attempt) -> Result<Option<Value>> {
        let (mut task, spec) = self.task(attempt, TaskRunStatus::Scheduled).await?;
        let mut report = attempt.clone();
        report.error = Some("no worker reported in time".to_owned());
        let seconds = spec.timeout_seconds.unwrap_or(TIMEOUT_SECONDS);
        self.leave(TIMERS, Command::ReportTask(report), seconds)?;
        task.status = TaskRunStatus::Running;
        task.worker_id = attempt.worker_id.clone();
        task.started_at = Some(self.now());
        Ok(Some(self.put(task)))
    }

    async fn report_task(&mut self, attempt: &Attempt) -> Result<Option<Value>> {
        let (mut task, spec) = self.task(attempt, TaskRunStatus::Running).await?;
        if attempt.worker_id.is_some() && attempt.worker_id != task.worker_id {
            return Err(Error::Conflict("another worker has the task".to_owned()));
        }
        let node = self.running_node(task.position).await?;
        task.ended_at = Some(self.now());
        task.output = attempt.output.clone();
        task.error = attempt.error.clone();
        match &attempt.error {
            None => {
                task.status = TaskRunStatus::Success;
                self.close(node, attempt.output.clone());
                self.go_on().await?;
            }
            Some(_) if task.attempt < spec.retries => {
                // A second after the first failure, twice as long after each further one.
                let seconds = 1 << task.attempt.clamp(0, 6);
                task.status = TaskRunStatus::Scheduled;
                task.attempt += 1;
                self.call_worker(&task, seconds)?;
            }
            Some(reason) => {
                task.status = TaskRunStatus::Failed;
                self.fail(node, reason)?;
            }
        }
        Ok(Some(self.put(task)))
    }

    /// Stops or resumes. A resumed run advances if its node was done meanwhile.
    async fn turn(&mut self, from: WfRunStatus, to: WfRunStatus) -> Result<Option<Value>> {
        match self.run.status {
            status if status == to => return Ok(None),
            status if status == from => self.run.status = to,
            status => return Err(Error::Conflict(format!("the run is {status} already"))),
        }
        let node = self.node(self.run.position).await?;
        if node.status == NodeRunStatus::Completed {
            self.go_on().await?;
        }
        Ok(Some(Value::Null))
    }

    /// An unfinished task for a person.
    async fn user_task(&self, guid: &str) -> Result<UserTaskRun> {
        let key = of_run!(self => UserTaskRunKey { user_task_guid: guid.to_owned() });
        let task = self.service.db.get(key).await?;
        match task.ok_or_else(|| Error::not_found("such user task"))? {
            task if task.ended_at.is_none() => Ok(task),
            _ => Err(Error::Conflict("the user task is done already".to_owned())),
        }
    }

    async fn complete_user_task(&mut self, guid: &str, results: &Option<String>) -> Result<Option<Value>> {
        let mut task = self.user_task(guid).await?;
        let node = self.running_node(task.position).await?;
        task.status = UserTaskRunStatus::Done;
        task.ended_at = Some(self.now());
        task.results = results.clone();
        self.close(node, results.clone());
        self.go_on().await?;
        Ok(Some(self.put(task)))
    }

    async fn put_event(&mut self, event: &Event) -> Result<Option<Value>> {
        let (event_name, guid, created_at) = (event.event_name.clone(), event.guid.clone(), self.now());
        let id = format!("{event_name}/{guid}");
        let new = of_run!(self => NewExternalEvent { event_name, guid, created_at });
        if self.service.db.get(new.key()).await?.is_some() {
            return Ok(None);
        }
        let node = self.node(self.run.position).await?;
        let is_waited_for = node.waits_for.as_ref() == Some(&event.event_name);
        let has_key = is_waited_for && event.correlation_key == node.correlation_key;
        if event.correlation_key.is_some() && !has_key {
            return Err(Error::Conflict("the run does not wait for this event".to_owned()));
        }
        self.inventory().await?.external_events.insert(id);
        let mut row = ExternalEvent::from(new);
        row.content = event.content.clone();
        row.correlation_key = event.correlation_key.clone();
        if is_waited_for {
            self.claim(node, row);
            self.go_on().await?;
        } else {
            self.put(row);
        }
        Ok(Some(Value::Null))
    }
}
