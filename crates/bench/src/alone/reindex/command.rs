//! `trestle reindex start --data` on the command line: its duration and its memory.

use super::super::Run;
use super::beside::VERSIONS_MAX;
use super::{Figures, TABLE};
use crate::error::BenchError;
use crate::process::Process;
use crate::usage;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The time between two checks of the process.
const GLANCE: Duration = Duration::from_millis(10);
/// The maximum duration.
const PATIENCE: Duration = Duration::from_secs(3_600);

pub(super) fn measure(run: &Run<'_>, data: &Path, figures: &mut Figures<'_>) -> Result<(), BenchError> {
    let version = VERSIONS_MAX + 1;
    for (again, name) in [(0, "the command"), (1, "the command, the same version again")] {
        figures.doing(name);
        let mut command = Command::new(&run.trestle.program);
        command.args(["reindex", "start", TABLE, "--force"]);
        command.args([
            "--version",
            &version.to_string(),
            "--name",
            &format!("command-{again}"),
        ]);
        command.arg("--data").arg(data);
        let (took, peak) = until_done(&mut command, &run.directory.join("log"))?;
        figures.add(
            format!("{name}, from its start to its end"),
            took.as_secs_f64() * 1e3,
            "ms",
        );
        figures.add(format!("{name}, most resident memory"), peak as f64 / 1e6, "MB");
    }
    Ok(())
}

/// The duration of a command, and its peak memory.
fn until_done(command: &mut Command, log: &Path) -> Result<(Duration, u64), BenchError> {
    let began = Instant::now();
    let process = Process::start(command, log)?;
    let mut peak = 0;
    while process.is_running() {
        let memory = usage::memory(process.id());
        peak = peak.max(memory.map_or(0, |memory| memory.peak));
        if began.elapsed() > PATIENCE {
            return Err(BenchError::new("the reindex does not end"));
        }
        std::thread::sleep(GLANCE);
    }
    let said = process.last_words();
    match said.contains(": done, ") {
        true => Ok((began.elapsed(), peak)),
        false => Err(BenchError::new(format!("the reindex failed: {said}"))),
    }
}
