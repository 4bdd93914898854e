//! The comparison of servers: a table, its rows, then one workload after the other.

use crate::client;
use crate::dataset::{self, BATCH, COLLECTION, TABLE};
use crate::error::BenchError;
use crate::load::{Choice, Load, Measured, Moment};
use crate::process::make_directory;
use crate::report::{Figures, Outcome, TargetReport};
use crate::settings::Settings;
use crate::target::{Found, Server, Target};
use crate::usage::{self, Clocks};
use crate::workload::{Script, Step, Workload, model_rows_step, rows_step};
use crate::{Progress, thousands};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Connections that load the rows.
const LOADERS: usize = 16;
/// A workload with a larger share of wrong responses is invalid.
const ERRORS_MAX: f64 = 0.01;
/// How long a server may continue to work in the background, and how often that is checked.
const SETTLE_WITHIN: Duration = Duration::from_secs(3);
const SETTLE_STEP: Duration = Duration::from_millis(100);

/// A server in the comparison, with its results so far.
pub(crate) struct Contestant {
    found: Found,
    server: Server,
    directory: PathBuf,
    /// Whether its model and the rows of it exist, or why they cannot; `None` before they are needed.
    modelled: Option<Result<(), String>>,
    pub(crate) report: TargetReport,
}

/// One workload with one number of connections, on the rows chosen for this round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) workload: Workload,
    pub(crate) connections: usize,
    /// The number of the turn with this workload: each deletes another part of the table.
    nth: u64,
    of: u64,
}

/// All measurements, in order: for each workload and number of connections, one turn per round. All servers
/// do one turn before any does the next, so that other activity on the machine affects all of them. Deletions
/// come after everything else on the same rows, and workloads with a model come last, so that a server has
/// none before. When two builds are compared, reads come first.
pub(crate) fn phases(settings: &Settings) -> Vec<Vec<Turn>> {
    let of = settings.connections.len() * settings.rounds;
    let compares_builds = settings.targets.contains(&Target::Before);
    let mut workloads = settings.workloads.clone();
    workloads.sort_by_key(|workload| match workload {
        // A build that wrote more than another one has more to read afterwards.
        workload if workload.is_read() && compares_builds => 0,
        Workload::ModelPut => 3,
        Workload::DeleteCollection => 2,
        _ => 1,
    });
    let mut phases = Vec::new();
    for workload in workloads {
        for (place, connections) in settings.connections.iter().enumerate() {
            let turn = |round: usize| Turn {
                workload,
                connections: *connections,
                nth: (place * settings.rounds + round) as u64,
                of: of as u64,
            };
            phases.push((0..settings.rounds).map(turn).collect());
        }
    }
    phases
}

impl Contestant {
    /// Starts a server in its own directory and loads its rows.
    pub(crate) fn enter(
        found: &Found,
        settings: &Settings,
        directory: &Path,
        progress: &mut dyn Progress,
    ) -> Result<Self, BenchError> {
        let name = found.target;
        progress.doing(&format!("{name}: starting"));
        let data = directory.join("data");
        make_directory(&data)?;
        let server = found.start(&data, &directory.join("log"))?;
        let stream = create_table(server.address)?;
        let loaded = load(
            server.address,
            rows_step(),
            settings.rows,
            settings.load_within,
            &mut |rows| {
                progress.doing(&format!("{name}: {} rows loaded", thousands(rows as f64)));
            },
        )?;
        let (rows, per_second) = (thousands(loaded.rows as f64), thousands(loaded.per_second));
        progress.done(&format!(
            "{name} {}: {rows} rows loaded, {per_second} per second",
            found.version
        ));
        let report = TargetReport {
            target: name,
            version: found.version.clone(),
            rows: loaded.rows,
            stream,
            loaded_per_second: loaded.per_second,
            memory: None,
            disk_loaded: usage::disk(&server.data),
            disk: 0,
            outcomes: Vec::new(),
        };
        settle(server.process.id(), SETTLE_WITHIN);
        Ok(Contestant {
            found: found.clone(),
            server,
            directory: directory.to_owned(),
            modelled: None,
            report,
        })
    }

    /// Measures one turn.
    pub(crate) fn take(
        &mut self,
        turn: Turn,
        settings: &Settings,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, BenchError> {
        let Turn {
            workload,
            connections,
            ..
        } = turn;
        let target = self.report.target;
        let outcome = match self.prepare(workload, settings, progress) {
            Ok(()) => {
                progress.doing(&format!("{target}: {workload} from {connections} connections"));
                run(&self.server, turn, choice(turn, self.report.rows), settings)?
            }
            Err(refusal) => Outcome {
                workload,
                connections,
                figures: None,
                refusal: Some(refusal),
            },
        };
        progress.done(&format!("{target:<15}{}", summary(&outcome)));
        settle(self.server.process.id(), SETTLE_WITHIN);
        Ok(outcome)
    }

    /// Prepares what a workload needs besides the existing rows; the error says why the server does not
    /// support it.
    fn prepare(
        &mut self,
        workload: Workload,
        settings: &Settings,
        progress: &mut dyn Progress,
    ) -> Result<(), String> {
        if workload != Workload::ModelPut {
            return Ok(());
        }
        if let Some(known) = &self.modelled {
            return known.clone();
        }
        progress.doing(&format!("{}: loading rows of the model", self.report.target));
        let modelled = self.model_rows(settings);
        self.modelled = Some(modelled.clone());
        modelled
    }

    /// Applies the model and loads the same number of rows as without one.
    fn model_rows(&self, settings: &Settings) -> Result<(), String> {
        self.found.apply_model(&self.server, &self.directory)?;
        let (address, rows) = (self.server.address, self.report.rows);
        let loaded = load(
            address,
            model_rows_step(),
            rows,
            settings.load_within,
            &mut |_| (),
        );
        loaded.map_err(|error| error.to_string())?;
        settle(self.server.process.id(), SETTLE_WITHIN);
        Ok(())
    }

    /// Stops the server.
    pub(crate) fn leave(self) -> TargetReport {
        TargetReport {
            memory: usage::memory(self.server.process.id()),
            disk: usage::disk(&self.server.data),
            ..self.report
        }
    }
}

/// Waits until a server has finished its background work, so that it does not disturb the next one.
pub(crate) fn settle(process: u32, within: Duration) {
    let began = Instant::now();
    let mut before = usage::cpu(process);
    while began.elapsed() < within {
        std::thread::sleep(SETTLE_STEP);
        let now = usage::cpu(process);
        let used = now.zip(before).and_then(|(now, before)| now.checked_sub(before));
        if used.is_none_or(|used| used <= SETTLE_STEP / 10) {
            return;
        }
        before = now;
    }
}

/// Creates the table; returns whether it has a stream.
fn create_table(address: SocketAddr) -> Result<bool, BenchError> {
    let (status, _) = client::call(address, "CreateTable", &dataset::create_table(TABLE, true, true))?;
    let stream = status == 200;
    if !stream {
        client::succeed(address, "CreateTable", &dataset::create_table(TABLE, true, false))?;
    }
    client::wait_until_active(address, TABLE)?;
    Ok(stream)
}

/// The result of loading.
pub(crate) struct Loaded {
    pub(crate) rows: u64,
    pub(crate) per_second: f64,
}

/// Fills a table with batches, in slices, to show progress and to be able to stop.
pub(crate) fn load(
    address: SocketAddr,
    batch: Step,
    rows: u64,
    within: Duration,
    progress: &mut dyn FnMut(u64),
) -> Result<Loaded, BenchError> {
    let script = Script { steps: vec![batch] };
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

/// Small slices first, for slow servers.
fn slice(done: u64) -> u64 {
    if done < 20_000 { dataset::BLOCK } else { 20_000 }
}

/// The rows of a turn.
fn choice(turn: Turn, rows: u64) -> Choice {
    if turn.workload != Workload::DeleteCollection {
        return Choice::anywhere(rows, turn.workload.rows());
    }
    let share = rows / COLLECTION / turn.of.max(1) * COLLECTION;
    let next = turn.nth * share;
    Choice::EachOnce {
        next,
        end: next + share,
        group: COLLECTION,
    }
}

fn run(server: &Server, turn: Turn, choice: Choice, settings: &Settings) -> Result<Outcome, BenchError> {
    let Turn {
        workload,
        connections,
        ..
    } = turn;
    let script = workload.script(workload.table());
    // Collections that are deleted during the warm-up would be missing afterwards.
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
    let (mut begin, mut end) = (Clocks::default(), Clocks::default());
    let measured = load.run(&mut |moment| match moment {
        Moment::Begin => begin = Clocks::read(server),
        Moment::End => end = Clocks::read(server),
    })?;
    let figures = Figures::of(&measured, end.since(&begin));
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
    let others = figures
        .others_cpu
        .map(|cpu| format!(" (others {cpu:.2})"))
        .unwrap_or_default();
    format!(
        "{:>9}/s  p50 {:>7} µs  p99 {:>8} µs{cpu}{generator}{others}{errors}",
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
    fn reads_come_first_where_builds_are_compared() {
        let workloads = vec![Workload::Put, Workload::Get, Workload::Update, Workload::GsiQuery];
        let order = |targets: &[Target]| {
            let settings = Settings {
                targets: targets.to_vec(),
                connections: vec![1],
                ..settings(workloads.clone())
            };
            let phases = phases(&settings).into_iter();
            phases.map(|turns| turns[0].workload).collect::<Vec<_>>()
        };
        assert_eq!(order(&[Target::Trestle]), workloads);
        assert_eq!(
            order(&[Target::Trestle, Target::Before]),
            [Workload::Get, Workload::GsiQuery, Workload::Put, Workload::Update]
        );
    }

    fn settings(workloads: Vec<Workload>) -> Settings {
        Settings {
            places: Places::default(),
            targets: Vec::new(),
            workloads,
            connections: vec![1, 16, 64],
            measured: Duration::from_secs(1),
            rows: 1_600,
            load_within: Duration::from_secs(1),
            limits: false,
            rounds: 2,
            alone: Vec::new(),
            start_rows: 0,
            scale_rows: 0,
            migration_rows: 0,
            reindex_rows: 0,
            tables: 1,
            directory: "/tmp".into(),
        }
    }

    #[test]
    fn deletions_come_after_reads_and_never_meet_and_the_model_comes_last() {
        let settings = settings(vec![
            Workload::ModelPut,
            Workload::DeleteCollection,
            Workload::Get,
        ]);
        let phases = phases(&settings);
        let names: Vec<_> = phases.iter().map(|turns| turns[0].workload).collect();
        assert_eq!(&names[..3], [Workload::Get; 3]);
        let mut firsts = Vec::new();
        assert_eq!(&names[6..], [Workload::ModelPut; 3]);
        for turn in phases.into_iter().skip(3).take(3).flatten() {
            let mut choice = choice(turn, 1_600);
            let all = std::iter::from_fn(|| choice.next(0, turn.connections as u64));
            firsts.extend(all.map(|rows| rows.first));
        }
        let in_order: Vec<u64> = (0..firsts.len() as u64).map(|nth| nth * COLLECTION).collect();
        assert_eq!(firsts, in_order);
        assert_eq!(firsts.len(), 6 * 13);
    }
}
