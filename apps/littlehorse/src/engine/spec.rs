//! Workflow specs: the parts of a workflow as JSON, and their validation.

use super::*;

/// The limits of variables and nodes, so that all writes of a step fit into one commit.
const PARTS_MAX: usize = 30;

/// Variables with their initial values, and nodes in the order in which a run enters them. It ends after the
/// last.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
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
    /// The variable that takes its result.
    pub(crate) output: Option<String>,
}

/// The kind of a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    /// A worker polls for it, executes it and reports.
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
    /// How often a failed attempt is repeated.
    #[serde(default)]
    pub(crate) retries: i64,
    /// How long a worker may take; a minute by default.
    pub(crate) timeout_seconds: Option<u64>,
}

impl Spec {
    /// Checks that it is small, that names are valid in keys, and that references exist.
    pub(crate) fn check(&self) -> Result<()> {
        let names: BTreeSet<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        if names.len() < self.nodes.len() || self.nodes.len().max(self.variables.len()) > PARTS_MAX {
            let rule = format!("at most {PARTS_MAX} nodes with names of their own, and as many variables");
            return Err(Error::Invalid(format!("workflow {}: {rule}", self.name)));
        }
        check_name(&self.name)?;
        self.variables.keys().try_for_each(|name| check_name(name))?;
        self.nodes.iter().try_for_each(|node| self.check_node(node))
    }

    fn check_node(&self, node: &Node) -> Result<()> {
        let (subject, reads): (&String, Vec<&String>) = match &node.run {
            Action::Task(task) => (&task.task_def_name, task.input.iter().collect()),
            Action::ExternalEvent { event, correlate } => (event, correlate.iter().collect()),
            Action::UserTask { form, .. } => (form, Vec::new()),
            Action::Sleep(_) => (&node.name, Vec::new()),
            Action::ThrowEvent { event, content } => (event, vec![content]),
        };
        check_name(&node.name)?;
        check_name(subject)?;
        let mut variables = reads.into_iter().chain(&node.output);
        match variables.find(|name| !self.variables.contains_key(*name)) {
            Some(name) => Err(Error::Invalid(format!("node {}: no variable {name}", node.name))),
            None => Ok(()),
        }
    }
}

/// Names are parts of keys, and of names of queues.
pub(crate) fn check_name(name: &str) -> Result<()> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if (1..=36).contains(&name.len()) && name.bytes().all(is_plain) {
        return Ok(());
    }
    let rule = "a name is 1 to 36 letters, digits and hyphens";
    Err(Error::Invalid(format!("{name:?}: {rule}")))
}
