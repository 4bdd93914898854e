//! How a run goes on from node to node, until it has to wait or is over.

use std::time::Duration;

use super::Result;
use super::commands::{Attempt, Command};
use super::service::task_queue;
use super::spec::{Action, Node, Task};
use super::step::{Step, THREAD, due, of_run};
use crate::model::*;

impl Step<'_> {
    /// The first node of a run, before everything else.
    pub(crate) async fn begin(&mut self) -> Result<()> {
        let entry = self.arrive("entrypoint", NodeRunType::Entrypoint);
        self.close(entry, None);
        self.go_on(0).await
    }

    /// A node is done, and the run goes on, unless it was stopped.
    pub(crate) async fn complete(&mut self, node: NodeRun, output: Option<String>) -> Result<()> {
        let name = node.node_name.clone();
        self.close(node, output);
        match self.run.status {
            WfRunStatus::Running => self.go_on_behind(&name).await,
            _ => Ok(()),
        }
    }

    pub(crate) async fn go_on_behind(&mut self, node: &str) -> Result<()> {
        let at = self.spec.nodes.iter().position(|other| other.name == node);
        self.go_on(at.map_or(0, |at| at + 1)).await
    }

    async fn go_on(&mut self, from: usize) -> Result<()> {
        for node in self.spec.nodes.clone().iter().skip(from) {
            if !self.enter(node).await? {
                return Ok(());
            }
        }
        let exit = self.arrive("exit", NodeRunType::Exit);
        self.close(exit, None);
        self.end(WfRunStatus::Completed)
    }

    /// The run is over. One that is kept for a while only is deleted later.
    fn end(&mut self, status: WfRunStatus) -> Result<()> {
        self.run.status = status;
        self.run.end_time = Some(self.now());
        match self.spec.retention_seconds {
            Some(seconds) => self.later(Command::Delete, Duration::from_secs(seconds)),
            None => Ok(()),
        }
    }

    /// A node, and with it the run, has failed.
    pub(crate) fn fail(&mut self, mut node: NodeRun, reason: &str) -> Result<()> {
        node.status = NodeRunStatus::Error;
        (node.error, node.end_time) = (Some(reason.to_owned()), Some(self.now()));
        self.run.error = Some(format!("node {}: {reason}", node.node_name));
        self.put(node);
        self.end(WfRunStatus::Error)
    }

    /// The row of the node that the run comes to.
    fn arrive(&mut self, name: &str, r#type: NodeRunType) -> NodeRun {
        self.run.position += 1;
        let (node_name, arrival_time, position) = (name.to_owned(), self.now(), self.run.position);
        let thread_run_number = THREAD;
        of_run!(self => NewNodeRun { thread_run_number, position, node_name, r#type, arrival_time }).into()
    }

    /// A node is done; a variable takes what came of it.
    fn close(&mut self, mut node: NodeRun, output: Option<String>) {
        let target = self.spec.node(&node.node_name).and_then(|node| node.output.clone());
        if let (Some(name), Some(_)) = (target, &output) {
            self.assign(&name, output);
        }
        (node.status, node.end_time) = (NodeRunStatus::Completed, Some(self.now()));
        self.put(node);
    }

    /// Comes to a node; says whether it is done at once.
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
                self.later(Command::Wake(row.position), Duration::from_secs(*seconds))?;
            }
            Action::ThrowEvent { event, content } => {
                row.r#type = NodeRunType::ThrowEvent;
                row.subject = Some(self.throw(event, content).await?);
                self.close(row, None);
                return Ok(true);
            }
            Action::ExternalEvent { event, correlate } => {
                row.r#type = NodeRunType::ExternalEvent;
                row.waits_for = Some(event.clone());
                row.correlation_key = correlate.as_ref().and_then(|name| self.variable(name));
                if let Some(mut found) = self.unclaimed(event).await? {
                    found.claimed_by = Some(row.position);
                    row.subject = Some(format!("{event}/{}", found.guid));
                    self.close(row, found.content.clone());
                    self.put(found);
                    return Ok(true);
                }
            }
        }
        self.put(row);
        Ok(false)
    }

    /// The id of what the node at this position is about.
    fn guid(&self) -> String {
        format!("{THREAD}-{}", self.run.position)
    }

    fn schedule(&mut self, task: &Task) -> Result<String> {
        let given = |name: &String| Some((name.clone(), self.variable(name)?));
        let input = Some(task.input.iter().filter_map(given).collect());
        let (task_def_name, task_guid) = (task.task_def_name.clone(), self.guid());
        let (position, scheduled_at) = (self.run.position, self.now());
        let new = of_run!(self => NewTaskRun { task_guid, position, task_def_name, scheduled_at });
        let task = TaskRun { input, ..new.into() };
        self.call_worker(&task, Duration::ZERO)?;
        let guid = task.task_guid.clone();
        self.put(task);
        Ok(guid)
    }

    /// Leaves a message for the workers of a task.
    pub(crate) fn call_worker(&mut self, task: &TaskRun, after: Duration) -> Result<()> {
        let (guid, attempt) = (task.task_guid.clone(), task.attempt);
        let start = Command::StartTask(Attempt { guid, attempt, ..Attempt::default() });
        let queue = task_queue(&task.tenant, &task.task_def_name);
        self.message = Some(due(&queue, &self.run, start, after)?);
        Ok(())
    }

    fn offer(&mut self, form: &str, user_id: Option<String>) -> String {
        let (user_task_def_name, position, scheduled_at) = (form.to_owned(), self.run.position, self.now());
        let (user_task_guid, guid) = (self.guid(), self.guid());
        let new =
            of_run!(self => NewUserTaskRun { user_task_guid, position, user_task_def_name, scheduled_at });
        let mut task = UserTaskRun { user_id, ..new.into() };
        if task.user_id.is_some() {
            task.status = UserTaskRunStatus::Assigned;
        }
        self.put(task);
        guid
    }

    async fn throw(&mut self, event: &str, content: &str) -> Result<String> {
        let (event_name, number, created_at) = (event.to_owned(), self.run.thrown, self.now());
        let new = of_run!(self => NewWorkflowEvent { event_name, number, created_at });
        let content = self.variable(content);
        self.put(WorkflowEvent { content, ..new.into() });
        self.run.thrown += 1;
        let id = format!("{event}/{number}");
        self.inventory().await?.workflow_events.insert(id.clone());
        Ok(id)
    }
}
