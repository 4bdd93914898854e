//! `trestle model`: checks model files, explains their access patterns, prints their schema; applies them to databases.

mod apply;
mod import;
mod infer;
mod proposal;
mod repair;

use crate::exit::{Code, Failure};
pub(crate) use apply::sound;
use apply::{ApplyFlags, DiffFlags, ListFlags, RemoveFlags};
use clap::{Args, Subcommand};
use import::ImportFlags;
use infer::InferFlags;
pub(crate) use infer::propose;
use repair::RepairFlags;
use std::io::Write;
use std::path::{Path, PathBuf};
use trestle_model::{Loaded, Model, Severity};

/// What can be done with a model.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Check model files: report every mistake with its position
    Check(CheckFlags),
    /// Show what each access pattern sends, which index it reads, and what it costs
    Explain(ExplainFlags),
    /// Apply the model to a database, which enforces it from then on
    Apply(ApplyFlags),
    /// Show what applying the model would do, and what prevents it
    Diff(DiffFlags),
    /// List the models of a database, or print one
    List(ListFlags),
    /// Bring derived rows (heads, inverses, counts, unique values, entries, copies, keys) back in line with their rows
    Repair(RepairFlags),
    /// Remove a model; tables and rows stay
    Remove(RemoveFlags),
    /// Propose a model of a table from its rows
    Infer(InferFlags),
    /// Propose a model from a file of another tool
    Import(ImportFlags),
    /// Print the JSON Schema of model files, for editors
    Schema,
}

/// Flags of `trestle model check`.
#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    /// The model files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object per line: each problem, then a summary of each file
    #[arg(long)]
    json: bool,
}

/// Flags of `trestle model explain`.
#[derive(Debug, Args)]
pub(crate) struct ExplainFlags {
    /// The model file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// One access pattern [default: all]
    #[arg(value_name = "PATTERN")]
    pattern: Option<String>,
    /// Print one JSON object per line for each access pattern
    #[arg(long)]
    json: bool,
}

/// Runs one of the commands.
pub(crate) fn model(command: &ModelCommand) -> Result<(), Failure> {
    match command {
        ModelCommand::Check(flags) => check(flags),
        ModelCommand::Explain(flags) => explain(flags),
        ModelCommand::Apply(flags) => apply::apply(flags),
        ModelCommand::Diff(flags) => apply::diff(flags),
        ModelCommand::List(flags) => apply::list(flags),
        ModelCommand::Repair(flags) => repair::repair(flags),
        ModelCommand::Remove(flags) => apply::remove(flags),
        ModelCommand::Infer(flags) => infer::infer(flags),
        ModelCommand::Import(flags) => import::import(flags),
        ModelCommand::Schema => {
            line(&format!("{:#}", trestle_model::schema()));
            Ok(())
        }
    }
}

fn check(flags: &CheckFlags) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for file in &flags.files {
        let loaded = trestle_model::load_new(&read(file)?);
        if flags.json {
            print_json(file, &loaded);
        } else {
            print_text(file, &loaded);
        }
        if loaded.model.is_none() {
            wrong.push(file.display().to_string());
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(bad_model(&wrong.join(", ")))
}

fn bad_model(files: &str) -> Failure {
    Failure::new(
        Code::BadModel,
        format!("not a sound model: {files}; docs/reference/model-file.md describes model files"),
    )
}

/// The model in a file; its problems are printed if it is not sound.
pub(crate) fn load_sound(file: &Path) -> Result<trestle_model::Model, Failure> {
    let loaded = load(file)?;
    match loaded.model {
        Some(model) => Ok(model),
        None => {
            print_text(file, &loaded);
            Err(bad_model(&file.display().to_string()))
        }
    }
}

fn load(file: &Path) -> Result<Loaded, Failure> {
    Ok(trestle_model::load(&read(file)?))
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read the model file {}: {error}", file.display())))
}

fn print_text(file: &Path, loaded: &Loaded) {
    for problem in &loaded.problems {
        line(&format!("{}:{problem}", file.display()));
    }
    let counts = |severity| {
        loaded
            .problems
            .iter()
            .filter(|problem| problem.severity == severity)
            .count()
    };
    let (errors, warnings) = (counts(Severity::Error), counts(Severity::Warning));
    let found = format!("{}, {}", several(errors, "error"), several(warnings, "warning"));
    match &loaded.model {
        Some(model) => line(&format!(
            "{}: model {} is sound: {}; {found}",
            file.display(),
            model.name(),
            sizes(model)
        )),
        None => line(&format!("{}: {found}", file.display())),
    }
}

fn sizes(model: &Model) -> String {
    [
        several(model.tables().len(), "table"),
        several(model.entities().len(), "entity"),
        several(model.access_patterns().len(), "access pattern"),
    ]
    .join(", ")
}

fn several(count: usize, name: &str) -> String {
    match (count, name) {
        (1, name) => format!("1 {name}"),
        (_, "entity") => format!("{count} entities"),
        (_, name) => format!("{count} {name}s"),
    }
}

fn print_json(file: &Path, loaded: &Loaded) {
    let file = file.display().to_string();
    for problem in &loaded.problems {
        line(&serde_json::json!({ "file": file, "problem": problem }).to_string());
    }
    let summary = match &loaded.model {
        Some(model) => serde_json::json!({
            "sound": true,
            "model": model.name(),
            "tables": model.tables().len(),
            "entities": model.entities().len(),
            "access_patterns": model.access_patterns().len(),
        }),
        None => serde_json::json!({ "sound": false }),
    };
    line(&serde_json::json!({ "file": file, "summary": summary }).to_string());
}

fn explain(flags: &ExplainFlags) -> Result<(), Failure> {
    let loaded = load(&flags.file)?;
    let Some(model) = &loaded.model else {
        print_text(&flags.file, &loaded);
        return Err(bad_model(&flags.file.display().to_string()));
    };
    let patterns: Vec<_> = match &flags.pattern {
        None => model.access_patterns().iter().collect(),
        Some(name) => vec![model.access(name).ok_or_else(|| unknown(model, name))?],
    };
    for (at, pattern) in patterns.iter().enumerate() {
        let explained = pattern.explain();
        if flags.json {
            line(&serde_json::json!(explained).to_string());
        } else {
            let gap = if at == 0 { "" } else { "\n" };
            line(&format!("{gap}{}", explained.to_string().trim_end()));
        }
    }
    Ok(())
}

fn unknown(model: &Model, name: &str) -> Failure {
    let known: Vec<&str> = model
        .access_patterns()
        .iter()
        .map(|pattern| pattern.name())
        .collect();
    Failure::usage(format!(
        "there is no access pattern {name}; there is {}",
        known.join(", ")
    ))
}

/// A closed standard output is not reported; the exit code tells the outcome.
pub(crate) fn line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
