//! Calls about reindexes. A server works on them by itself, from the start until they are done, paused or cancelled, and goes on with those that
//! were running when it starts again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trestle_reindex::{Reindex, ReindexMode, ReindexState, ReindexStatus, RowLetter};

/// Which reindexes there are: a page of them, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListReindexes {
    /// Only those that are running: at most one of each table, and all on one page.
    #[serde(default)]
    pub running: bool,
    /// Go on after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many at most; 100 unless said, 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to [`ListReindexes`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexList {
    /// The reindexes, by name.
    pub reindexes: Vec<ReindexSummary>,
    /// The name to go on after, if there are more.
    pub next: Option<String>,
}

/// What a reindex is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexSummary {
    /// Its name.
    pub name: String,
    /// The table.
    pub table: String,
    /// Whether it goes on.
    pub state: ReindexState,
    /// The version that rows are touched with, if they are.
    pub version: Option<u64>,
    /// The route whose target rows are sent to, if they are.
    pub route: Option<String>,
    /// When it started, in milliseconds since 1970.
    pub started_at: u64,
    /// When it ended.
    pub ended_at: Option<u64>,
}

impl From<Reindex> for ReindexSummary {
    fn from(job: Reindex) -> Self {
        Self {
            version: job.version(),
            route: match job.mode {
                ReindexMode::Send { route } => Some(route),
                ReindexMode::Touch { .. } => None,
            },
            name: job.name,
            table: job.table,
            state: job.state,
            started_at: job.started_at,
            ended_at: job.ended_at,
        }
    }
}

/// How a reindex is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadReindex {
    /// Its name.
    pub name: String,
}

/// How a reindex is doing, and what keeps the server from working on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexReport {
    /// How it is doing.
    #[serde(flatten)]
    pub status: ReindexStatus,
    /// Why it cannot go on at the moment, although it is running. The server tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Starts a reindex of a table: its rows are touched, or sent to the target of a route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartReindex {
    /// The table.
    pub table: String,
    /// Its name; unless given, the table with the version or the time of the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The version that rows are touched with; the time in seconds since 1970 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The version attribute; the one that the model declares, or `reindexVersion`, unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// Send rows to the target of this route instead of touching them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<String>,
    /// Only the first so many rows, of the table or of what `access` finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Only rows with these ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// Only rows of this entity of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// Only rows that this access pattern of the model finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<String>,
    /// The pattern's parameters: texts, numbers and truth values. A text stands for a value of the parameter's type.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// The most read units in a second; no limit unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_units: Option<f64>,
    /// The most write units in a second; no limit unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_units: Option<f64>,
    /// Do not rest while live traffic is slowed down.
    #[serde(default)]
    pub no_yield: bool,
    /// The most rows on a page; 1,000 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_rows: Option<u32>,
    /// Workers; 4 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// How often a row is tried before it becomes a dead letter; 4 times unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Start although nothing listens.
    #[serde(default)]
    pub force: bool,
}

/// The answer to [`StartReindex`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexStarted {
    /// How it is doing.
    pub reindex: ReindexReport,
    /// What is doubtful about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Lets the workers stop after their pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PauseReindex {
    /// Its name.
    pub name: String,
}

/// Resumes a paused reindex.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResumeReindex {
    /// Its name.
    pub name: String,
}

/// Gives a reindex up. Rows that are done stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelReindex {
    /// Its name.
    pub name: String,
}

/// Tries the rows that were given up again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayReindex {
    /// Its name.
    pub name: String,
}

/// The answer to [`ReplayReindex`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexReplayed {
    /// How many rows are tried again.
    pub replayed: u64,
    /// How it is doing.
    pub reindex: ReindexReport,
}

/// Does rows again, whatever became of them before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResendReindex {
    /// Its name.
    pub name: String,
    /// The ids of the rows: 1 to 10,000.
    #[serde(default)]
    pub ids: Vec<String>,
}

/// A page of the rows that a reindex gave up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListReindexDeadLetters {
    /// Its name.
    pub name: String,
    /// Go on after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many at most; 100 unless said, 1,000 at most. Large rows make a page shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to [`ListReindexDeadLetters`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReindexLetterList {
    /// The rows.
    pub dead_letters: Vec<ReindexLetter>,
    /// What to go on after, if there are more.
    pub next: Option<String>,
}

/// A row that a reindex gave up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexLetter {
    /// Its id, as lists of ids have it.
    pub id: String,
    /// Its key, why it was given up, and the whole row.
    #[serde(flatten)]
    pub letter: RowLetter,
}

/// Forgets the rows that a reindex gave up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropReindexDeadLetters {
    /// Its name.
    pub name: String,
}

/// Names rows that the destination of a reindex does not have, a page of them. Unless something to compare with is given, the reindex itself tells: rows
/// that are not at the version; or, if rows are sent, dead letters and rows of pages that were not done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListReindexGaps {
    /// Its name.
    pub name: String,
    /// Compare with the rows of this table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_table: Option<String>,
    /// The attribute of that table with the id; its partition key unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_attribute: Option<String>,
    /// Compare with nothing: name every row of the scope.
    #[serde(default)]
    pub all: bool,
    /// Where the page before ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many at most: 1,000 unless said, 10,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to [`ListReindexGaps`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexGapList {
    /// The ids of the rows.
    pub gaps: Vec<String>,
    /// What to go on after, if there may be more. A page can be empty and not be the last.
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_letter_survives_the_way_over_the_wire() {
        let letter = ReindexLetter {
            id: "b1".to_owned(),
            letter: serde_json::from_value(serde_json::json!({
                "key": {"pk": {"S": "b1"}}, "row": {"pk": {"S": "b1"}, "pages": {"N": "12"}}, "reason": "too large",
                "attempts": 4, "at": 1,
            }))
            .unwrap(),
        };
        let json = serde_json::to_value(&letter).unwrap();
        assert_eq!(
            (&json["id"], &json["row"]["pages"]["N"]),
            (&"b1".into(), &"12".into())
        );
        assert_eq!(serde_json::from_value::<ReindexLetter>(json).unwrap(), letter);
    }
}
