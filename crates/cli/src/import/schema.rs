//! `trestle import cassandra` without a mapping: a model and a mapping proposed from a CQL schema, or from that of a live cluster.

use crate::exit::{Code, Failure};
use crate::model::line;
use std::io::{self, Write};
use std::path::Path;
use trestle_cassandra::{ProposedFiles, Schema};

/// Parses a schema; errors have a line and column.
pub(super) fn parse(file: &Path, text: &str) -> Result<Schema, Failure> {
    Schema::read(text).map_err(|error| Failure::new(Code::BadModel, format!("{}:{error}", file.display())))
}

/// The source of a schema.
pub(super) enum SchemaOrigin<'s> {
    File(&'s Path),
    Cluster(&'s Schema),
}

pub(super) fn propose(origin: SchemaOrigin<'_>, out: Option<&Path>, json: bool) -> Result<(), Failure> {
    let proposed = match origin {
        SchemaOrigin::File(file) => of_file(file, out)?,
        SchemaOrigin::Cluster(schema) => {
            trestle_cassandra::propose(schema, &name_of(schema, Path::new("cassandra")), None)
        }
    };
    if let Some(folder) = out {
        write(folder, &proposed)?;
    }
    if json {
        let object = match out {
            Some(folder) => serde_json::json!({
                "model": folder.join(MODEL), "mapping": folder.join(MAPPING), "notes": proposed.notes,
            }),
            None => serde_json::json!({
                "model_text": proposed.model, "mapping_text": proposed.mapping, "notes": proposed.notes,
            }),
        };
        line(&object.to_string());
        return Ok(());
    }
    tell(out, &proposed);
    Ok(())
}

fn of_file(file: &Path, out: Option<&Path>) -> Result<ProposedFiles, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    let schema = parse(file, &text)?;
    if schema.tables.is_empty() {
        return Err(Failure::usage(format!("{} has no CREATE TABLE", file.display())));
    }
    let name = name_of(&schema, file);
    Ok(trestle_cassandra::propose(
        &schema,
        &name,
        Some(&named_from(file, out)?),
    ))
}

const MODEL: &str = "model.toml";
const MAPPING: &str = "mapping.toml";

/// The keyspace, or the file.
fn name_of(schema: &Schema, file: &Path) -> String {
    let keyspace = schema.tables.iter().find_map(|table| table.keyspace.clone());
    let of_file = || file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    keyspace
        .or_else(of_file)
        .unwrap_or_else(|| "cassandra".to_owned())
}

/// The schema as the mapping names it: from its own folder, or from the root.
fn named_from(file: &Path, out: Option<&Path>) -> Result<String, Failure> {
    let name = || {
        file.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let Some(folder) = out else { return Ok(name()) };
    let cannot = |error: io::Error| Failure::usage(format!("cannot find {}: {error}", file.display()));
    let whole = file.canonicalize().map_err(cannot)?;
    match folder.canonicalize() {
        Ok(folder) if whole.parent() == Some(&folder) => Ok(name()),
        _ => Ok(whole.display().to_string()),
    }
}

fn write(folder: &Path, proposed: &ProposedFiles) -> Result<(), Failure> {
    let cannot =
        |path: &Path, error: io::Error| Failure::failed(format!("cannot write {}: {error}", path.display()));
    let files = [(MODEL, &proposed.model), (MAPPING, &proposed.mapping)];
    for (name, _) in files {
        let path = folder.join(name);
        if path.exists() {
            return Err(Failure::usage(format!(
                "{} exists already; choose another folder",
                path.display()
            )));
        }
    }
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| cannot(&path, error))?;
    }
    Ok(())
}

fn tell(out: Option<&Path>, proposed: &ProposedFiles) {
    let say = |text: &str| {
        // A closed standard error is not reported.
        let _ = writeln!(io::stderr(), "{text}");
    };
    for note in &proposed.notes {
        say(&format!("note: {note}"));
    }
    let Some(folder) = out else {
        line(&format!(
            "# {MODEL}\n{}\n# {MAPPING}\n{}",
            proposed.model, proposed.mapping
        ));
        say("next: save both with --out DIR");
        return;
    };
    let (model, mapping) = (folder.join(MODEL), folder.join(MAPPING));
    let (model, mapping) = (model.display(), mapping.display());
    say(&format!(
        "next: read {model} and {mapping}, then `trestle model check {model}`, `trestle model apply {model}` and \
         `trestle import cassandra {mapping} --dry-run`"
    ));
}
