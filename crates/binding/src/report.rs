//! The report of applying a model, for people and for programs: what was done, would be done, or could not be
//! done.

mod text;

use serde::{Deserialize, Serialize};

/// The result of applying a model, or of a dry run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The model.
    pub model: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The version that is stored now; `None` if none is.
    pub version: Option<u64>,
    /// The steps that were or would be done, in this order.
    pub steps: Vec<Step>,
    /// Why nothing was done.
    pub obstacles: Vec<Obstacle>,
    /// The results for tables that had rows.
    pub rows: Vec<TableRows>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The steps were taken.
    Applied,
    /// The steps were taken and the model is in effect, but existing rows could not be filled in.
    Incomplete,
    /// Everything already matched the model.
    NothingToDo,
    /// The steps are possible, and were not requested yet.
    Planned,
    /// There are obstacles. Nothing was changed.
    Refused,
}

/// One step, as DynamoDB permits one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
pub enum Step {
    /// Create a table with its indexes and its stream.
    CreateTable {
        /// The table.
        table: String,
    },
    /// Create a global index and fill it from the rows.
    CreateIndex {
        /// The table.
        table: String,
        /// The index.
        index: String,
    },
    /// Delete a global index that the model does not have, or that differs.
    DeleteIndex {
        /// The table.
        table: String,
        /// The index.
        index: String,
    },
    /// Enable expiry.
    EnableTimeToLive {
        /// The table.
        table: String,
        /// The attribute with the time.
        attribute: String,
    },
    /// Enable a stream.
    EnableStream {
        /// The table.
        table: String,
        /// Its view type, as in DynamoDB's API.
        view: String,
    },
    /// Store the model with the data, and enforce it from then on.
    StoreModel {
        /// The version it gets.
        version: u64,
    },
    /// Fill in missing attributes of rows, and apply effects.
    FillIn {
        /// The table.
        table: String,
    },
    /// Move rows to the keys of the model, while clients read and write.
    MoveRows {
        /// The table.
        table: String,
        /// How many.
        rows: u64,
    },
}

/// A difference that no permitted step can change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// The table.
    pub table: String,
    /// What differs.
    pub what: String,
    /// The present state.
    pub there: String,
    /// What the model requires.
    pub wanted: String,
    /// The next step for the user.
    pub way_out: String,
}

/// The results for a table that has rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRows {
    /// The table.
    pub table: String,
    /// How many rows were read.
    pub looked_at: u64,
    /// How many move to another key.
    #[serde(default)]
    pub to_move: u64,
    /// How many lack something that can be derived: an index key, the tag, a default.
    pub to_fill_in: u64,
    /// Why other rows do not fit.
    pub misfits: Vec<Misfit>,
}

/// Rows that do not fit for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Misfit {
    /// The reason, in short.
    pub reason: String,
    /// The model's message for the first of them.
    pub example: String,
    /// How many rows.
    pub rows: u64,
    /// The keys of the first of them, as DynamoDB's JSON.
    pub keys: Vec<serde_json::Value>,
}

impl Report {
    /// An empty report.
    pub fn new(model: &str) -> Self {
        Report {
            model: model.to_owned(),
            outcome: Outcome::NothingToDo,
            version: None,
            steps: Vec::new(),
            obstacles: Vec::new(),
            rows: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether there are obstacles.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.outcome == Outcome::Refused
    }
}

/// A model that is stored with the data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelSummary {
    /// Its name.
    pub name: String,
    /// The number of its versions.
    pub version: u64,
    /// When, in UTC.
    pub applied: String,
    /// Whether this version of Trestle can use it.
    pub loads: bool,
    /// Whether existing rows have all derived attributes and rows.
    pub filled_in: bool,
    /// Its tables in the database.
    pub tables: Vec<String>,
    /// How many entities it has.
    pub entities: usize,
}
