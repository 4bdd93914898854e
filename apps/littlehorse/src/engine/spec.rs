//! Workflow specs: what a workflow is made of, as JSON, and whether it makes sense.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Error, Result};

/// Variables and nodes are few, so that whatever a step writes fits into one commit.
const PARTS_MAX: usize = 30;

/// The longest that anything waits: a year, as queues have it.
const SECONDS_MAX: u64 = 365 * 24 * 3600;

/// The most bytes of a name.
const NAME_BYTES_MAX: usize = 36;

/// Variables with their values at the start, and nodes in the order in which a run comes to them. It ends behind the last.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) variables: BTreeMap<String, Option<String>>,
    pub(crate) nodes: Vec<Node>,
    /// How long a run that has ended is kept; forever without it.
    pub(crate) retention_seconds: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) run: Action,
    /// The variable that takes what came of it.
    pub(crate) output: Option<String>,
}

/// What happens at a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    /// A worker polls for it, does it and reports.
    Task(Task),
    /// The run waits for an event: one that names the run, or one with the value of the variable `correlate` as its key.
    ExternalEvent {
        event: String,
        correlate: Option<String>,
    },
    /// A person does it.
    UserTask { form: String, user: Option<String> },
    /// The run waits for so many seconds.
    Sleep(u64),
    /// The run throws an event, with the value of a variable.
    ThrowEvent { event: String, content: String },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Task {
    pub(crate) task_def_name: String,
    /// Variables that the worker gets.
    #[serde(default)]
    pub(crate) input: BTreeSet<String>,
    /// How often a failure is tried again.
    #[serde(default)]
    pub(crate) retries: i64,
    /// How long a worker may take.
    #[serde(default = "one_minute")]
    pub(crate) timeout_seconds: u64,
}

fn one_minute() -> u64 {
    60
}

impl Spec {
    /// Whether it is small, names can be parts of keys, and what it refers to is there.
    pub(crate) fn check(&self) -> Result<()> {
        let names: BTreeSet<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        let is_small = self.nodes.len().max(self.variables.len()) <= PARTS_MAX;
        if names.len() < self.nodes.len() || !is_small {
            let rule = format!("at most {PARTS_MAX} nodes with names of their own, and as many variables");
            return Err(Error::Invalid(format!("workflow {}: {rule}", self.name)));
        }
        for name in self
            .variables
            .keys()
            .chain([&self.name])
            .chain(self.nodes.iter().flat_map(Node::names))
        {
            check_name(name)?;
        }
        if let Some(name) = self
            .nodes
            .iter()
            .flat_map(Node::variables)
            .find(|name| !self.variables.contains_key(*name))
        {
            return Err(Error::Invalid(format!(
                "workflow {} has no variable {name}",
                self.name
            )));
        }
        match self
            .nodes
            .iter()
            .map(Node::seconds)
            .chain(self.retention_seconds)
            .max()
        {
            Some(seconds) if seconds > SECONDS_MAX => {
                Err(Error::Invalid(format!("{seconds} seconds are more than a year")))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.nodes.iter().filter_map(|node| match &node.run {
            Action::Task(task) => Some(task),
            _ => None,
        })
    }
}

impl Node {
    /// Its own name, and that of what happens there.
    fn names(&self) -> [&String; 2] {
        let subject = match &self.run {
            Action::Task(task) => &task.task_def_name,
            Action::ExternalEvent { event, .. } | Action::ThrowEvent { event, .. } => event,
            Action::UserTask { form, .. } => form,
            Action::Sleep(_) => &self.name,
        };
        [&self.name, subject]
    }

    /// The variables that it reads and writes.
    fn variables(&self) -> impl Iterator<Item = &String> {
        let read: Vec<&String> = match &self.run {
            Action::Task(task) => task.input.iter().collect(),
            Action::ExternalEvent { correlate, .. } => correlate.iter().collect(),
            Action::ThrowEvent { content, .. } => vec![content],
            Action::UserTask { .. } | Action::Sleep(_) => Vec::new(),
        };
        read.into_iter().chain(&self.output)
    }

    /// How long it may take, as far as the workflow says.
    fn seconds(&self) -> u64 {
        match &self.run {
            Action::Task(task) => task.timeout_seconds,
            Action::Sleep(seconds) => *seconds,
            _ => 0,
        }
    }
}

/// Names are parts of keys and of queues.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_plain && (1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(());
    }
    let rule = format!("a name is 1 to {NAME_BYTES_MAX} letters, digits and hyphens");
    Err(Error::Invalid(format!("{name:?}: {rule}")))
}
