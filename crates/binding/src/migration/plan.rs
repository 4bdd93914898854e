//! What a migration would do, does or cannot do.

use std::fmt;

use serde::{Deserialize, Serialize};
use trestle_model::{EntityMove, Hindrance};

use crate::counted;
use crate::report::{Outcome, Report, Step};

/// The result of planning, starting or rolling back a migration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationPlan {
    /// Steps, obstacles, rows and notes, as for applying a model.
    #[serde(flatten)]
    pub report: Report,
    /// Whether it is a rollback to the previous version.
    pub back: bool,
    /// What moves.
    pub moves: Vec<PlannedMove>,
    /// Why rows could not be found or distinguished during the move.
    pub hindrances: Vec<Hindrance>,
    /// Access patterns that read the whole table during the migration.
    pub slow_reads: Vec<String>,
    /// Whether it can be rolled back until it is finished.
    pub can_be_rolled_back: bool,
}

/// An entity whose rows move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMove {
    /// The entity.
    pub entity: String,
    /// Its name in the version from which rows move.
    pub former_entity: String,
    /// Its table in the database.
    pub table: String,
    /// The attributes of the table's key.
    pub keys: Vec<PlannedKey>,
    /// How many rows move.
    pub rows: u64,
}

/// An attribute of a table's key in both versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedKey {
    /// The attribute.
    pub attribute: String,
    /// Its template in the version from which rows move.
    pub before: String,
    /// Its template in the version to which they move.
    pub now: String,
}

impl PlannedMove {
    /// What moves, and how many rows.
    #[must_use]
    pub fn of(moved: &EntityMove<'_>, rows: u64) -> Self {
        let keys = moved.keys.iter().map(|key| PlannedKey {
            attribute: key.attribute.to_owned(),
            before: key.before.to_owned(),
            now: key.now.to_owned(),
        });
        PlannedMove {
            entity: moved.entity.to_owned(),
            former_entity: moved.former_entity.to_owned(),
            table: moved.table.to_owned(),
            keys: keys.collect(),
            rows,
        }
    }
}

impl MigrationPlan {
    /// Whether there are obstacles; then nothing was changed.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.report.is_refused()
    }
}

impl fmt::Display for MigrationPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for moved in &self.moves {
            write!(f, "{moved}")?;
        }
        for hindrance in &self.hindrances {
            writeln!(f, "obstacle: {hindrance}")?;
        }
        for step in &self.report.steps {
            let is_done = self.report.outcome == Outcome::Applied && !matches!(step, Step::MoveRows { .. });
            writeln!(f, "{} {step}", if is_done { "done:" } else { "to do:" })?;
        }
        self.report.findings(f)?;
        let Report { model, version, .. } = &self.report;
        let version = version.map_or_else(|| "not stored".to_owned(), |version| format!("version {version}"));
        match (self.report.outcome, self.back) {
            (Outcome::Refused, false) => write!(f, "model {model} cannot be migrated; nothing was changed"),
            (Outcome::Refused, true) => write!(f, "model {model} cannot be rolled back; nothing was changed"),
            (Outcome::Planned, _) => write!(
                f,
                "model {model} can be migrated; nothing was changed. `trestle migrate start` begins"
            ),
            (_, false) => write!(
                f,
                "model {model} is in effect, {version}; its rows are being moved: `trestle migrate status` shows the progress"
            ),
            (_, true) => write!(
                f,
                "model {model} is in effect as it was before, {version}; its rows move back"
            ),
        }
    }
}

impl fmt::Display for PlannedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entity {}", self.entity)?;
        if self.entity != self.former_entity {
            write!(f, " (was {})", self.former_entity)?;
        }
        let rows = counted(self.rows, "row moves", "rows move");
        writeln!(f, ", table {}: {rows}", self.table)?;
        for key in &self.keys {
            let PlannedKey {
                attribute,
                before,
                now,
            } = key;
            if before == now {
                writeln!(f, "  {attribute}: {now}")?;
            } else {
                writeln!(f, "  {attribute}: {before} -> {now}")?;
            }
        }
        Ok(())
    }
}
