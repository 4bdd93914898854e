//! What applying a model did, would do, or could not do: for people and for programs.

mod text;

use serde::{Deserialize, Serialize};

/// How applying a model, or planning to, came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The model.
    pub model: String,
    /// How it came out.
    pub outcome: Outcome,
    /// The version that is stored now; `None` if none is.
    pub version: Option<u64>,
    /// What was done, or would be, in this order.
    pub steps: Vec<Step>,
    /// Why nothing was done.
    pub obstacles: Vec<Obstacle>,
    /// What was found in tables that had rows.
    pub rows: Vec<TableRows>,
    /// What is as well to know.
    pub notes: Vec<String>,
}

/// How it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The steps were taken.
    Applied,
    /// The steps were taken and the model is in effect, but rows from before could not be filled in.
    Incomplete,
    /// Everything was already as the model says.
    NothingToDo,
    /// The steps can be taken, and were not requested yet.
    Planned,
    /// Something is in the way. Nothing was changed.
    Refused,
}

/// One step that DynamoDB permits at a time.
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
    /// Delete a global index that the model does not have, or has otherwise.
    DeleteIndex {
        /// The table.
        table: String,
        /// The index.
        index: String,
    },
    /// Let rows expire.
    EnableTimeToLive {
        /// The table.
        table: String,
        /// The attribute that says when.
        attribute: String,
    },
    /// Open a stream.
    EnableStream {
        /// The table.
        table: String,
        /// What it shows, as in DynamoDB's API.
        view: String,
    },
    /// Store the model with the data, and enforce it from then on.
    StoreModel {
        /// The version it gets.
        version: u64,
    },
    /// Fill in what rows lack, and make what follows from them.
    FillIn {
        /// The table.
        table: String,
    },
    /// Move rows to the keys that the model gives them, while they are read and written.
    MoveRows {
        /// The table.
        table: String,
        /// How many.
        rows: u64,
    },
}

/// Something that no permitted step changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// The table.
    pub table: String,
    /// What about it.
    pub what: String,
    /// What is there.
    pub there: String,
    /// What the model wants.
    pub wanted: String,
    /// What can be done about it.
    pub way_out: String,
}

/// What was found in a table that has rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableRows {
    /// The table.
    pub table: String,
    /// How many rows were looked at.
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
    /// What the model says about the first of them.
    pub example: String,
    /// How many rows.
    pub rows: u64,
    /// The keys of the first of them, as DynamoDB's JSON.
    pub keys: Vec<serde_json::Value>,
}

impl Report {
    /// Nothing is known yet.
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

    /// Whether the model is in effect, or could be.
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
    /// How often another text of it was applied.
    pub version: u64,
    /// When, in UTC.
    pub applied: String,
    /// Whether this version of Trestle can use it.
    pub loads: bool,
    /// Whether rows from before have all that follows from them.
    pub filled_in: bool,
    /// Its tables in the database.
    pub tables: Vec<String>,
    /// How many entities it has.
    pub entities: usize,
}
