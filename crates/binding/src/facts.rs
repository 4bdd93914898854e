//! The results of audits and repairs, for people and for programs.

use std::collections::BTreeMap;
use std::fmt;

use crate::counted;
use serde::{Deserialize, Serialize};
use trestle_model::audit::{Finding, FindingKind, Findings};

/// The maximum number of facts that a report names.
pub const FACTS_NAMED: usize = 1000;

/// A derived fact that disagrees with its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongFact {
    /// The kind of fact.
    pub kind: FindingKind,
    /// The model.
    pub model: String,
    /// The entity of the wrong row; empty if it has none.
    pub entity: String,
    /// The effect that makes the fact; empty for what is derived from the row alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub effect: String,
    /// The table.
    pub table: String,
    /// The key of the row that is wrong, missing or superfluous, as DynamoDB's JSON.
    pub key: serde_json::Value,
    /// The present value.
    pub there: String,
    /// The correct value.
    pub wanted: String,
    /// Why it was not repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl From<&Finding> for WrongFact {
    fn from(finding: &Finding) -> Self {
        WrongFact {
            kind: finding.kind,
            model: finding.model.clone(),
            entity: finding.entity.clone(),
            effect: finding.effect.clone(),
            table: finding.table.clone(),
            key: serde_json::json!(finding.key),
            there: finding.there.clone(),
            wanted: finding.wanted.clone(),
            reason: None,
        }
    }
}

impl fmt::Display for WrongFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.table, self.kind.name())?;
        match (self.entity.as_str(), self.effect.as_str()) {
            ("", _) => {}
            (entity, "") => write!(f, ": {entity}")?,
            (entity, effect) => write!(f, ": {entity} ({effect})")?,
        }
        write!(f, ": {}, wanted: {}; row {}", self.there, self.wanted, self.key)?;
        match &self.reason {
            Some(reason) => write!(f, "; not mended: {reason}"),
            None => Ok(()),
        }
    }
}

/// The results for the rows of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// The model.
    pub model: String,
    /// Its version.
    pub version: u64,
    /// How many rows of its tables were read.
    pub rows: u64,
    /// Facts that disagree with their rows, by kind.
    pub wrong: BTreeMap<FindingKind, u64>,
    /// Pending work, which is no fault.
    pub to_do: ToDo,
    /// Why its rows could not be audited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_audited: Option<String>,
}

/// Pending work for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToDo {
    /// Rows that a migration has not moved yet.
    pub rows_to_move: u64,
    /// Rows of removed effects, which are deleted in the background.
    pub rows_to_clear: u64,
    /// Rows whose background copies are pending.
    #[serde(default)]
    pub rows_to_copy: u64,
    /// Facts that `trestle model apply --fill` has not made yet.
    pub facts_to_fill: u64,
}

impl ModelFacts {
    /// How many facts disagree with their rows.
    #[must_use]
    pub fn disagreements(&self) -> u64 {
        self.wrong.values().sum()
    }

    /// Results before any row was read.
    #[must_use]
    pub fn new(model: &str, version: u64) -> Self {
        ModelFacts {
            model: model.to_owned(),
            version,
            ..ModelFacts::default()
        }
    }

    /// Adds findings: as faults, or as facts to be filled in.
    pub fn found(&mut self, findings: &Findings, filled_in: bool) {
        self.to_do.rows_to_copy = findings.to_copy;
        if filled_in {
            self.wrong.clone_from(&findings.counts);
        } else {
            self.to_do.facts_to_fill = findings.total();
        }
    }
}

impl fmt::Display for ModelFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ModelFacts { model, rows, .. } = self;
        if let Some(why) = &self.not_audited {
            return write!(f, "model {model}: not audited: {why}");
        }
        write!(f, "model {model}: {}, ", counted(*rows, "row", "rows"))?;
        match self.disagreements() {
            0 if self.to_do.facts_to_fill > 0 => f.write_str("not proved: rows are still to be filled in")?,
            0 => f.write_str("everything derived agrees")?,
            1 => write!(f, "1 derived fact disagrees ({})", kinds(&self.wrong))?,
            many => write!(f, "{many} derived facts disagree ({})", kinds(&self.wrong))?,
        }
        if self.to_do.rows_to_move > 0 {
            let rows = counted(self.to_do.rows_to_move, "row", "rows");
            write!(f, "; to do: {rows} to move")?;
        }
        if self.to_do.rows_to_clear > 0 {
            let rows = counted(self.to_do.rows_to_clear, "row", "rows");
            write!(f, "; to do: {rows} of dropped effects to remove")?;
        }
        if self.to_do.rows_to_copy > 0 {
            let rows = counted(self.to_do.rows_to_copy, "row", "rows");
            write!(f, "; to do: {rows} to copy to in the background")?;
        }
        if self.to_do.facts_to_fill > 0 {
            let facts = counted(self.to_do.facts_to_fill, "fact", "facts");
            write!(f, "; to do: {facts} to fill in (`trestle model apply --fill`)")?;
        }
        Ok(())
    }
}

/// Kinds with their numbers.
fn kinds(counts: &BTreeMap<FindingKind, u64>) -> String {
    let counts: Vec<String> = counts
        .iter()
        .map(|(kind, count)| format!("{} {count}", kind.name()))
        .collect();
    counts.join(", ")
}

/// The result of a repair, or of its dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairReport {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The results by model.
    pub models: Vec<ModelRepair>,
}

/// The result of a repair for one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelRepair {
    /// The results of the audit before.
    #[serde(flatten)]
    pub facts: ModelFacts,
    /// Facts that were repaired, by kind.
    pub mended: BTreeMap<FindingKind, u64>,
    /// The first of those that were not repaired.
    pub left: Vec<WrongFact>,
    /// How many were not repaired.
    pub left_total: u64,
}

impl RepairReport {
    /// Whether all derived facts are correct now.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.models.iter().all(|model| model.left_total == 0)
    }
}

impl fmt::Display for RepairReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for model in &self.models {
            writeln!(f, "{}", model.facts)?;
            if !model.mended.is_empty() {
                writeln!(f, "  mended: {}", kinds(&model.mended))?;
            }
            for fact in &model.left {
                writeln!(f, "  {fact}")?;
            }
            let more = model.left_total.saturating_sub(model.left.len() as u64);
            if more > 0 {
                writeln!(f, "  and {more} more")?;
            }
        }
        Ok(())
    }
}
