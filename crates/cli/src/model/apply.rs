//! `trestle model apply`, `diff`, `list` and `remove`: models in a database.

use super::place::PlaceFlags;
use super::{bad_model, line, load, print_text, several};
use crate::args::LogFormat;
use crate::exit::{Code, Failure};
use crate::logging;
use crate::migrate::refusal;
use clap::Args;
use serde::Deserialize;
use std::path::PathBuf;
use trestle_binding::{ModelSummary, Outcome, Report};
use trestle_server::{ModelAnswer, ModelCall};

/// Flags of `trestle model apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyFlags {
    /// The model file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Fill in what rows from before lack (index keys, tags, defaults), and make what follows from them
    #[arg(long)]
    fill: bool,
    /// Delete global indexes that the model does not have, and build anew those that differ
    #[arg(long)]
    delete_indexes: bool,
    /// Only say what would be done, as `diff` does
    #[arg(long)]
    dry_run: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Flags of `trestle model diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffFlags {
    /// The model file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// As if applied with --fill
    #[arg(long)]
    fill: bool,
    /// As if applied with --delete-indexes
    #[arg(long)]
    delete_indexes: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Flags of `trestle model list`.
#[derive(Debug, Args)]
pub(crate) struct ListFlags {
    /// Print the text of this model instead
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print the list, or the model with its name, as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Flags of `trestle model remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveFlags {
    /// The model
    #[arg(value_name = "NAME")]
    name: String,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Applies a model.
pub(super) fn apply(flags: &ApplyFlags) -> Result<(), Failure> {
    let text = sound(&flags.file)?;
    let call = ModelCall::Apply {
        text,
        dry_run: flags.dry_run,
        fill: flags.fill,
        delete_indexes: flags.delete_indexes,
    };
    report(&ask(&flags.place, call)?, flags.json)
}

/// Says what applying a model would do.
pub(super) fn diff(flags: &DiffFlags) -> Result<(), Failure> {
    let text = sound(&flags.file)?;
    let call = ModelCall::Apply {
        text,
        dry_run: true,
        fill: flags.fill,
        delete_indexes: flags.delete_indexes,
    };
    report(&ask(&flags.place, call)?, flags.json)
}

/// Lists the models of a database, or prints one.
pub(super) fn list(flags: &ListFlags) -> Result<(), Failure> {
    let call = match flags.name.clone() {
        Some(name) => ModelCall::Text { name },
        None => ModelCall::List,
    };
    let text = ask(&flags.place, call)?;
    match &flags.name {
        Some(name) if flags.json => line(&serde_json::json!({ "name": name, "text": text }).to_string()),
        None if !flags.json => return print_list(&text),
        _ => line(text.trim_end()),
    }
    Ok(())
}

fn print_list(text: &str) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct List {
        models: Vec<ModelSummary>,
    }
    let list: List = understood(text)?;
    for model in &list.models {
        line(&listed(model));
    }
    if list.models.is_empty() {
        line("no models; `trestle model apply FILE` applies one");
    }
    Ok(())
}

/// Lets go of a model.
pub(super) fn remove(flags: &RemoveFlags) -> Result<(), Failure> {
    let name = flags.name.clone();
    let answer = ask(&flags.place, ModelCall::Remove { name })?;
    if flags.json {
        line(answer.trim_end());
        return Ok(());
    }
    line(&format!(
        "model {} is gone; its tables and rows are as they were, and nothing is enforced there",
        flags.name
    ));
    Ok(())
}

/// The text of a file with a sound model; otherwise everything that is wrong with it is said.
pub(crate) fn sound(file: &std::path::Path) -> Result<String, Failure> {
    let loaded = load(file)?;
    if loaded.model.is_none() {
        print_text(file, &loaded);
        return Err(bad_model(&file.display().to_string()));
    }
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read the model file {}: {error}", file.display())))
}

/// The answer's text, a refusal's included: its report tells.
pub(super) fn ask(place: &PlaceFlags, call: ModelCall) -> Result<String, Failure> {
    logging::start("warn", LogFormat::Text)?;
    match place.ask(call)? {
        ModelAnswer::Done(text) | ModelAnswer::Text(text) => Ok(text),
        ModelAnswer::Refused(text) => match refusal(&text) {
            Some(why) => Err(Failure::new(Code::ModelRefused, why)),
            None => Ok(text),
        },
        ModelAnswer::Unknown(why) | ModelAnswer::Failed(why) => Err(Failure::failed(why)),
        ModelAnswer::Unsound(why) => Err(Failure::new(Code::BadModel, why)),
    }
}

pub(crate) fn understood<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::failed(format!("the answer cannot be understood: {error}: {text}")))
}

fn report(text: &str, json: bool) -> Result<(), Failure> {
    let report: Report = understood(text)?;
    if json {
        line(text);
    } else {
        line(report.to_string().trim_end());
    }
    match report.outcome {
        Outcome::Applied | Outcome::NothingToDo | Outcome::Planned => Ok(()),
        Outcome::Refused => Err(Failure::new(
            Code::ModelRefused,
            format!("model {} was refused; nothing was changed", report.model),
        )),
        Outcome::Incomplete => Err(Failure::new(
            Code::ModelRefused,
            format!("rows from before do not fit model {}", report.model),
        )),
    }
}

fn listed(model: &ModelSummary) -> String {
    let loads = if model.loads { "" } else { "; does not load" };
    format!(
        "{}: version {}, applied {}, {} ({}), {}{loads}",
        model.name,
        model.version,
        model.applied,
        several(model.tables.len(), "table"),
        model.tables.join(", "),
        several(model.entities, "entity"),
    )
}
