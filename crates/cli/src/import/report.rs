//! The output of a running import: its progress, and each row that is not imported.

use crate::bar::{Bar, drawn};
use crate::exit::Failure;
use crate::model::line;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use trestle_cassandra::{Collision, Misfit, Observer};

/// The maximum number of rows shown on the terminal; --report and --json have all of them.
const SHOWN_MAX: u64 = 20;

/// Writes to the terminal and the report.
pub(super) struct Report {
    pub(super) json: bool,
    bar: Bar,
    file: Option<BufWriter<File>>,
    shown: u64,
    tells_collisions: bool,
    failed: Option<io::Error>,
}

impl Report {
    pub(super) fn new(json: bool, file: Option<&Path>) -> Result<Self, Failure> {
        let create = |file: &Path| {
            let created = File::options().create(true).append(true).open(file);
            created.map_err(|error| Failure::usage(format!("cannot write {}: {error}", file.display())))
        };
        Ok(Report {
            json,
            bar: Bar::new(),
            file: file.map(create).transpose()?.map(BufWriter::new),
            shown: 0,
            tells_collisions: true,
            failed: None,
        })
    }

    /// The same for checking what was just written: colliding rows were reported before.
    pub(super) fn without_collisions(mut self) -> Self {
        self.tells_collisions = false;
        self
    }

    pub(super) fn notes(&self, notes: &[String]) {
        for note in notes {
            let _ = writeln!(io::stderr(), "note: {note}");
        }
    }

    fn tell(&mut self, kind: &str, row: &(impl Serialize + std::fmt::Display)) {
        let object = serde_json::json!({ kind: row }).to_string();
        if let Some(file) = &mut self.file
            && let Err(error) = writeln!(file, "{object}")
        {
            self.failed.get_or_insert(error);
        }
        if self.json {
            line(&object);
            return;
        }
        self.shown += 1;
        if self.shown <= SHOWN_MAX {
            self.bar.clear();
            let _ = writeln!(io::stderr(), "{row}");
        } else if self.shown == SHOWN_MAX + 1 {
            self.bar.clear();
            let _ = writeln!(io::stderr(), "and more; --report FILE has all of them");
        }
    }

    /// Finishes writing the report.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        self.bar.clear();
        let flushed = self.file.as_mut().map_or(Ok(()), Write::flush);
        let failed = self.failed.take().or(flushed.err());
        failed.map_or(Ok(()), |error| {
            Err(Failure::failed(format!(
                "the report could not be written: {error}"
            )))
        })
    }
}

impl Observer for Report {
    fn misfit(&mut self, misfit: &Misfit) {
        self.tell("unfit", misfit);
    }

    fn collision(&mut self, collision: &Collision) {
        if self.tells_collisions {
            self.tell("in_the_way", collision);
        }
    }

    fn progress(&mut self, work: &'static str, done: u64, all: u64, rows: u64) {
        let share = if all == 0 { 1.0 } else { done as f64 / all as f64 };
        self.bar
            .show(work, || format!("{} {rows} rows {work}", drawn(share)));
    }
}
