//! The status of a migration, for people and for programs.

use std::fmt;

use serde::{Deserialize, Serialize};
use trestle_env::{Timestamp, iso_8601_millis};

use crate::counted;

use super::figures::{self, Meter};
use super::{Document, MigrationState, Rate, StuckRows, TableProgress};

/// The status of a migration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MigrationStatus {
    /// The model.
    pub model: String,
    /// Its state.
    pub state: MigrationState,
    /// Whether the sweep is paused.
    pub paused: bool,
    /// Whether there are rows that cannot move. The migration continues when they can.
    pub held_up: bool,
    /// The version from which rows move.
    pub from_version: u64,
    /// The version to which rows move.
    pub to_version: u64,
    /// After a rollback, the new version that equals `from_version`.
    pub rolled_back_as: Option<u64>,
    /// The maximum number of rows to move per second; `null` if there is no limit.
    pub rate: Rate,
    /// Whether it finishes as soon as it is verified.
    pub finishes_by_itself: bool,
    /// The finished fraction of the tables in this pass, from 0 to 1.
    pub done: f64,
    /// Rows that the sweep has moved, without those moved by writes. After a crash, the number that was last
    /// stored.
    pub rows_moved: u64,
    /// The approximate number of rows still to be moved: those that writes moved or deleted meanwhile count
    /// until the sweep has finished their table.
    pub rows_remaining: u64,
    /// The measured number of rows checked per second.
    pub rows_per_second: Option<f64>,
    /// The remaining time of this pass at that speed.
    pub seconds_left: Option<f64>,
    /// Reads of former places.
    pub double_reads: u64,
    /// Rows that cannot move.
    pub stuck: StuckRows,
    /// The last error, if no later attempt succeeded.
    pub error: Option<String>,
    /// The tables in which rows move.
    pub tables: Vec<TableStatus>,
    /// When it was planned, in UTC.
    pub planned: String,
    /// When the new version took effect, in UTC.
    pub started: Option<String>,
    /// When its state last changed, in UTC.
    pub changed: String,
    /// The next step for the user.
    pub next: String,
}

/// The progress of a pass over one table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableStatus {
    /// The table.
    pub table: String,
    /// Rows in the table when the migration began.
    pub rows: u64,
    /// Rows to be moved at that time.
    pub to_move: u64,
    /// Rows read in this pass.
    pub looked_at: u64,
    /// Rows moved by the sweep.
    pub moved: u64,
    /// The finished fraction of the table in this pass, from 0 to 1.
    pub done: f64,
}

impl MigrationStatus {
    /// The status, from the stored document and the measured speed.
    #[must_use]
    pub fn of(document: &Document, meter: Option<Meter>, double_reads: u64, now: Timestamp) -> Self {
        let is_at_work = document.has_work() && !document.is_held_up();
        let speed = meter
            .filter(|_| is_at_work)
            .map(|meter| meter.speed(document, now));
        let speed = speed.unwrap_or_default();
        let time = |at: Timestamp| format!("{}Z", iso_8601_millis(at));
        MigrationStatus {
            model: document.model.clone(),
            state: document.state,
            paused: document.paused,
            held_up: document.is_held_up(),
            from_version: document.from,
            to_version: document.to,
            rolled_back_as: document.back,
            rate: document.rate,
            finishes_by_itself: document.finishes,
            done: done(document),
            rows_moved: document.tables.iter().map(|table| table.moved).sum(),
            rows_remaining: remaining(document),
            rows_per_second: speed.rows_per_second,
            seconds_left: speed.left.map(|left| left.as_secs_f64()),
            double_reads,
            stuck: document.stuck.clone(),
            error: document.error.clone(),
            tables: document.tables.iter().map(table_status).collect(),
            planned: time(document.planned),
            started: document.started.map(time),
            changed: time(document.changed),
            next: next(document),
        }
    }

    /// Whether nothing more happens without a command.
    #[must_use]
    pub fn is_at_rest(&self) -> bool {
        self.paused || self.held_up || !self.state.may_hold_rows()
    }
}

fn table_status(table: &TableProgress) -> TableStatus {
    TableStatus {
        table: table.table.clone(),
        rows: table.rows,
        to_move: table.to_move,
        looked_at: table.looked_at,
        moved: table.moved,
        done: table.walked(),
    }
}

fn done(document: &Document) -> f64 {
    match document.state {
        MigrationState::Planned | MigrationState::Dual => 0.0,
        MigrationState::Sweeping | MigrationState::Verifying | MigrationState::RollingBack => {
            figures::walked(document)
        }
        MigrationState::Verified | MigrationState::Done | MigrationState::RolledBack => 1.0,
    }
}

fn remaining(document: &Document) -> u64 {
    match document.state {
        MigrationState::Verified | MigrationState::Done | MigrationState::RolledBack => 0,
        _ if document.looks_only => document.found,
        _ => {
            let open = document.tables.iter().filter(|table| !table.finished);
            let left: u64 = open.map(|table| table.to_move.saturating_sub(table.moved)).sum();
            left + document.stuck.rows
        }
    }
}

/// The next step, in words.
fn next(document: &Document) -> String {
    let model = &document.model;
    match document.state {
        MigrationState::Planned => format!(
            "`trestle migrate start` puts the new version into effect and moves the rows; `trestle migrate rollback {model}` \
             deletes the plan"
        ),
        MigrationState::RollingBack if document.paused => {
            format!("`trestle migrate resume {model}` continues the rollback")
        }
        _ if document.paused => {
            format!(
                "`trestle migrate resume {model}` continues; `trestle migrate rollback {model}` rolls back"
            )
        }
        MigrationState::RollingBack if document.is_held_up() => format!(
            "rows cannot move back: write or remove them, then `trestle migrate resume {model}` tries again"
        ),
        _ if document.is_held_up() => format!(
            "rows cannot move: correct them or the rows at their new keys, then `trestle migrate resume {model}` tries again; `trestle \
             migrate rollback {model}` rolls back"
        ),
        MigrationState::Dual | MigrationState::Sweeping | MigrationState::Verifying => {
            format!("rows move in the background; `trestle migrate pause {model}` stops the sweep")
        }
        MigrationState::RollingBack => {
            format!("rows move back in the background; `trestle migrate pause {model}` stops the sweep")
        }
        MigrationState::Verified => format!(
            "`trestle migrate finish {model}` when no client uses keys of version {} any more; `trestle migrate rollback \
             {model}` goes back",
            document.from
        ),
        MigrationState::Done | MigrationState::RolledBack => "nothing: the migration has ended".to_owned(),
    }
}

impl fmt::Display for MigrationStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MigrationStatus {
            model,
            state,
            from_version,
            to_version,
            ..
        } = self;
        write!(
            f,
            "{model}: version {from_version} to {to_version}, {state} since {}",
            self.changed
        )?;
        writeln!(
            f,
            "{}",
            match (self.paused, self.held_up) {
                (true, _) => "; paused",
                (_, true) => "; held up",
                _ => "",
            }
        )?;
        for table in &self.tables {
            writeln!(
                f,
                "  table {}: {:.1} % looked at, {} moved",
                table.table,
                table.done * 100.0,
                counted(table.moved, "row", "rows")
            )?;
        }
        if *state != MigrationState::Planned {
            self.figures(f)?;
        }
        for stuck in &self.stuck.shown {
            writeln!(
                f,
                "  cannot move: table {}, {}: {}",
                stuck.table, stuck.key, stuck.reason
            )?;
        }
        let shown = self.stuck.shown.len() as u64;
        if self.stuck.rows > shown {
            let more = counted(self.stuck.rows - shown, "more row", "more rows");
            writeln!(f, "  and {more}")?;
        }
        if let Some(error) = &self.error {
            writeln!(f, "  error: {error}; it is tried again")?;
        }
        write!(f, "  next: {}", self.next)
    }
}

impl MigrationStatus {
    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "  {} moved, about {} to move, {} stuck, {}; rate {}",
            counted(self.rows_moved, "row", "rows"),
            self.rows_remaining,
            counted(self.stuck.rows, "row", "rows"),
            counted(self.double_reads, "double read", "double reads"),
            self.rate
        )?;
        if let Some(speed) = self.rows_per_second {
            write!(f, ", {speed:.0} rows/s looked at")?;
        }
        if let Some(left) = self.seconds_left {
            write!(f, ", about {left:.0} s left")?;
        }
        writeln!(f)
    }
}
