//! How a run advances from node to node, until it has to wait or ends.

use super::*;

/// The most bytes of a correlation key: it is a part of tags.
const KEY_BYTES_MAX: usize = 256;

impl Step<'_> {
    /// Enters one node after another, until the run waits or ends. A stopped run stays where it is.
    pub(crate) async fn go_on(&mut self) -> Result<()> {
        while self.run.status == WfRunStatus::Running {
            let Some(node) = self.spec_at(self.run.position + 1).cloned() else {
                let exit = self.arrive("exit", NodeRunType::Exit);
                self.close(exit, None);
                return self.end(WfRunStatus::Completed);
            };
            if !self.enter(&node).await? {
                break;
            }
        }
        Ok(())
    }

    /// The run has ended. If it is kept only for a while, it is deleted later.
    pub(crate) fn end(&mut self, status: WfRunStatus) -> Result<()> {
        self.run.status = status;
        self.run.end_time = Some(self.now());
        let kept = self.spec.retention_seconds;
        kept.map_or(Ok(()), |seconds| self.leave(TIMERS, Command::Delete, seconds))
    }

    /// A node, and with it the run, has failed.
    pub(crate) fn fail(&mut self, mut node: NodeRun, reason: &str) -> Result<()> {
        node.status = NodeRunStatus::Error;
        node.error = Some(reason.to_owned());
        node.end_time = Some(self.now());
        self.run.error = Some(format!("node {}: {reason}", node.node_name));
        self.put(node);
        self.end(WfRunStatus::Error)
    }

    /// The row of the node that the run enters.
    pub(crate) fn arrive(&mut self, name: &str, r#type: NodeRunType) -> NodeRun {
        self.run.position += 1;
        let (thread_run_number, position) = (THREAD, self.run.position);
        let (node_name, arrival_time) = (name.to_owned(), self.now());
        of_run!(self => NewNodeRun { thread_run_number, position, node_name, r#type, arrival_time }).into()
    }

    /// A node is done; a variable takes its result.
    pub(crate) fn close(&mut self, mut node: NodeRun, output: Option<String>) {
        let target = self.spec_at(node.position).and_then(|node| node.output.clone());
        if let (Some(name), Some(_)) = (target, &output) {
            self.assign(&name, output);
        }
        node.status = NodeRunStatus::Completed;
        node.end_time = Some(self.now());
        node.waits_for = None;
        self.put(node);
    }

    /// A node takes an event and is done.
    pub(crate) fn claim(&mut self, mut node: NodeRun, mut event: ExternalEvent) {
        event.claimed_by = Some(node.position);
        event.is_claimed = true;
        node.subject = Some(format!("{}/{}", event.event_name, event.guid));
        self.close(node, event.content.clone());
        self.put(event);
    }

    /// Enters a node; returns whether it is done immediately.
    async fn enter(&mut self, node: &Node) -> Result<bool> {
        let mut row = self.arrive(&node.name, NodeRunType::Task);
        match &node.run {
            Action::Task(task) => row.subject = Some(self.schedule(task)?),
            Action::UserTask { form, user } => {
                row.r#type = NodeRunType::UserTask;
                row.subject = Some(self.offer(form, user.clone()));
            }
            Action::Sleep(seconds) => {
                row.r#type = NodeRunType::Sleep;
                self.leave(TIMERS, Command::Wake(row.position), *seconds)?;
            }
            Action::ThrowEvent { event, content } => {
                row.r#type = NodeRunType::ThrowEvent;
                row.subject = Some(self.throw(event, content).await?);
                self.close(row, None);
                return Ok(true);
            }
            Action::ExternalEvent { event, correlate } => {
                row.r#type = NodeRunType::ExternalEvent;
                row.correlation_key = correlate.as_ref().and_then(|name| self.variable(name));
                if row.correlation_key.as_deref().unwrap_or_default().len() > KEY_BYTES_MAX {
                    self.fail(row, "its correlation key is too long to be searched for")?;
                    return Ok(false);
                }
                if let Some(event) = self.unclaimed(event).await? {
                    self.claim(row, event);
                    return Ok(true);
                }
                row.waits_for = Some(event.clone());
            }
        }
        self.put(row);
        Ok(false)
    }

    /// A node that is not done.
    pub(crate) async fn running_node(&self, position: i64) -> Result<NodeRun> {
        let node = self.node(position).await?;
        match node.status {
            NodeRunStatus::Running => Ok(node),
            status => Err(Error::Conflict(format!("the node is {status} already"))),
        }
    }

    /// The oldest event of this name that no node has taken, and none in this step.
    async fn unclaimed(&mut self, event_name: &str) -> Result<Option<ExternalEvent>> {
        let (tenant, wf_run_id) = (self.run.tenant.as_str(), self.run.wf_run_id.as_str());
        let named = ExternalEventsNamedWhere {
            tenant,
            wf_run_id,
            event_name,
        };
        let mut events = self.service.db.external_events_named(named).collect().await?;
        events.retain(|event| !event.is_claimed && !self.taken.contains(&event.guid));
        let oldest = events.into_iter().min_by_key(|event| event.created_at.moment());
        self.taken.extend(oldest.iter().map(|event| event.guid.clone()));
        Ok(oldest)
    }

    /// The id of the object of the node at this position.
    fn guid(&self) -> String {
        format!("{THREAD}-{}", self.run.position)
    }

    fn schedule(&mut self, task: &Task) -> Result<String> {
        let (task_guid, task_def_name) = (self.guid(), task.task_def_name.clone());
        let (position, scheduled_at) = (self.run.position, self.now());
        let new = of_run!(self => NewTaskRun { task_guid, position, task_def_name, scheduled_at });
        let given = |name: &String| Some((name.clone(), self.variable(name)?));
        let mut row = TaskRun::from(new);
        row.input = Some(task.input.iter().filter_map(given).collect());
        self.call_worker(&row, 0)?;
        self.put(row);
        Ok(self.guid())
    }

    /// Leaves a message for the workers of a task.
    pub(crate) fn call_worker(&mut self, task: &TaskRun, seconds: u64) -> Result<()> {
        let attempt = Attempt {
            guid: task.task_guid.clone(),
            attempt: task.attempt,
            ..Attempt::default()
        };
        let queue = task_queue(&task.tenant, &task.task_def_name);
        self.leave(&queue, Command::StartTask(attempt), seconds)
    }

    fn offer(&mut self, form: &str, user_id: Option<String>) -> String {
        let (user_task_guid, user_task_def_name) = (self.guid(), form.to_owned());
        let (position, scheduled_at) = (self.run.position, self.now());
        let new =
            of_run!(self => NewUserTaskRun { user_task_guid, position, user_task_def_name, scheduled_at });
        let mut task = UserTaskRun::from(new);
        if user_id.is_some() {
            task.status = UserTaskRunStatus::Assigned;
        }
        task.user_id = user_id;
        self.put(task);
        self.guid()
    }

    async fn throw(&mut self, event: &str, content: &str) -> Result<String> {
        let (event_name, number, created_at) = (event.to_owned(), self.run.thrown, self.now());
        let new = of_run!(self => NewWorkflowEvent { event_name, number, created_at });
        let mut row = WorkflowEvent::from(new);
        row.content = self.variable(content);
        self.put(row);
        self.run.thrown += 1;
        let id = format!("{event}/{number}");
        self.inventory().await?.workflow_events.insert(id.clone());
        Ok(id)
    }
}
