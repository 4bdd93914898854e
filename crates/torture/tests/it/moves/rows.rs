//! Tasks of runs in two layouts. Every run belongs to one client.

use serde_json::{Value, json};

pub(super) const TABLE: &str = "runs";
pub(super) const CLIENTS: u64 = 16;
/// Tasks of a run.
pub(super) const TASKS: u64 = 20;

/// A version of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    Former,
    Present,
}

const FORMER: &str = r#"
model = "runs"
[table.runs]
key = ["pk", "sk"]
entity_attribute = "kind"
[table.runs.index.by_state]
key = ["state_key"]
[entity.task]
table = "runs"
key = { pk = "task#{run}", sk = "{number:04}", state_key = "{state}#{run}" }
attributes = { run = "string", number = "integer", state = { type = "string", one_of = ["open", "done"] }, version = "integer" }
"#;

impl Layout {
    pub(super) fn model(self) -> String {
        match self {
            Layout::Former => FORMER.to_owned(),
            Layout::Present => FORMER
                .replace("task#{run}", "run#{run}")
                .replace("{number:04}", "task#{number:04}")
                .replace("{state}#{run}", "{run}#{state}"),
        }
    }

    /// The partition of a row.
    pub(super) fn partition(self, row: u64) -> String {
        match self {
            Layout::Former => format!("task#{}", run(row)),
            Layout::Present => format!("run#{}", run(row)),
        }
    }
}

/// What a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) version: u64,
    pub(super) is_done: bool,
}

impl Content {
    pub(super) fn state(self) -> &'static str {
        if self.is_done { "done" } else { "open" }
    }

    /// What an item holds.
    pub(super) fn of(item: &Value) -> Self {
        let version = item["version"]["N"]
            .as_str()
            .and_then(|version| version.parse().ok());
        Content {
            version: version.unwrap_or_else(|| panic!("{item}")),
            is_done: item["state"]["S"] == "done",
        }
    }
}

pub(super) fn run(row: u64) -> String {
    format!("r{:07}", row / TASKS)
}

/// The client whose row it is.
pub(super) fn owner(row: u64) -> u64 {
    row / TASKS % CLIENTS
}

/// The identity of a row: the database knows its key in either layout.
pub(super) fn identity(row: u64) -> Value {
    json!({"run": {"S": run(row)}, "number": {"N": (row % TASKS).to_string()}})
}

pub(super) fn item(row: u64, content: Content) -> Value {
    let mut item = identity(row);
    item["state"] = json!({"S": content.state()});
    item["version"] = json!({"N": content.version.to_string()});
    item
}

/// Which row an item is.
pub(super) fn number(item: &Value) -> u64 {
    let part = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
    let run = part(item["run"]["S"].as_str().and_then(|run| run.strip_prefix('r')));
    let number = part(item["number"]["N"].as_str());
    match (run, number) {
        (Some(run), Some(number)) => run * TASKS + number,
        _ => panic!("no row: {item}"),
    }
}
