//! `trestle model apply`, `diff`, `list` and `remove`: models in a database.

use super::{bad_model, line, load, print_text, read, several};
use crate::administration::{PlaceFlags, print_json, reported};
use crate::args::LogFormat;
use crate::exit::{Code, Failure};
use crate::logging;
use clap::Args;
use std::path::PathBuf;
use trestle_admin::{AdministrationExt, ApplyModel, Call, ListModels, ModelList, ReadModel, RemoveModel};
use trestle_binding::{ModelSummary, Outcome, Report};

/// Flags of `trestle model apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyFlags {
    /// The model file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Fill in what existing rows lack (index keys, tags, defaults), and apply effects to them (heads, counters, unique values)
    #[arg(long)]
    fill: bool,
    /// Delete global indexes that the model does not have, and build those that differ again
    #[arg(long)]
    delete_indexes: bool,
    /// Only show what would be done, as `diff` does
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
    let call = ApplyModel {
        text,
        dry_run: flags.dry_run,
        fill: flags.fill,
        delete_indexes: flags.delete_indexes,
        ..ApplyModel::default()
    };
    report(&ask_report(&flags.place, call)?, flags.json)
}

/// Says what applying a model would do.
pub(super) fn diff(flags: &DiffFlags) -> Result<(), Failure> {
    let text = sound(&flags.file)?;
    let call = ApplyModel {
        text,
        dry_run: true,
        fill: flags.fill,
        delete_indexes: flags.delete_indexes,
        ..ApplyModel::default()
    };
    report(&ask_report(&flags.place, call)?, flags.json)
}

/// Lists the models of a database, or prints one.
pub(super) fn list(flags: &ListFlags) -> Result<(), Failure> {
    let Some(name) = flags.name.clone() else {
        let list = ask(&flags.place, ListModels {})?;
        return if flags.json {
            print_json(&list)
        } else {
            print_list(&list)
        };
    };
    let model = ask(&flags.place, ReadModel { name })?;
    if flags.json {
        return print_json(&model);
    }
    line(model.text.trim_end());
    Ok(())
}

fn print_list(list: &ModelList) -> Result<(), Failure> {
    for model in &list.models {
        line(&listed(model));
    }
    if list.models.is_empty() {
        line("no models; `trestle model apply FILE` applies one");
    }
    Ok(())
}

/// Removes a model.
pub(super) fn remove(flags: &RemoveFlags) -> Result<(), Failure> {
    let name = flags.name.clone();
    let removed = ask(&flags.place, RemoveModel { name })?;
    if flags.json {
        return print_json(&removed);
    }
    line(&format!(
        "model {} is gone; its tables and rows are as they were, and nothing is enforced there",
        flags.name
    ));
    Ok(())
}

/// The text of a file with a valid model; otherwise all its errors are printed.
pub(crate) fn sound(file: &std::path::Path) -> Result<String, Failure> {
    let loaded = load(file)?;
    if loaded.model.is_none() {
        print_text(file, &loaded);
        return Err(bad_model(&file.display().to_string()));
    }
    read(file)
}

/// Makes a call.
pub(super) fn ask<C: Call>(place: &PlaceFlags, call: C) -> Result<C::Answer, Failure> {
    logging::start("warn", LogFormat::Text)?;
    Ok(place.administration()?.ask(call)?)
}

/// Applies a model; returns its report, also if it was refused.
fn ask_report(place: &PlaceFlags, call: ApplyModel) -> Result<Report, Failure> {
    logging::start("warn", LogFormat::Text)?;
    let administration = match call.dry_run {
        true => place.administration()?,
        false => place.administration_to_apply()?,
    };
    administration.ask(call).or_else(reported)
}

fn report(report: &Report, json: bool) -> Result<(), Failure> {
    if json {
        print_json(report)?;
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
            format!("existing rows do not fit model {}", report.model),
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
