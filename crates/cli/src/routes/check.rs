//! `trestle routes check`: reports all errors in route files, with their positions.

use super::{PAGE, line, read};
use crate::exit::{Code, Failure};
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trestle_env::SystemClock;
use trestle_events::{Destination, RouteFile, read_routes};
use trestle_model::{Model, Problem, Severity};
use trestle_targets::Surroundings;

/// Flags of `trestle routes check`.
#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A model with the entities that the routes name; may be given more than once
    #[arg(long = "model", value_name = "FILE")]
    models: Vec<PathBuf>,
    /// Print one JSON object per line: each problem, then a summary of each file
    #[arg(long)]
    json: bool,
}

/// A file with its errors, and its model if it has one.
struct Checked<'f> {
    file: &'f Path,
    routes: usize,
    problems: Vec<Problem>,
}

pub(super) fn check(flags: &CheckFlags) -> Result<(), Failure> {
    let models = models(flags)?;
    let mut wrong = Vec::new();
    for file in &flags.files {
        let checked = checked(file, &models)?;
        checked.print(flags.json);
        if !checked.is_sound() {
            wrong.push(file.display().to_string());
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(bad_routes(&wrong.join(", ")))
}

pub(super) fn bad_routes(files: &str) -> Failure {
    let message = format!("the routes cannot be used: {files}; {PAGE} describes route files");
    Failure::new(Code::BadModel, message)
}

/// The models among all files, in which entities are looked up.
fn models(flags: &CheckFlags) -> Result<Vec<Arc<Model>>, Failure> {
    let mut models = Vec::new();
    for file in flags.models.iter().chain(&flags.files) {
        let loaded = trestle_model::load(&read(file)?);
        models.extend(loaded.model.map(Arc::new));
    }
    Ok(models)
}

fn checked<'f>(file: &'f Path, models: &[Arc<Model>]) -> Result<Checked<'f>, Failure> {
    let text = read(file)?;
    let RouteFile { routes, mut problems } = read_routes(&text, models, &faults);
    if is_model(&text) {
        for problem in trestle_model::load(&text).problems {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    problems.sort_by_key(|problem| (problem.line, problem.column));
    Ok(Checked {
        file,
        routes: routes.len(),
        problems,
    })
}

/// Whether a file is a model file.
pub(super) fn is_model(text: &str) -> bool {
    let table: Option<toml::Table> = text.parse().ok();
    table.is_some_and(|table| table.contains_key("model"))
}

/// The errors of a destination, whose environment variables are known only where the routes will run.
fn faults(destination: &Destination) -> Vec<String> {
    let named = |name: &str| std::env::var(name).ok().or_else(|| Some("named".to_owned()));
    let surroundings = Surroundings::with_variables(Arc::new(SystemClock::new()), named);
    match destination.kind() {
        Some(("queue" | "handler", _)) => Vec::new(),
        _ => match trestle_targets::open(destination, &surroundings) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(ToString::to_string).collect(),
        },
    }
}

impl Checked<'_> {
    fn is_sound(&self) -> bool {
        self.problems
            .iter()
            .all(|problem| problem.severity != Severity::Error)
    }

    fn print(&self, as_json: bool) {
        let file = self.file.display();
        for problem in &self.problems {
            line(&if as_json {
                json!({ "file": file.to_string(), "problem": problem }).to_string()
            } else {
                format!("{file}:{problem}")
            });
        }
        line(&if as_json {
            let summary = json!({ "sound": self.is_sound(), "routes": self.routes });
            json!({ "file": file.to_string(), "summary": summary }).to_string()
        } else {
            format!("{file}: {}", self.summary())
        });
    }

    fn summary(&self) -> String {
        let several = |count: usize, name: &str| match count {
            1 => format!("1 {name}"),
            _ => format!("{count} {name}s"),
        };
        let problems = several(self.problems.len(), "problem");
        match (self.is_sound(), self.routes) {
            (true, 0) => format!("it has no routes; {problems}"),
            (true, 1) => format!("1 route is sound; {problems}"),
            (true, routes) => format!("{routes} routes are sound; {problems}"),
            (false, _) => problems,
        }
    }
}
