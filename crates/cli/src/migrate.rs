//! `trestle migrate`: a new layout of keys takes effect while rows are read and written.

mod host;
mod show;
mod watch;

use crate::administration::PlaceFlags;
use crate::args::LogFormat;
use crate::exit::Failure;
use crate::logging;
use crate::model::sound;
use clap::{Args, Subcommand};
use host::MigrationHost;
use std::path::PathBuf;
use trestle_admin::{
    Call, FinishMigration, MigrationStatus, PauseMigration, PlanMigration, ResumeMigration,
    RollBackMigration, StartMigration,
};

/// What can be done with a migration.
#[derive(Debug, Subcommand)]
pub(crate) enum MigrateCommand {
    /// Check models, tables and every row: what would move, and what prevents it
    Plan(PlanFlags),
    /// Put the new version into effect, and move the rows while clients read and write
    Start(StartFlags),
    /// Show the state and progress of migrations, rows that cannot move, and double reads
    Status(StatusFlags),
    /// Pause the sweep; rows that are written still move
    Pause(NameFlags),
    /// Continue the sweep
    Resume(ResumeFlags),
    /// Finish a migration that is verified: the old keys are no longer understood
    Finish(NameFlags),
    /// Roll back to the old version
    Rollback(RollbackFlags),
}

/// Flags of `trestle migrate plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanFlags {
    /// The model file with the new keys
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Do not store the plan for `start`
    #[arg(long)]
    dry_run: bool,
    /// Delete global indexes that the model does not have, and build those that differ again
    #[arg(long)]
    delete_indexes: bool,
    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Flags of `trestle migrate start`.
#[derive(Debug, Args)]
pub(crate) struct StartFlags {
    /// The model file with the new keys [default: what was planned]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Maximum of rows to move per second, or `unlimited` [default: 2000]
    #[arg(long, value_name = "ROWS")]
    rate: Option<String>,
    /// Finish the migration as soon as it is verified
    #[arg(long)]
    finish: bool,
    /// Only move rows that are written, until `resume`
    #[arg(long)]
    paused: bool,
    /// Delete global indexes that the model does not have, and build those that differ again
    #[arg(long)]
    delete_indexes: bool,
    /// Wait until the rows have moved, and show the progress
    #[arg(long)]
    watch: bool,
    /// Print JSON: the plan, then the status
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Flags of `trestle migrate status`.
#[derive(Debug, Args)]
pub(crate) struct StatusFlags {
    /// The model [default: all]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Repeat every second until the migration needs a command or is over
    #[arg(long)]
    watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Flags of `trestle migrate resume`.
#[derive(Debug, Args)]
pub(crate) struct ResumeFlags {
    /// New maximum of rows to move per second, or `unlimited`
    #[arg(long, value_name = "ROWS")]
    rate: Option<String>,
    /// Wait until the rows have moved, and show the progress
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    of: NameFlags,
}

/// Flags of `trestle migrate rollback`.
#[derive(Debug, Args)]
pub(crate) struct RollbackFlags {
    /// Wait until the rows have moved, and show the progress
    #[arg(long)]
    watch: bool,
    #[command(flatten)]
    of: NameFlags,
}

/// Flags that say which migration.
#[derive(Debug, Args)]
pub(crate) struct NameFlags {
    /// The model [default: the only one whose migration is not over]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Runs one of the commands.
pub(crate) fn migrate(command: &MigrateCommand) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    match command {
        MigrateCommand::Plan(flags) => plan(flags),
        MigrateCommand::Start(flags) => start(flags),
        MigrateCommand::Status(flags) => watch::status(flags),
        MigrateCommand::Pause(flags) => {
            let name = flags.name.clone();
            steer(flags, PauseMigration { name })
        }
        MigrateCommand::Finish(flags) => {
            let name = flags.name.clone();
            steer(flags, FinishMigration { name })
        }
        MigrateCommand::Resume(flags) => resume(flags),
        MigrateCommand::Rollback(flags) => rollback(flags),
    }
}

fn plan(flags: &PlanFlags) -> Result<(), Failure> {
    let call = PlanMigration {
        text: sound(&flags.file)?,
        dry_run: flags.dry_run,
        delete_indexes: flags.delete_indexes,
    };
    let place = MigrationHost::open(&flags.place)?;
    let model = show::plan(&place.ask_plan(call)?, flags.json)?;
    if !flags.dry_run && !flags.json {
        show::hint(&format!("the plan of model {model} is kept"));
    }
    Ok(())
}

fn start(flags: &StartFlags) -> Result<(), Failure> {
    let call = StartMigration {
        text: flags.file.as_deref().map(sound).transpose()?,
        rate: flags.rate.clone(),
        finish: flags.finish,
        paused: flags.paused,
        delete_indexes: flags.delete_indexes,
    };
    let place = MigrationHost::open(&flags.place)?;
    let model = show::plan(&place.ask_plan(call)?, flags.json)?;
    watch::go_on(&place, &model, flags.watch, flags.json)
}

fn resume(flags: &ResumeFlags) -> Result<(), Failure> {
    let call = ResumeMigration {
        name: flags.of.name.clone(),
        rate: flags.rate.clone(),
    };
    let place = MigrationHost::open(&flags.of.place)?;
    let status = place.ask(call)?;
    if !flags.watch && place.models().is_none() {
        return show::status(&status, flags.of.json);
    }
    watch::go_on(&place, &status.model, flags.watch, flags.of.json)
}

fn rollback(flags: &RollbackFlags) -> Result<(), Failure> {
    let name = flags.of.name.clone();
    let place = MigrationHost::open(&flags.of.place)?;
    let rolled_back = match place.roll_back(RollBackMigration { name })? {
        Ok(rolled_back) => rolled_back,
        Err(refused) => return show::plan(&refused, flags.of.json).map(drop),
    };
    let Some(plan) = rolled_back.plan else {
        // A plan that was not started has nothing to sweep.
        return show::status(&rolled_back.status, flags.of.json);
    };
    let model = show::plan(&plan, flags.of.json)?;
    watch::go_on(&place, &model, flags.watch, flags.of.json)
}

fn steer(flags: &NameFlags, call: impl Call<Answer = MigrationStatus>) -> Result<(), Failure> {
    let status = MigrationHost::open(&flags.place)?.ask(call)?;
    show::status(&status, flags.json)
}
