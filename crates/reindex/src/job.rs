//! A reindex as it is stored: the rows, what is done with them, how fast, and the progress.

use serde::{Deserialize, Serialize};
use trestle_item::{Item, ScalarType};

/// A named reindex of one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reindex {
    /// Its name.
    pub name: String,
    /// The table.
    pub table: String,
    /// The table's key attributes, the partition key first.
    pub key: Vec<KeyPart>,
    /// What is done with each row.
    pub mode: ReindexMode,
    /// Which rows.
    pub scope: ReindexScope,
    /// How much it may cost.
    pub budget: ReindexBudget,
    /// The most rows on a page, which is the unit of progress.
    pub page_rows: u32,
    /// Workers in each process.
    pub workers: u32,
    /// How often a row is tried before it becomes a dead letter.
    pub attempts: u32,
    /// The number of rows at the start, by the table's own count.
    pub rows_estimated: u64,
    /// How rows are distinguished, where the scope needs it.
    pub entities: Option<EntityFilter>,
    /// When it started, in milliseconds since 1970.
    pub started_at: u64,
    /// The present or the last period of work; `None` before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkBegun>,
    /// When it ended.
    pub ended_at: Option<u64>,
    /// Its state.
    pub state: ReindexState,
}

/// When a process began to work on a reindex on which no other process worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkBegun {
    /// In milliseconds since 1970.
    pub at: u64,
    /// The number of rows read by then, including rows done again.
    pub rows_before: u64,
}

/// A key attribute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyPart {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ScalarType,
}

/// What is done with each row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReindexMode {
    /// A version attribute is raised, so that the table's stream has a record of the row.
    Touch {
        /// The attribute.
        attribute: String,
        /// The version that each row has at least afterwards.
        version: u64,
    },
    /// The row is sent to the target of a route. Nothing is written.
    Send {
        /// The route.
        route: String,
    },
}

/// Which rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReindexScope {
    /// All of them.
    #[default]
    Complete,
    /// The first so many, in the order of a scan.
    First(u64),
    /// Those with these ids. See [`Reindex::key_of_id`] for what an id may be. Empty in a started reindex,
    /// whose work items have the keys.
    Ids(Vec<String>),
    /// Those of one entity of the model.
    Entity(String),
    /// Those that an access pattern of the model finds.
    Access {
        /// The access pattern.
        name: String,
        /// Its parameters.
        parameters: Item,
        /// Only so many of them, in the order of reading.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<u64>,
    },
}

/// How rows of some entities are recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityFilter {
    /// The entities.
    pub names: Vec<String>,
    /// Whether all rows except those of the entities are selected.
    #[serde(default)]
    pub are_left_out: bool,
    /// The attribute with the entity's tag, if the model has one for the table.
    pub attribute: Option<String>,
    /// The model, for processes that do not have it.
    pub model: String,
}

/// The limits of a reindex.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexBudget {
    /// Read units per second, over all processes; unlimited by default.
    pub read_units: Option<f64>,
    /// Write units per second, over all processes; unlimited by default.
    pub write_units: Option<f64>,
    /// Whether it pauses while it slows down live traffic.
    pub yields: bool,
}

impl Default for ReindexBudget {
    fn default() -> Self {
        Self {
            read_units: None,
            write_units: None,
            yields: true,
        }
    }
}

/// The state of a reindex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReindexState {
    /// Its work items are being stored.
    Preparing,
    /// Workers process it.
    Running,
    /// Workers ignore it until it is resumed.
    Paused,
    /// It was cancelled. Finished rows stay.
    Cancelled,
    /// All of its rows are done or dead letters.
    Done,
}

impl ReindexState {
    /// Its name, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Done => "done",
        }
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Cancelled | Self::Done)
    }
}

impl Reindex {
    /// The version that rows are touched with, if they are.
    #[must_use]
    pub fn version(&self) -> Option<u64> {
        match self.mode {
            ReindexMode::Touch { version, .. } => Some(version),
            ReindexMode::Send { .. } => None,
        }
    }

    /// The attributes that are read of each row; empty for all.
    pub(crate) fn attributes_read(&self) -> Vec<&str> {
        let ReindexMode::Touch { attribute, .. } = &self.mode else {
            return Vec::new();
        };
        let key = self.key.iter().map(|part| part.name.as_str());
        let mut names: Vec<&str> = key.chain([attribute.as_str()]).collect();
        names.extend(
            self.entities
                .as_ref()
                .and_then(|filter| filter.attribute.as_deref()),
        );
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The names of the key attributes.
    pub(crate) fn key_names(&self) -> Vec<String> {
        self.key.iter().map(|part| part.name.clone()).collect()
    }

    /// The key of a row; `None` if it has none, which does not occur in the table.
    pub(crate) fn key_in(&self, row: &Item) -> Option<Item> {
        let part = |part: &KeyPart| Some((part.name.clone(), row.get(&part.name)?.clone()));
        self.key.iter().map(part).collect()
    }
}
