//! A reindex as it is stored: what is done with which rows, how fast, and how far it is.

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
    /// The rows in the table when it started, by the table's own count.
    pub rows_estimated: u64,
    /// How rows are told apart, where the scope needs it.
    pub entities: Option<EntityFilter>,
    /// When it started, in milliseconds since 1970.
    pub started_at: u64,
    /// The work that is under way, or was the last; `None` before there was any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkBegun>,
    /// When it ended.
    pub ended_at: Option<u64>,
    /// Whether it goes on.
    pub state: ReindexState,
}

/// When a process began to work on a reindex that no other process was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkBegun {
    /// In milliseconds since 1970.
    pub at: u64,
    /// Rows that had been read by then, those that were done again among them.
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
        /// The version that each row has afterwards.
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
    /// Those with these ids. See [`Reindex::key_of_id`] for what an id may be. In a reindex that was started there are none here: its work
    /// items have the keys.
    Ids(Vec<String>),
    /// Those of one entity of the model.
    Entity(String),
    /// Those that an access pattern of the model finds.
    Access {
        /// The access pattern.
        name: String,
        /// Its parameters.
        parameters: Item,
        /// Only the first so many of them, in the order in which they are read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first: Option<u64>,
    },
}

/// How rows of some entities are recognised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntityFilter {
    /// The entities.
    pub names: Vec<String>,
    /// Whether all rows are wanted but those of the entities.
    #[serde(default)]
    pub are_left_out: bool,
    /// The attribute that names the entity, if the model has one for the table.
    pub attribute: Option<String>,
    /// The model, for processes that do not have it.
    pub model: String,
}

/// How much a reindex may cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexBudget {
    /// Read units in a second, over all processes; no limit unless given.
    pub read_units: Option<f64>,
    /// Write units in a second, over all processes; no limit unless given.
    pub write_units: Option<f64>,
    /// Whether it rests while live traffic is slowed down by it.
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

/// Whether a reindex goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReindexState {
    /// Its work items are being stored.
    Preparing,
    /// Workers go on with it.
    Running,
    /// Workers leave it until it is resumed.
    Paused,
    /// It was given up. Rows that were done stay as they are.
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

    /// The attributes that are read of each row; all of them if there are none here.
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

    /// The key of a row; `None` if it has none, which no row of the table is.
    pub(crate) fn key_in(&self, row: &Item) -> Option<Item> {
        let part = |part: &KeyPart| Some((part.name.clone(), row.get(&part.name)?.clone()));
        self.key.iter().map(part).collect()
    }
}
