//! `trestle verify`: checks a data directory and reports everything that does not agree.

use crate::args::{LogFormat, VerifyFlags};
use crate::exit::{Code, Failure};
use crate::logging;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};
use trestle_binding::{ModelFacts, ToDo, WrongFact, counted};
use trestle_embedded::{
    DirectoryAccess, Disagreement, StorageWatcher, StoreError, StoreErrorKind, Verified, VerifyError,
    VerifyOptions, VerifyWatcher, verify_directory,
};

/// The time between two updates of progress on a terminal.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Succeeds if everything in the directory agrees.
pub(crate) fn verify(flags: &VerifyFlags) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    let options = VerifyOptions {
        models: !flags.no_models,
    };
    let access = match flags.read_only {
        true => DirectoryAccess::ReadOnly,
        false => DirectoryAccess::ReadWrite,
    };
    check_with(&flags.dir, access, flags.json, options)
}

/// Like [`verify`], for other commands that end with it.
pub(crate) fn check(directory: &Path, json: bool, options: VerifyOptions) -> Result<(), Failure> {
    check_with(directory, DirectoryAccess::ReadWrite, json, options)
}

fn check_with(
    directory: &Path,
    access: DirectoryAccess,
    json: bool,
    options: VerifyOptions,
) -> Result<(), Failure> {
    let mut printer = Printer::new(json);
    let verified = verify_directory(directory, access, options, &mut printer);
    let verified = verified.map_err(|error| match error {
        VerifyError::Store(error) => cannot_open(directory, &error),
        VerifyError::Read(error) => cannot_read(directory, &error),
        other => Failure::failed(other),
    })?;
    printer.finish(&verified);
    if verified.disagreements() == 0 {
        return Ok(());
    }
    Err(Failure::new(Code::Disagreements, what_now(&verified, directory)))
}

fn what_now(verified: &Verified, directory: &Path) -> String {
    let count = counted(verified.disagreements(), "disagreement", "disagreements");
    let place = directory.display();
    if verified.storage.disagreements > 0 {
        return format!(
            "{count} in {place}; keep a copy of the directory, then restore a backup (docs/operate/backup.md)"
        );
    }
    let mut kinds = verified.models.iter().flat_map(|facts| facts.wrong.keys());
    if kinds.all(|kind| kind.needs_correction()) {
        return format!(
            "{count} in {place}; no repair can tell what these rows should be: correct the rows that are named"
        );
    }
    format!("{count} in {place}; `trestle model repair --data {place}` brings derived rows back in line")
}

/// Why a tool cannot use a directory.
pub(crate) fn cannot_open(directory: &Path, error: &StoreError) -> Failure {
    match error.kind() {
        StoreErrorKind::InUse => Failure::new(Code::DataInUse, error),
        _ => cannot_read(directory, error),
    }
}

fn cannot_read(directory: &Path, error: &dyn Display) -> Failure {
    let place = directory.display();
    Failure::failed(format!("cannot read the data directory {place}: {error}"))
}

/// Prints disagreements as they are found.
struct Printer {
    json: bool,
    /// Whether progress is shown.
    shows_progress: bool,
    last_shown: Instant,
}

impl Printer {
    fn new(json: bool) -> Self {
        Printer {
            json,
            shows_progress: io::stderr().is_terminal(),
            last_shown: Instant::now(),
        }
    }

    /// A closed standard output is not reported; the exit code tells the outcome.
    fn line(&self, text: &str) {
        let _ = writeln!(io::stdout(), "{text}");
    }

    fn clear_progress(&self) {
        if self.shows_progress {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn finish(&self, verified: &Verified) {
        self.clear_progress();
        if self.json {
            self.line(&serde_json::json!({ "summary": as_json(verified) }).to_string());
            return;
        }
        let remarkable = |facts: &&ModelFacts| {
            facts.disagreements() > 0 || facts.to_do != ToDo::default() || facts.not_audited.is_some()
        };
        for facts in verified.models.iter().filter(remarkable) {
            self.line(&facts.to_string());
        }
        self.line(&text(verified));
    }
}

impl StorageWatcher for Printer {
    fn found(&mut self, found: Disagreement) {
        self.clear_progress();
        if self.json {
            self.line(&serde_json::json!({ "disagreement": found }).to_string());
            return;
        }
        let kind = found.kind.name();
        let mut place = found.table.unwrap_or_else(|| found.space.to_owned());
        if let Some(index) = found.index {
            place = format!("{place}/{index}");
        }
        let item = found.item.map(|item| format!(" item {item}")).unwrap_or_default();
        self.line(&format!(
            "{place}: {kind}: {}{item} [{} {}]",
            found.what, found.space, found.key
        ));
    }

    fn progress(&mut self, what: &'static str, rows: u64) {
        if self.shows_progress && self.last_shown.elapsed() >= PROGRESS_INTERVAL {
            let _ = write!(io::stderr(), "\r\x1b[K{what}: {rows}");
            let _ = io::stderr().flush();
            self.last_shown = Instant::now();
        }
    }
}

impl VerifyWatcher for Printer {
    fn wrong(&mut self, fact: &WrongFact) {
        self.clear_progress();
        if self.json {
            self.line(&serde_json::json!({ "disagreement": fact }).to_string());
        } else {
            self.line(&fact.to_string());
        }
    }
}

/// The summary of storage, with the models and the number of everything that disagrees.
fn as_json(verified: &Verified) -> serde_json::Value {
    let mut summary = serde_json::json!(verified.storage);
    if let Some(members) = summary.as_object_mut() {
        members.insert("disagreements".to_owned(), verified.disagreements().into());
        members.insert("models".to_owned(), serde_json::json!(verified.models));
        members.insert("block_kib".to_owned(), serde_json::json!(verified.block_kib));
    }
    summary
}

fn text(verified: &Verified) -> String {
    let summary = &verified.storage;
    let verdict = match verified.disagreements() {
        0 => "everything agrees".to_owned(),
        wrong => counted(wrong, "disagreement", "disagreements"),
    };
    let left_over = match summary.rows_to_clear {
        0 => String::new(),
        rows => format!(
            ", {} of dropped effects still to be removed",
            counted(rows, "row", "rows")
        ),
    };
    let models = match verified.models.len() as u64 {
        0 => String::new(),
        models => {
            let rows: u64 = verified.models.iter().map(|facts| facts.rows).sum();
            format!(
                ", {} with {}",
                counted(models, "model", "models"),
                counted(rows, "row", "rows")
            )
        }
    };
    let blocks = verified
        .block_kib
        .map_or_else(String::new, |kib| format!(", blocks of {kib} KiB"));
    format!(
        "{verdict}: {} with {}, {} with {}, {} with {}, {}, {}{models}{left_over}{blocks}",
        counted(summary.tables, "table", "tables"),
        counted(summary.items, "item", "items"),
        counted(summary.indexes, "index", "indexes"),
        counted(summary.index_rows, "row", "rows"),
        counted(summary.streams, "stream", "streams"),
        counted(summary.change_records, "record", "records"),
        counted(summary.expiry_entries, "expiry entry", "expiry entries"),
        counted(summary.tokens, "token", "tokens"),
    )
}
