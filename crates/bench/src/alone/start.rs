//! Memory when idle and after loading, and the time of a start with many rows.

use super::Run;
use crate::dataset::{self, TABLE};
use crate::error::{BenchError, Doing};
use crate::load::{Choice, Load};
use crate::report::AloneFigure;
use crate::settings::Settings;
use crate::target::Server;
use crate::workload::{Workload, rows_step};
use crate::{Progress, client, compare, thousands, usage};
use std::thread;
use std::time::Duration;

/// Time to become idle.
const SETTLE: Duration = Duration::from_secs(2);
/// Starts that are measured; the fastest counts, the others show other activity on the machine.
const STARTS: usize = 3;
/// A million rows take minutes on a small machine.
const LOAD_WITHIN: Duration = Duration::from_secs(3_600);

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    let data = run.directory.join("data");
    let log = run.directory.join("log");
    let rows = Settings::whole_rows(run.settings.start_rows);
    let mut figures = Vec::new();
    let mut note = |name: String, value: f64, unit: &'static str, progress: &mut dyn Progress| {
        progress.done(&format!("{name}: {value:.1} {unit}"));
        figures.push(AloneFigure::new(name, value, unit));
    };

    let server = run.trestle.start(&data, &log)?;
    thread::sleep(SETTLE);
    note(
        "resident memory, idle and empty".to_owned(),
        resident(&server)?,
        "MB",
        progress,
    );
    client::succeed(
        server.address,
        "CreateTable",
        &dataset::create_table(TABLE, true, true),
    )?;
    client::wait_until_active(server.address, TABLE)?;
    let loaded = compare::load(server.address, rows_step(), rows, LOAD_WITHIN, &mut |rows| {
        progress.doing(&format!("{} rows loaded", thousands(rows as f64)));
    })?;
    let named = thousands(loaded.rows as f64);
    note(
        format!("rows loaded per second, {named} rows"),
        loaded.per_second,
        "",
        progress,
    );
    thread::sleep(SETTLE);
    note(
        format!("resident memory after loading {named} rows"),
        resident(&server)?,
        "MB",
        progress,
    );
    let peak = memory(&server)?.peak;
    note(
        format!("peak of resident memory while loading {named} rows"),
        megabytes(peak),
        "MB",
        progress,
    );
    note(
        format!("disk after loading {named} rows"),
        megabytes(usage::disk(&data)),
        "MB",
        progress,
    );

    server.process.stop().doing("cannot stop Trestle")?;
    let mut fastest = Duration::MAX;
    for _ in 0..STARTS {
        let server = run.trestle.start(&data, &log)?;
        fastest = fastest.min(server.first_answer);
        server.process.stop().doing("cannot stop Trestle")?;
    }
    note(
        format!("start to first answer, {named} rows"),
        millis(fastest),
        "ms",
        progress,
    );
    let killed = run.trestle.start(&data, &log)?;
    write_a_little(&killed, loaded.rows)?;
    drop(killed);
    let again = run.trestle.start(&data, &log)?;
    note(
        format!("the same after SIGKILL in the middle of writes, {named} rows"),
        millis(again.first_answer),
        "ms",
        progress,
    );
    Ok(figures)
}

/// Writes a few rows, so that there is something to recover.
fn write_a_little(server: &Server, rows: u64) -> Result<(), BenchError> {
    let load = Load {
        address: server.address,
        connections: 16,
        script: &Workload::Put.script(TABLE),
        choice: Choice::anywhere(rows, 1),
        warm_up: Duration::ZERO,
        measured: Duration::from_secs(1),
    };
    match load.run(&mut |_| ())?.first_error {
        Some(error) => Err(error).doing("a put failed"),
        None => Ok(()),
    }
}

fn resident(server: &Server) -> Result<f64, BenchError> {
    Ok(megabytes(memory(server)?.resident))
}

fn memory(server: &Server) -> Result<usage::Memory, BenchError> {
    let memory = usage::memory(server.process.id());
    memory.ok_or_else(|| BenchError::new("the system does not say how much memory the server has"))
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
