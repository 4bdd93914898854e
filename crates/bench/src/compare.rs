//! The same on every server: a table, its rows, then one workload after the other.

use crate::client;
use crate::dataset::{self, BATCH, COLLECTION, TABLE};
use crate::error::{BenchError, Doing};
use crate::load::{Choice, Load, Measured, Moment};
use crate::report::{Figures, Outcome, TargetReport};
use crate::settings::Settings;
use crate::target::{Found, Server};
use crate::usage;
use crate::workload::{Script, Workload, batch_step};
use crate::{Progress, thousands};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// Connections that load the rows.
const LOADERS: usize = 16;
/// A workload with a larger share of wrong answers was not what it claims to be.
const ERRORS_MAX: f64 = 0.01;

/// Measures one server in a directory of its own.
pub(crate) fn measure(
    found: &Found,
    settings: &Settings,
    directory: &Path,
    progress: &mut dyn Progress,
) -> Result<TargetReport, BenchError> {
    progress.doing(&format!("{}: starting", found.target));
    let data = directory.join("data");
    std::fs::create_dir_all(&data).doing("cannot make a data directory")?;
    let server = found.start(&data, &directory.join("log"))?;
    let stream = create_table(server.address)?;
    let loaded = load(
        server.address,
        TABLE,
        settings.rows,
        settings.load_within,
        &mut |rows| {
            progress.doing(&format!(
                "{}: {} rows loaded",
                found.target,
                thousands(rows as f64)
            ));
        },
    )?;
    let mut report = TargetReport {
        target: found.target,
        version: found.version.clone(),
        rows: loaded.rows,
        stream,
        loaded_per_second: loaded.per_second,
        memory: None,
        disk_loaded: usage::disk(&server.data),
        disk: 0,
        outcomes: Vec::new(),
    };
    progress.done(&format!(
        "{} {}: {} rows loaded, {} per second",
        found.target,
        found.version,
        thousands(loaded.rows as f64),
        thousands(loaded.per_second)
    ));
    for (workload, connections, choice) in plan(settings, loaded.rows) {
        progress.doing(&format!(
            "{}: {workload} from {connections} connections",
            found.target
        ));
        let outcome = run(&server, workload, connections, choice, settings)?;
        progress.done(&format!("{:<15}{}", found.target, summary(&outcome)));
        report.outcomes.push(outcome);
    }
    report.memory = usage::memory(server.process.id());
    report.disk = usage::disk(&server.data);
    Ok(report)
}

/// Creates the table; whether it has a stream.
fn create_table(address: SocketAddr) -> Result<bool, BenchError> {
    let (status, _) = client::call(address, "CreateTable", &dataset::create_table(TABLE, true, true))?;
    let stream = status == 200;
    if !stream {
        client::succeed(address, "CreateTable", &dataset::create_table(TABLE, true, false))?;
    }
    client::wait_until_active(address, TABLE)?;
    Ok(stream)
}

/// What loading achieved.
pub(crate) struct Loaded {
    pub(crate) rows: u64,
    pub(crate) per_second: f64,
}

/// Fills a table, in slices, so that there is progress to show and a point to stop at.
pub(crate) fn load(
    address: SocketAddr,
    table: &str,
    rows: u64,
    within: Duration,
    progress: &mut dyn FnMut(u64),
) -> Result<Loaded, BenchError> {
    let script = Script {
        steps: vec![batch_step(table)],
    };
    let began = Instant::now();
    let mut done = 0;
    while done < rows && (began.elapsed() < within || done < Settings::whole_rows(1)) {
        let end = rows.min(done + slice(done));
        let load = Load {
            address,
            connections: LOADERS,
            script: &script,
            choice: Choice::EachOnce {
                next: done,
                end,
                group: BATCH,
            },
            warm_up: Duration::ZERO,
            measured: Duration::MAX,
        };
        let measured = load.run(&mut |_| ())?;
        if let Some(error) = measured.first_error {
            return Err(BenchError::new(format!("a row could not be loaded: {error}")));
        }
        done = end;
        progress(done);
    }
    Ok(Loaded {
        rows: done,
        per_second: done as f64 / began.elapsed().as_secs_f64(),
    })
}

/// Small slices first, for servers that are slow.
fn slice(done: u64) -> u64 {
    if done < 20_000 { dataset::BLOCK } else { 20_000 }
}

/// Everything that is measured. Deletions come last, each number of connections with its share of the table.
fn plan(settings: &Settings, rows: u64) -> Vec<(Workload, usize, Choice)> {
    let mut plan = Vec::new();
    for connections in &settings.connections {
        for workload in settings
            .workloads
            .iter()
            .filter(|workload| **workload != Workload::DeleteCollection)
        {
            plan.push((*workload, *connections, Choice::anywhere(rows, workload.rows())));
        }
    }
    if settings.workloads.contains(&Workload::DeleteCollection) {
        let share = rows / COLLECTION / settings.connections.len().max(1) as u64 * COLLECTION;
        for (nth, connections) in settings.connections.iter().enumerate() {
            let next = nth as u64 * share;
            let choice = Choice::EachOnce {
                next,
                end: next + share,
                group: COLLECTION,
            };
            plan.push((Workload::DeleteCollection, *connections, choice));
        }
    }
    plan
}

fn run(
    server: &Server,
    workload: Workload,
    connections: usize,
    choice: Choice,
    settings: &Settings,
) -> Result<Outcome, BenchError> {
    let script = workload.script(TABLE);
    // Collections that are deleted while warming up would be missing afterwards.
    let warm_up = match choice {
        Choice::EachOnce { .. } => Duration::ZERO,
        Choice::Anywhere { .. } | Choice::Sparse { .. } => settings.warm_up(),
    };
    let load = Load {
        address: server.address,
        connections,
        script: &script,
        choice,
        warm_up,
        measured: settings.measured,
    };
    let (measured, figures) = metered(&load, Some(server.process.id()))?;
    let all = (measured.errors + measured.latencies.count()).max(1);
    let refused = measured.errors as f64 / all as f64 > ERRORS_MAX;
    Ok(Outcome {
        workload,
        connections,
        figures: (!refused).then_some(figures),
        refusal: measured.first_error.filter(|_| refused),
    })
}

/// Runs a load and reads the processor time around it.
pub(crate) fn metered(load: &Load<'_>, server: Option<u32>) -> Result<(Measured, Figures), BenchError> {
    let read = || (server.and_then(usage::cpu), usage::own_cpu());
    let (mut begin, mut end) = (read(), read());
    let measured = load.run(&mut |moment| match moment {
        Moment::Begin => begin = read(),
        Moment::End => end = read(),
    })?;
    let used = |begin: Option<Duration>, end: Option<Duration>| end?.checked_sub(begin?);
    let figures = Figures::of(&measured, used(begin.0, end.0), used(begin.1, end.1));
    Ok((measured, figures))
}

fn summary(outcome: &Outcome) -> String {
    let Outcome {
        workload,
        connections,
        ..
    } = outcome;
    match (&outcome.figures, &outcome.refusal) {
        (Some(figures), _) => format!("{workload:<18}{connections:>3} connections  {}", line(figures)),
        (None, refusal) => {
            let said = refusal.as_deref().unwrap_or_default();
            format!("{workload:<18}{connections:>3} connections  cannot: {said:.120}")
        }
    }
}

/// The figures in one line.
pub(crate) fn line(figures: &Figures) -> String {
    let cpu = figures
        .cpu
        .map(|cpu| format!("  cpu {cpu:.2}"))
        .unwrap_or_default();
    let generator = figures
        .generator_cpu
        .map(|cpu| format!(" (load {cpu:.2})"))
        .unwrap_or_default();
    let errors = if figures.errors == 0 {
        String::new()
    } else {
        format!("  {} errors", figures.errors)
    };
    format!(
        "{:>9}/s  p50 {:>7} µs  p99 {:>8} µs{cpu}{generator}{errors}",
        thousands(figures.per_second),
        thousands(figures.p50_us),
        thousands(figures.p99_us)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Places;

    #[test]
    fn deletions_come_last_and_never_meet() {
        let settings = Settings {
            places: Places::default(),
            targets: Vec::new(),
            workloads: vec![Workload::DeleteCollection, Workload::Get],
            connections: vec![1, 16, 64],
            measured: Duration::from_secs(1),
            rows: 1_600,
            load_within: Duration::from_secs(1),
            limits: false,
            alone: Vec::new(),
            start_rows: 0,
            scale_rows: 0,
            tables: 1,
            directory: "/tmp".into(),
        };
        let plan = plan(&settings, 1_600);
        let names: Vec<_> = plan.iter().map(|(workload, ..)| *workload).collect();
        assert_eq!(&names[..3], [Workload::Get; 3]);
        let mut firsts = Vec::new();
        for (_, connections, mut choice) in plan.into_iter().skip(3) {
            firsts.extend(std::iter::from_fn(|| choice.next(0, connections as u64)).map(|rows| rows.first));
        }
        let in_order: Vec<u64> = (0..firsts.len() as u64).map(|nth| nth * COLLECTION).collect();
        assert_eq!(firsts, in_order);
        assert_eq!(firsts.len(), 78);
    }
}
