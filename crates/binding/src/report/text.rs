//! A report as lines for people.

use std::fmt;

use crate::counted;

use super::{Misfit, Obstacle, Outcome, Report, Step, TableRows};

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{} {step}", if self.is_done() { "done:" } else { "to do:" })?;
        }
        self.findings(f)?;
        self.verdict(f)
    }
}

impl Report {
    /// The findings: obstacles, rows and notes.
    pub fn findings(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for obstacle in &self.obstacles {
            writeln!(f, "{obstacle}")?;
        }
        for rows in &self.rows {
            write!(f, "{rows}")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        matches!(self.outcome, Outcome::Applied | Outcome::Incomplete)
    }

    fn verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { model, version, .. } = self;
        let version = version.map_or_else(|| "not stored".to_owned(), |version| format!("version {version}"));
        match self.outcome {
            Outcome::Applied => write!(f, "model {model} is in effect, {version}"),
            Outcome::Incomplete => write!(
                f,
                "model {model} is in effect, {version}, but rows from before could not be filled in; correct them and \
                 apply it again with --fill"
            ),
            Outcome::NothingToDo => write!(f, "nothing to do: model {model} is in effect, {version}"),
            Outcome::Planned => write!(f, "model {model} can be applied; nothing was changed"),
            Outcome::Refused => write!(f, "model {model} cannot be applied; nothing was changed"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::CreateTable { table } => write!(f, "create table {table}"),
            Step::CreateIndex { table, index } => write!(f, "table {table}: create index {index}"),
            Step::DeleteIndex { table, index } => write!(f, "table {table}: delete index {index}"),
            Step::EnableTimeToLive { table, attribute } => {
                write!(f, "table {table}: turn on time to live by {attribute}")
            }
            Step::EnableStream { table, view } => write!(f, "table {table}: open a stream of {view}"),
            Step::StoreModel { version } => write!(f, "store the model as version {version} and enforce it"),
            Step::FillIn { table } => {
                write!(f, "table {table}: fill in rows, and make what follows from them")
            }
            Step::MoveRows { table, rows } => {
                let rows = counted(*rows, "row to its new key", "rows to their new keys");
                write!(f, "table {table}: move {rows}")
            }
        }
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Obstacle {
            table,
            what,
            there,
            wanted,
            way_out,
        } = self;
        write!(
            f,
            "obstacle: table {table}: {what}\n  there:  {there}\n  wanted: {wanted}\n  help: {way_out}"
        )
    }
}

impl fmt::Display for TableRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong: u64 = self.misfits.iter().map(|misfit| misfit.rows).sum();
        let rows = counted(self.looked_at, "row", "rows");
        write!(f, "table {}: {rows}, of which ", self.table)?;
        if self.to_move > 0 {
            write!(f, "{}, ", counted(self.to_move, "moves", "move"))?;
        }
        let lacking = counted(self.to_fill_in, "lacks", "lack");
        let wrong = counted(wrong, "does", "do");
        writeln!(f, "{lacking} something that can be filled in and {wrong} not fit")?;
        for misfit in &self.misfits {
            write!(f, "{misfit}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}: {}", counted(self.rows, "row", "rows"), self.reason)?;
        for (at, key) in self.keys.iter().enumerate() {
            let example = if at == 0 { &self.example } else { "" };
            let gap = if at == 0 { ": " } else { "" };
            writeln!(f, "    {key}{gap}{example}")?;
        }
        let shown = u64::try_from(self.keys.len()).unwrap_or(u64::MAX);
        match self.rows.saturating_sub(shown) {
            0 => Ok(()),
            more => writeln!(f, "    and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(looked_at: u64, each: u64) -> String {
        let misfit = Misfit {
            rows: each,
            reason: "why".to_owned(),
            ..Misfit::default()
        };
        let rows = TableRows {
            table: "t".to_owned(),
            looked_at,
            to_move: each,
            to_fill_in: each,
            misfits: vec![misfit],
        };
        rows.to_string()
    }

    #[test]
    fn one_row_is_singular() {
        let one = "table t: 1 row, of which 1 moves, 1 lacks something that can be filled in and 1 does not fit\n  1 row: why\n";
        assert!(said(1, 1).starts_with(one), "{}", said(1, 1));
        let two = "table t: 3 rows, of which 2 move, 2 lack something that can be filled in and 2 do not fit\n  2 rows: why\n";
        assert!(said(3, 2).starts_with(two), "{}", said(3, 2));
        let moves = |rows| {
            let table = "t".to_owned();
            Step::MoveRows { table, rows }.to_string()
        };
        assert_eq!(moves(1), "table t: move 1 row to its new key");
        assert_eq!(moves(2), "table t: move 2 rows to their new keys");
    }
}
