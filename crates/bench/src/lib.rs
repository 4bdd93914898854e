//! `trestle bench`: the same requests on Trestle and on the servers it is compared with, and the limits of
//! the machine.
//!
//! [`run`] starts each server on a fresh directory, loads the same rows, sends the same bytes from the same load
//! generator to one after the other, and returns a [`Report`]. `docs/operate/benchmarks.md` describes the method.
//!
//! An internal part of Trestle: programs use the crate `trestle`.

mod alone;
mod client;
mod compare;
mod dataset;
mod error;
mod histogram;
mod http;
mod limits;
mod load;
mod process;
mod report;
mod round;
mod settings;
mod target;
mod usage;
mod workload;

pub use error::BenchError;
pub use limits::constant::serve as serve_constant_answer;
pub use report::{
    AloneFigure, BuildComparison, BuildRound, Figures, Limit, Outcome, Report, Skipped, Spread, Stage,
    TargetReport,
};
pub use settings::{Alone, Settings};
pub use target::{Places, Target};
pub use usage::{Machine, Memory};
pub use workload::Workload;

use compare::Contestant;
use error::Doing;
use limits::Limits;
use round::Round;
use std::path::Path;

/// A receiver of progress messages.
pub trait Progress {
    /// Something is in progress; the next call replaces it.
    fn doing(&mut self, what: &str);
    /// A result.
    fn done(&mut self, what: &str);
}

/// Runs everything in the settings.
///
/// A server that is missing or fails is skipped, and the report says why; Trestle itself must work.
pub fn run(settings: &Settings, progress: &mut dyn Progress) -> Result<Report, BenchError> {
    let settings = &Settings {
        rows: Settings::whole_rows(settings.rows),
        ..settings.clone()
    };
    process::clean_up_on_signal()?;
    let root = tempfile::Builder::new()
        .prefix("trestle-bench-")
        .tempdir_in(&settings.directory)
        .doing(format!(
            "cannot make a directory in {}",
            settings.directory.display()
        ))?;
    process::remove_on_signal(root.path());
    let mut report = Report {
        machine: usage::machine(),
        seconds: settings.measured.as_secs_f64(),
        item_bytes: dataset::ITEM_BYTES,
        ..Report::default()
    };
    compare_all(settings, root.path(), progress, &mut report)?;
    for alone in &settings.alone {
        let directory = fresh(root.path(), alone.name())?;
        let (figures, stages) = alone::measure(*alone, settings, &directory, progress)?;
        report.alone.extend(figures);
        report.stages.extend(stages);
        clear(&directory);
    }
    Ok(report)
}

fn compare_all(
    settings: &Settings,
    root: &Path,
    progress: &mut dyn Progress,
    report: &mut Report,
) -> Result<(), BenchError> {
    let mut contestants = enter_all(settings, root, progress, &mut report.skipped)?;
    let limits = if settings.limits {
        Some(Limits::prepare(settings, &fresh(root, "limits")?)?)
    } else {
        None
    };
    let mut kept = Vec::new();
    for turns in compare::phases(settings) {
        let mut rounds = Vec::with_capacity(turns.len());
        for turn in turns {
            let mut round = Round::default();
            for mut contestant in std::mem::take(&mut contestants) {
                let target = contestant.report.target;
                match contestant.take(turn, settings, progress) {
                    Ok(outcome) => {
                        round.outcomes.push((target, outcome));
                        contestants.push(contestant);
                    }
                    Err(error) => report.skipped.push(skipped(target, error, progress)?),
                }
            }
            if let Some(limits) = &limits {
                round.limits = limits.measure(turn, settings, progress)?;
            }
            rounds.push(round);
            // The next round has the reverse order, so that neither of two servers is always second.
            contestants.reverse();
        }
        report.builds.extend(BuildComparison::of(&rounds));
        kept.extend(round::calmest(rounds));
    }
    report.targets = contestants.into_iter().map(Contestant::leave).collect();
    let chosen = |report: &TargetReport| {
        settings
            .targets
            .iter()
            .position(|target| *target == report.target)
    };
    report.targets.sort_by_key(chosen);
    kept.into_iter().for_each(|round| report.note(round));
    Ok(())
}

/// Starts and fills every server that is found.
fn enter_all(
    settings: &Settings,
    root: &Path,
    progress: &mut dyn Progress,
    missing: &mut Vec<Skipped>,
) -> Result<Vec<Contestant>, BenchError> {
    let mut contestants = Vec::new();
    for target in &settings.targets {
        let found = settings.places.find(*target).map_err(BenchError::new);
        let entered = found.and_then(|found| {
            let directory = fresh(root, target.name())?;
            Contestant::enter(&found, settings, &directory, progress)
        });
        match entered {
            Ok(contestant) => contestants.push(contestant),
            Err(error) => missing.push(skipped(*target, error, progress)?),
        }
    }
    Ok(contestants)
}

/// Skips a peer that does not work; without Trestle, or the given earlier build, there is nothing to compare.
fn skipped(target: Target, error: BenchError, progress: &mut dyn Progress) -> Result<Skipped, BenchError> {
    if target.is_trestle() {
        return Err(error);
    }
    let reason = error.to_string();
    progress.done(&format!("{target}: not measured: {reason}"));
    Ok(Skipped { target, reason })
}

fn fresh(root: &Path, name: &str) -> Result<std::path::PathBuf, BenchError> {
    let directory = root.join(name);
    process::make_directory(&directory)?;
    Ok(directory)
}

/// Frees space for the next one; files that cannot be removed now are removed with the root.
fn clear(directory: &Path) {
    let _ = std::fs::remove_dir_all(directory);
}

/// A number with separators: `12,345`.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn numbers_are_grouped() {
        for (value, text) in [
            (0.4, "0"),
            (999.0, "999"),
            (1_000.0, "1,000"),
            (-123_456.0, "-123,456"),
        ] {
            assert_eq!(thousands(value), text);
        }
        assert_eq!(thousands(1_234_567.0), "1,234,567");
    }
}
