//! `trestle copy`: copies tables to another database while clients write.

mod run;
mod show;
mod sides;

use crate::administration::{RunningServer, START_ONE, print_json};
use crate::exit::{Code, Failure};
use crate::model::line;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::{Args, Subcommand};
use sides::SideFlags;
use std::path::{Path, PathBuf};
use std::time::Duration;
use trestle_admin::{AdministrationExt, ListPausedTables, ResumeWrites};
use trestle_copy::{CopyError, CopyPhase, CopySettings, StateFile};
use trestle_env::{Timestamp, iso_8601_millis};

pub(crate) const COPY_HELP: &str = "FROM and TO are each a data directory, the URL of a server of Trestle's, the URL of an endpoint that speaks \
DynamoDB's protocol, or dynamodb:REGION for Amazon DynamoDB. Access keys and regions come from the variables that AWS names, unless flags say \
otherwise. docs/remote/copy.md describes it.";

/// Flags of `trestle copy`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct CopyFlags {
    #[command(subcommand)]
    command: Option<CopyCommand>,
    /// Where rows come from
    #[arg(value_name = "FROM", required = true)]
    from: Option<String>,
    /// Where they go
    #[arg(value_name = "TO", required = true)]
    to: Option<String>,
    /// Only this table; may be given more than once [default: all]
    #[arg(long = "table", value_name = "NAME")]
    tables: Vec<String>,
    /// Cut over as soon as the target has everything, without waiting for `trestle copy cut-over`
    #[arg(long)]
    cut_over: bool,
    /// Where the state of the copy is kept
    #[arg(long, value_name = "FILE", default_value = STATE)]
    state: PathBuf,
    /// Leave models out: rows are copied as they are, and no model takes effect
    #[arg(long, conflicts_with = "model")]
    no_models: bool,
    /// A model file for the target: after the cut-over, rows move to its keys there in a migration
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Show what would be copied, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not compare both sides
    #[arg(long, conflicts_with = "repair")]
    no_verify: bool,
    /// Copy rows again that differ
    #[arg(long)]
    repair: bool,
    /// Maximum of read units per second
    #[arg(long, value_name = "UNITS")]
    read_units: Option<f64>,
    /// Maximum of write units per second
    #[arg(long, value_name = "UNITS")]
    write_units: Option<f64>,
    /// Segments of each table
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=4096))]
    segments: u32,
    /// Segments that are copied at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// Where the copy cannot pause writers: cut over when no change has come for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15.0)]
    settle: f64,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sides: SideFlags,
}

const STATE: &str = "trestle-copy.json";
const NONE_PAUSED: &str = "no table is paused";

#[derive(Debug, Subcommand)]
enum CopyCommand {
    /// Switch over to the target of a running copy.
    CutOver(CutOverFlags),
    /// List the tables whose writes are paused, at a Trestle server.
    PausedTables(PausedFlags),
    /// Allow writes again that a cut-over has paused, at a Trestle server.
    ResumeWrites(ResumeFlags),
}

#[derive(Debug, Args)]
struct CutOverFlags {
    /// The state of the copy
    #[arg(long, value_name = "FILE", default_value = STATE)]
    state: PathBuf,
}

#[derive(Debug, Args)]
struct PausedFlags {
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerFlags,
}

#[derive(Debug, Args)]
struct ResumeFlags {
    /// Only this table; may be given more than once [default: all that are paused]
    #[arg(long = "table", value_name = "NAME")]
    tables: Vec<String>,
    #[command(flatten)]
    server: ServerFlags,
}

/// Runs the command.
pub(crate) fn copy(flags: CopyFlags) -> Result<(), Failure> {
    match &flags.command {
        Some(CopyCommand::CutOver(flags)) => cut_over(&flags.state),
        Some(CopyCommand::PausedTables(flags)) => paused_tables(flags),
        Some(CopyCommand::ResumeWrites(flags)) => resume_writes(flags),
        None => run::run(flags),
    }
}

impl CopyFlags {
    fn settings(&self) -> Result<CopySettings, Failure> {
        let model = self.model.as_deref().map(read_model).transpose()?;
        let settle = Duration::try_from_secs_f64(self.settle);
        let unit = |name: &str, units: Option<f64>| match units {
            Some(units) if units.is_nan() || units <= 0.0 => {
                Err(Failure::usage(format!("{name} must be more than 0")))
            }
            units => Ok(units),
        };
        Ok(CopySettings {
            tables: self.tables.clone(),
            models: !self.no_models,
            model,
            segments: self.segments,
            workers: usize::from(self.workers),
            read_units: unit("--read-units", self.read_units)?,
            write_units: unit("--write-units", self.write_units)?,
            verify: !self.no_verify,
            repair: self.repair,
            settle: settle.map_err(|error| Failure::usage(format!("--settle: {error}")))?,
            ..CopySettings::default()
        })
    }
}

fn read_model(file: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", file.display())))?;
    if trestle_model::load(&text).model.is_none() {
        let message = format!("{} has errors; `trestle model check` shows them", file.display());
        return Err(Failure::new(Code::BadModel, message));
    }
    Ok(text)
}

/// Commands the running copy to cut over, and waits until it has.
fn cut_over(state: &Path) -> Result<(), Failure> {
    let look = || -> Result<(CopyPhase, Option<u64>), Failure> {
        let known = StateFile::read(state)?;
        let known = known.ok_or_else(|| {
            Failure::usage(format!(
                "there is no copy with the state {}; name it with --state",
                state.display()
            ))
        })?;
        Ok((known.phase, known.paused_ms))
    };
    if look()?.0 >= CopyPhase::TakenOver {
        line("the target has taken over already");
        return Ok(());
    }
    let note = StateFile::cut_over_note(state);
    std::fs::write(&note, b"")
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", note.display())))?;
    let mut ended = None;
    runtime::until_told_or(|| {
        let is_at_work = StateFile::is_in_use(state)?;
        let (phase, paused_ms) = look()?;
        if phase >= CopyPhase::TakenOver {
            ended = Some(Ok(paused_ms));
        } else if !is_at_work {
            let _ = std::fs::remove_file(&note);
            ended = Some(Err(Failure::failed(
                "no process is at work on this copy: run `trestle copy FROM TO --cut-over`",
            )));
        }
        Ok(ended.is_some())
    })?;
    match ended {
        Some(Ok(paused_ms)) => {
            line(&show::taken_over(paused_ms));
            Ok(())
        }
        Some(Err(failure)) => Err(failure),
        // Stopped waiting: the copy cuts over nevertheless.
        None => Ok(()),
    }
}

fn paused_tables(flags: &PausedFlags) -> Result<(), Failure> {
    let paused = RunningServer::new(&flags.server, START_ONE)?.ask(ListPausedTables {})?;
    if flags.json {
        return print_json(&paused);
    }
    for one in &paused.tables {
        match one.until_ms.map(Timestamp::from_millis) {
            Some(until) => line(&format!("{}  until {}Z", one.table, iso_8601_millis(until))),
            None => line(&format!("{}  until `trestle copy resume-writes`", one.table)),
        }
    }
    if paused.tables.is_empty() {
        line(NONE_PAUSED);
    }
    Ok(())
}

fn resume_writes(flags: &ResumeFlags) -> Result<(), Failure> {
    let server = RunningServer::new(&flags.server, START_ONE)?;
    let mut tables = flags.tables.clone();
    if tables.is_empty() {
        let paused = server.ask(ListPausedTables {})?.tables;
        tables = paused.into_iter().map(|paused| paused.table).collect();
    }
    server.ask(ResumeWrites {
        tables: tables.clone(),
    })?;
    line(&match tables.is_empty() {
        true => NONE_PAUSED.to_owned(),
        false => format!("rows are written again: {}", tables.join(", ")),
    });
    Ok(())
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        let code = match &error {
            CopyError::Refused(_) => Code::ModelRefused,
            CopyError::Differs(_) => Code::Disagreements,
            _ => Code::Failed,
        };
        Failure::new(code, error)
    }
}

fn print(value: &impl serde::Serialize) -> Result<(), Failure> {
    print_json(value)
}
