//! `trestle model repair`: corrects derived rows.

use super::line;
use crate::administration::{PlaceFlags, print_json};
use crate::exit::{Code, Failure};
use clap::Args;
use trestle_admin::RepairModels;
use trestle_binding::counted;

/// Flags of `trestle model repair`.
#[derive(Debug, Args)]
pub(crate) struct RepairFlags {
    /// One model [default: all]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Only list what is wrong
    #[arg(long)]
    dry_run: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceFlags,
}

/// Repairs, or lists what is wrong. Fails if something remains wrong.
pub(super) fn repair(flags: &RepairFlags) -> Result<(), Failure> {
    let call = RepairModels {
        name: flags.name.clone(),
        dry_run: flags.dry_run,
    };
    let report = super::apply::ask(&flags.place, call)?;
    if flags.json {
        print_json(&report)?;
    } else if report.models.is_empty() {
        line("no model is stored");
    } else {
        line(report.to_string().trim_end());
    }
    if report.is_clean() {
        return Ok(());
    }
    let left: u64 = report.models.iter().map(|model| model.left_total).sum();
    let next = match flags.dry_run {
        true => "run it without --dry-run to repair what can be repaired",
        false => "correct these rows",
    };
    let disagree = counted(
        left,
        "derived fact disagrees with its rows",
        "derived facts disagree with their rows",
    );
    Err(Failure::new(Code::Disagreements, format!("{disagree}; {next}")))
}
