//! Calls about reindexes. A server works on them in the background, from the start until they are done,
//! paused or cancelled, and continues running ones after a restart.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trestle_reindex::{Reindex, ReindexMode, ReindexState, ReindexStatus, RowLetter};

/// Lists reindexes: a page of them, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListReindexes {
    /// Only those that are running: at most one of each table, and all on one page.
    #[serde(default)]
    pub running: bool,
    /// Begin after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The maximum number; 100 by default, at most 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to [`ListReindexes`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexList {
    /// The reindexes, by name.
    pub reindexes: Vec<ReindexSummary>,
    /// The name after which the next page begins, if there are more.
    pub next: Option<String>,
}

/// A reindex in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexSummary {
    /// Its name.
    pub name: String,
    /// The table.
    pub table: String,
    /// Its state.
    pub state: ReindexState,
    /// The version with which rows are touched, if they are.
    pub version: Option<u64>,
    /// The route to whose target rows are sent, if they are.
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

/// Returns the status of a reindex.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadReindex {
    /// Its name.
    pub name: String,
}

/// The status of a reindex, and what prevents the server from working on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexReport {
    /// The status.
    #[serde(flatten)]
    pub status: ReindexStatus,
    /// Why it cannot continue at the moment, although it is running. The server tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Starts a reindex of a table: its rows are touched, or sent to the target of a route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartReindex {
    /// The table.
    pub table: String,
    /// Its name; by default, the table with the version or the time of the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The version with which rows are touched; by default the time in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// The version attribute; by default the one that the model declares, or `reindexVersion`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// Send rows to the target of this route instead of touching them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<String>,
    /// Only this many rows, the first of the table or of what `access` finds.
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
    /// The pattern's parameters: texts, numbers and truth values. A text is converted to the parameter's
    /// type.
    #[serde(default, rename = "where", skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Value>,
    /// The maximum of read units per second; no limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_units: Option<f64>,
    /// The maximum of write units per second; no limit by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_units: Option<f64>,
    /// Do not pause when live traffic becomes slower.
    #[serde(default)]
    pub no_yield: bool,
    /// The maximum number of rows on a page; 1,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_rows: Option<u32>,
    /// The number of workers; 4 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u32>,
    /// How often a row is tried before it becomes a dead letter; 4 times by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// Start although nothing reads the stream.
    #[serde(default)]
    pub force: bool,
}

/// The answer to [`StartReindex`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexStarted {
    /// Its status.
    pub reindex: ReindexReport,
    /// Warnings about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Stops the workers after their current pages.
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

/// Cancels a reindex. Rows that are done stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelReindex {
    /// Its name.
    pub name: String,
}

/// Processes the rows that failed again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayReindex {
    /// Its name.
    pub name: String,
}

/// The answer to [`ReplayReindex`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexReplayed {
    /// How many rows are processed again.
    pub replayed: u64,
    /// The status.
    pub reindex: ReindexReport,
}

/// Processes rows again, regardless of their earlier results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResendReindex {
    /// Its name.
    pub name: String,
    /// The ids of the rows: 1 to 10,000.
    #[serde(default)]
    pub ids: Vec<String>,
}

/// Lists the rows that failed, one page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListReindexDeadLetters {
    /// Its name.
    pub name: String,
    /// Begin after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The maximum number; 100 by default, at most 1,000. With large rows a page has fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to [`ListReindexDeadLetters`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReindexLetterList {
    /// The rows.
    pub dead_letters: Vec<ReindexLetter>,
    /// Where the next page begins, if there are more.
    pub next: Option<String>,
}

/// A row that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReindexLetter {
    /// Its id, as in lists of ids.
    pub id: String,
    /// Its key, the reason, and the whole row.
    #[serde(flatten)]
    pub letter: RowLetter,
}

/// Deletes the dead letters of a reindex.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropReindexDeadLetters {
    /// Its name.
    pub name: String,
}

/// Lists rows that the destination of a reindex does not have, one page. By default, the reindex itself
/// determines them: rows that do not have the version; or, if rows are sent, dead letters and rows of
/// unfinished pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListReindexGaps {
    /// Its name.
    pub name: String,
    /// Compare with the rows of this table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_table: Option<String>,
    /// The attribute of that table with the id; by default its partition key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_attribute: Option<String>,
    /// List every row of the scope, without comparison.
    #[serde(default)]
    pub all: bool,
    /// Where the previous page ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The maximum number: 1,000 by default, at most 10,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The answer to [`ListReindexGaps`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReindexGapList {
    /// The ids of the rows.
    pub gaps: Vec<String>,
    /// Where the next page begins, if there may be more. A page can be empty without being the last.
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
