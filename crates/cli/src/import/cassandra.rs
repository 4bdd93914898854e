//! `trestle import cassandra`.

use super::live::LiveFlags;
use super::model::{ImportModel, ModelFlags};
use super::report::Report;
use super::schema::SchemaOrigin;
use super::{live, schema, show};
use crate::administration::PlaceFlags;
use crate::args::LogFormat;
use crate::database::Database;
use crate::exit::Failure;
use crate::logging;
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use trestle_cassandra::{
    Import, ImportSettings, ImportState, Mapping, Observer, Plan, RunError, Schema, Verified,
};
use trestle_env::{Clock, SystemClock};

/// There are several commands in one.
pub(crate) const USAGE: &str = "trestle import cassandra <MAPPING> [OPTIONS]
       trestle import cassandra <MAPPING> --contact-point <HOST[:PORT]> [OPTIONS]
       trestle import cassandra --schema <FILE> [--out <DIR>] [--json]
       trestle import cassandra --contact-point <HOST[:PORT]> --keyspace <NAME> [--out <DIR>] [--json]";

/// Flags of `trestle import cassandra`.
#[derive(Debug, Args)]
pub(crate) struct CassandraFlags {
    /// The mapping file
    #[arg(
        value_name = "MAPPING",
        required_unless_present_any = ["schema", "contact_points"],
        conflicts_with_all = ["schema", "out"]
    )]
    mapping: Option<PathBuf>,
    /// Propose a model file and a mapping file from this CQL schema, as `DESCRIBE KEYSPACE` prints it
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// The folder in which they are written, as model.toml and mapping.toml [default: standard output]
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Check every row and write none; with --model, no database is needed
    #[arg(long, conflicts_with_all = ["verify", "schema"])]
    dry_run: bool,
    /// Compare the database with the source and write nothing
    #[arg(long, conflicts_with = "schema")]
    verify: bool,
    /// Do not compare the database with the source in the end
    #[arg(long, conflicts_with_all = ["verify", "dry_run", "schema"])]
    no_verify: bool,
    /// Leave out rows that do not fit; without it, nothing is written while there is one
    #[arg(long, conflicts_with = "schema")]
    skip_unfit: bool,
    /// Replace rows that differ; rows with a later write time are still kept
    #[arg(long, conflicts_with = "schema")]
    overwrite: bool,
    /// Write each row that does not fit or conflicts with another row into this file, as a JSON object per line
    #[arg(long, value_name = "FILE", conflicts_with = "schema")]
    report: Option<PathBuf>,
    /// Print one JSON object per line: each row that does not fit or conflicts with another row, then the summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    live: LiveFlags,
    #[command(flatten)]
    model: ModelFlags,
    #[command(flatten)]
    place: PlaceFlags,
}

pub(super) fn import(flags: &CassandraFlags) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    let cluster = flags.live.connect()?;
    let Some(file) = &flags.mapping else {
        let origin = match &cluster {
            Some(cluster) => SchemaOrigin::Cluster(live::schema(cluster)),
            None => SchemaOrigin::File(flags.schema.as_deref().unwrap_or(Path::new(""))),
        };
        return schema::propose(origin, flags.out.as_deref(), flags.json);
    };
    let text = read(file)?;
    let shown = file.display();
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{shown} cannot be used as a mapping:\n{error}"))
    };
    let mapping = Mapping::read(&text).map_err(|error| wrong(&error))?;
    let found = ImportModel::find(&flags.model, &flags.place, &mapping.model, flags.dry_run)?;
    let (plan, schema_text) = match cluster {
        Some(cluster) => {
            let plan = live::bind(&mapping, cluster, found.model).map_err(|error| wrong(&error))?;
            let tables: Vec<_> = plan.imports.iter().map(|import| &import.table).collect();
            let tables = format!("{tables:?}");
            (plan, tables)
        }
        None => {
            let folder = file.parent().unwrap_or(Path::new("."));
            let (schema, text) = schema_of(&mapping, folder).map_err(|error| wrong(&error))??;
            let plan = Plan::bind(&mapping, &schema, found.model, folder);
            (plan.map_err(|error| wrong(&error))?, text)
        }
    };
    let report = Report::new(flags.json, flags.report.as_deref())?;
    report.notes(&plan.notes);
    found.writer.check(&plan)?;
    let plan = Arc::new(plan);
    let now_ms = SystemClock::new().now().as_millis();
    match found.database {
        None => check(&plan, now_ms, report),
        Some(_) if flags.dry_run => check(&plan, now_ms, report),
        Some(database) if flags.verify => verify(&database, &plan, now_ms, report).map(drop),
        Some(database) => {
            let import = Import {
                plan,
                settings: ImportSettings {
                    overwrite: flags.overwrite,
                    skip_unfit: flags.skip_unfit,
                    keeps_times: found.writer.keeps_times(),
                    now_ms,
                },
                state: ImportState::of(&text, &schema_text),
            };
            write(&database, &import, flags.no_verify, report)
        }
    }
}

/// The schema that a mapping names, and its text.
fn schema_of(mapping: &Mapping, folder: &Path) -> Result<Result<(Schema, String), Failure>, &'static str> {
    let Some(name) = &mapping.schema else {
        return Err(
            "`schema = \"…\"` is missing, which names the CQL schema; or read a live cluster with --contact-point",
        );
    };
    let file = folder.join(name);
    Ok(read(&file).and_then(|text| Ok((schema::parse(&file, &text)?, text))))
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))
}

fn check(plan: &Arc<Plan>, now_ms: u64, mut report: Report) -> Result<(), Failure> {
    let checked = plan.check(now_ms, &mut report).map_err(failure)?;
    report.end()?;
    show::checked(&checked, report.json)?;
    match checked.unfit() {
        0 => Ok(()),
        unfit => Err(Failure::failed(format!(
            "{unfit} rows do not fit; nothing was written"
        ))),
    }
}

fn write(database: &Database, import: &Import, no_verify: bool, mut report: Report) -> Result<(), Failure> {
    let begun = Instant::now();
    let written = database.wait(|db| Box::pin(import.run(db, &mut report)));
    let totals = match written {
        Ok(totals) => totals,
        Err(error) => {
            report.end()?;
            return Err(failure(error));
        }
    };
    show::written(&totals, begun.elapsed(), report.json)?;
    let collisions = totals.sum(|counts| counts.collisions);
    // All of them fitted when the import began: a file was changed since.
    let unfit = match import.settings.skip_unfit {
        true => 0,
        false => totals.sum(|counts| counts.unfit),
    };
    if no_verify {
        report.end()?;
    } else {
        verify(
            database,
            &import.plan,
            import.settings.now_ms,
            report.without_collisions(),
        )?;
    }
    if unfit > 0 {
        return Err(Failure::failed(format!(
            "{unfit} rows did not fit and were not written; correct them and import again"
        )));
    }
    match collisions {
        0 => Ok(()),
        rows => Err(Failure::failed(format!(
            "{rows} rows were not written, because others are in their way"
        ))),
    }
}

fn verify(
    database: &Database,
    plan: &Arc<Plan>,
    now_ms: u64,
    mut report: Report,
) -> Result<Vec<Verified>, Failure> {
    let begun = Instant::now();
    let verified = database.wait(|db| Box::pin(plan.verify(db, now_ms, &mut report as &mut dyn Observer)));
    let verified = verified.map_err(failure)?;
    report.end()?;
    show::verified(&verified, begun.elapsed(), report.json)?;
    match verified.iter().all(Verified::holds) {
        true => Ok(verified),
        false => Err(Failure::failed(
            "the database differs from the source; if rows of a live cluster changed during the import, run the same command again",
        )),
    }
}

fn failure(error: RunError) -> Failure {
    match error {
        RunError::File { .. } => Failure::usage(error),
        RunError::Database(_) | RunError::Cluster { .. } => {
            Failure::failed(format!("{error}; run the same command again to continue"))
        }
        other => Failure::failed(other),
    }
}
