//! `trestle endpoint check`: tests everything that a gateway does, on scratch tables of an endpoint.

mod deliveries;
mod elsewhere;
mod moves;
mod scratch;
mod steps;

use self::scratch::{CHECKS, ScratchTables, clean};
use crate::administration::print_json;
use crate::exit::{Code, Failure};
use crate::model::line;
use crate::runtime;
use crate::server_flags::ServerFlags;
use clap::Args;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;
use trestle_env::ids;
use trestle_http_client::Endpoint;

/// Flags of `trestle endpoint check`.
#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    #[command(flatten)]
    server: ServerFlags,
    /// Make tables and rows at an endpoint that is not on this machine
    #[arg(long)]
    yes: bool,
    /// Only delete the tables of earlier checks that were killed
    #[arg(long)]
    clean: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum StepOutcome {
    Passed,
    Failed,
    Skipped,
}

/// A step and its outcome.
#[derive(Clone, Debug, Serialize)]
struct StepReport {
    step: String,
    outcome: StepOutcome,
    /// Why it failed, or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    seconds: f64,
}

/// The result of a check.
#[derive(Debug, Serialize)]
struct CheckReport {
    endpoint: String,
    passed: bool,
    /// It was interrupted by a signal before all steps were done.
    interrupted: bool,
    steps: Vec<StepReport>,
    requests: u64,
    seconds: f64,
    tables_deleted: usize,
}

const WHAT_IT_DOES: &str = "It makes about fifteen tables whose names begin with trestle-check-, writes and reads a few thousand small rows, \
and deletes the tables. At Amazon DynamoDB that takes a few minutes and costs less than 0.05 USD.";

pub(super) fn check(flags: &CheckFlags) -> Result<(), Failure> {
    let remote = flags.server.remote()?;
    let url = remote.endpoint().to_owned();
    if !flags.yes && !is_loopback(&url) {
        return Err(Failure::usage(format!(
            "{url} is not on this machine. {WHAT_IT_DOES} Say --yes if that is what you want"
        )));
    }
    if flags.clean {
        let gone = clean(&remote, CHECKS).map_err(|error| cannot_clean(&url, CHECKS, error))?;
        line(&format!("{} tables of earlier checks were deleted", gone.len()));
        return Ok(());
    }
    if !flags.json {
        line(&format!("checking {url}. {WHAT_IT_DOES}"));
    }
    let prefix = format!("{CHECKS}{}-", ids::uuid().chars().take(8).collect::<String>());
    let scratch = Arc::new(ScratchTables::new(Arc::new(remote.clone()), prefix.clone()));
    let began = Instant::now();
    let steps = run(&scratch, flags.json)?;
    let interrupted = scratch.is_stopped();
    let deleted = clean(&remote, &prefix).map_err(|error| cannot_clean(&url, &prefix, error))?;
    let is_bad = |step: &StepReport| step.outcome == StepOutcome::Failed;
    let failed = steps.iter().filter(|step| is_bad(step)).count();
    let report = CheckReport {
        passed: failed == 0 && !interrupted,
        interrupted,
        requests: scratch.requests(),
        seconds: began.elapsed().as_secs_f64(),
        tables_deleted: deleted.len(),
        endpoint: url.clone(),
        steps,
    };
    match flags.json {
        true => print_json(&report)?,
        false => line(&format!(
            "{} requests in {:.0} seconds; {} tables were deleted",
            report.requests, report.seconds, report.tables_deleted
        )),
    }
    match (report.passed, interrupted) {
        (true, _) => Ok(()),
        (false, true) => Err(Failure::failed("the check was stopped; its tables are deleted")),
        (false, false) => Err(Failure::new(
            Code::Disagreements,
            format!("{url}: {failed} steps of the check failed"),
        )),
    }
}

/// Runs the steps on a separate thread, until they are done or the command is stopped.
fn run(scratch: &Arc<ScratchTables>, is_quiet: bool) -> Result<Vec<StepReport>, Failure> {
    let of_thread = Arc::clone(scratch);
    let running = std::thread::spawn(move || {
        let mut done = Vec::new();
        steps::run(&of_thread, &mut |step| {
            if !is_quiet {
                show(&step);
            }
            done.push(step);
        });
        done
    });
    let waited = runtime::until_told_or(|| Ok(running.is_finished()));
    if !running.is_finished() {
        // Stopped: no more requests are sent, so that the steps end at once.
        scratch.stop();
    }
    let done = running
        .join()
        .map_err(|_| Failure::failed("the check failed in itself"))?;
    waited.map(|()| done)
}

fn show(step: &StepReport) {
    let outcome = match step.outcome {
        StepOutcome::Passed => "passed",
        StepOutcome::Failed => "FAILED",
        StepOutcome::Skipped => "skipped",
    };
    let why = step.why.as_deref().unwrap_or_default();
    line(format!("{:<28}{outcome:<9}{why}", step.step).trim_end());
}

fn cannot_clean(url: &str, prefix: &str, error: impl std::fmt::Display) -> Failure {
    Failure::failed(format!(
        "the tables of {url} whose names begin with {prefix} could not be deleted: {error}. `trestle endpoint check --clean` tries again"
    ))
}

/// Whether an endpoint is on this machine.
fn is_loopback(url: &str) -> bool {
    let Ok(endpoint) = Endpoint::parse(url) else {
        return false;
    };
    let host = endpoint.host.trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn only_endpoints_of_this_machine_need_no_consent() {
        for url in [
            "http://127.0.0.1:8000",
            "http://localhost:8000",
            "http://[::1]:8000",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "https://dynamodb.eu-west-1.amazonaws.com",
            "http://10.0.0.1:8000",
            "http://localhost.example.com",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }
}
