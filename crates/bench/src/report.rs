//! What was measured, as data; [`text`](mod@text) prints it for people, [`svg`] draws it.

mod builds;
mod svg;
mod text;

use crate::load::Measured;
use crate::target::Target;
use crate::usage::{Clocks, Machine, Memory};
use crate::workload::Workload;
use serde::Serialize;
use std::time::Duration;

pub use builds::{BuildComparison, BuildRound, Spread};

/// All results of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The machine.
    pub machine: Machine,
    /// Seconds of measuring per workload.
    pub seconds: f64,
    /// Bytes of an item.
    pub item_bytes: usize,
    /// The servers, in the order in which they were measured.
    pub targets: Vec<TargetReport>,
    /// Servers that were not measured, and why.
    pub skipped: Vec<Skipped>,
    /// This build and an earlier one, round by round.
    pub builds: Vec<BuildComparison>,
    /// The limits of this machine.
    pub limits: Vec<Limit>,
    /// Figures of Trestle alone.
    pub alone: Vec<AloneFigure>,
    /// Latencies before, during and after a migration.
    pub stages: Vec<Stage>,
}

/// One server's figures.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    /// Which server.
    pub target: Target,
    /// Its reported version.
    pub version: String,
    /// Rows that were loaded before measuring.
    pub rows: u64,
    /// Whether its table has a stream.
    pub stream: bool,
    /// Rows loaded per second, in batches of 25.
    pub loaded_per_second: f64,
    /// Memory after the last workload.
    pub memory: Option<Memory>,
    /// Bytes on disk after loading.
    pub disk_loaded: u64,
    /// Bytes on disk at the end.
    pub disk: u64,
    /// One entry per workload and number of connections.
    pub outcomes: Vec<Outcome>,
}

/// One workload on one server.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The workload.
    pub workload: Workload,
    /// The number of connections.
    pub connections: usize,
    /// The figures, unless the server does not support it.
    pub figures: Option<Figures>,
    /// The server's refusal.
    pub refusal: Option<String>,
}

/// A measurement is marked if other programs use more processors than this.
const DISTURBED: f64 = 0.25;

/// Figures of a phase.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Figures {
    /// Operations per second.
    pub per_second: f64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Operations that were measured.
    pub operations: u64,
    /// Wrong responses, among all.
    pub errors: u64,
    /// Processors that the server used, on average.
    pub cpu: Option<f64>,
    /// Processors that the load generator used.
    pub generator_cpu: Option<f64>,
    /// Processors used by other programs, or taken away by the host, which disturb a measurement.
    pub others_cpu: Option<f64>,
}

impl Figures {
    pub(crate) fn of(measured: &Measured, used: Clocks) -> Self {
        let seconds = measured.elapsed.as_secs_f64().max(1e-9);
        let share = |used: Duration| used.as_secs_f64() / seconds;
        Figures {
            per_second: measured.latencies.count() as f64 / seconds,
            p50_us: measured.latencies.micros_at(0.5),
            p99_us: measured.latencies.micros_at(0.99),
            operations: measured.latencies.count(),
            errors: measured.errors,
            cpu: used.server.map(share),
            generator_cpu: used.generator.map(share),
            others_cpu: used.others().map(share),
        }
    }

    /// Whether other programs used so much of the machine that the figures are too low.
    pub fn is_disturbed(&self) -> bool {
        self.others_cpu.is_some_and(|others| others > DISTURBED)
    }

    /// Processor time of the server per operation, in microseconds.
    pub fn cpu_us_per_operation(&self) -> Option<f64> {
        let cpu = self.cpu?;
        (self.per_second > 0.0).then(|| cpu * 1e6 / self.per_second)
    }
}

/// A server that was not measured.
#[derive(Clone, Debug, Serialize)]
pub struct Skipped {
    /// Which server.
    pub target: Target,
    /// The reason.
    pub reason: String,
}

/// An upper limit of a workload.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// What was measured.
    pub name: &'static str,
    /// The workload that it limits.
    pub workload: Workload,
    /// The number of connections or threads.
    pub connections: usize,
    /// The figures.
    pub figures: Figures,
}

/// A figure of Trestle alone.
#[derive(Clone, Debug, Serialize)]
pub struct AloneFigure {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

/// Latencies of an operation in a stage of a migration.
#[derive(Clone, Debug, Serialize)]
pub struct Stage {
    /// Which stage.
    pub stage: &'static str,
    /// Which operation.
    pub operation: String,
    /// Operations that were measured.
    pub operations: u64,
    /// Median latency in microseconds.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// The longest.
    pub slowest_us: f64,
}

impl Stage {
    /// The name and value of each.
    pub(crate) fn latencies(&self) -> [(&'static str, f64); 3] {
        [
            ("p50", self.p50_us),
            ("p99", self.p99_us),
            ("slowest", self.slowest_us),
        ]
    }
}

impl AloneFigure {
    pub(crate) fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        AloneFigure {
            name: name.into(),
            value,
            unit,
        }
    }
}

impl TargetReport {
    /// The figures of a workload, if the server supports it.
    pub fn figures(&self, workload: Workload, connections: usize) -> Option<&Figures> {
        let mut outcomes = self.outcomes.iter();
        let found =
            outcomes.find(|outcome| outcome.workload == workload && outcome.connections == connections);
        found?.figures.as_ref()
    }
}

impl Report {
    /// A server's results.
    pub fn target(&self, target: Target) -> Option<&TargetReport> {
        self.targets.iter().find(|report| report.target == target)
    }

    /// How many times as fast Trestle is as another server.
    pub fn ratio(&self, peer: &TargetReport, workload: Workload, connections: usize) -> Option<f64> {
        let ours = self.target(Target::Trestle)?.figures(workload, connections)?;
        let theirs = peer.figures(workload, connections)?;
        (theirs.per_second > 0.0).then(|| ours.per_second / theirs.per_second)
    }

    /// Trestle's share of a limit, between 0 and 1.
    pub fn share(&self, limit: &Limit) -> Option<f64> {
        let ours = self
            .target(Target::Trestle)?
            .figures(limit.workload, limit.connections)?;
        (limit.figures.per_second > 0.0).then(|| ours.per_second / limit.figures.per_second)
    }

    /// Tables for people, in Markdown.
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// A chart of operations per second.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    /// Every number of connections and workload that occurs, in the order of the first server that did them.
    pub(crate) fn phases(&self) -> Vec<(usize, Workload)> {
        let mut phases = Vec::new();
        for outcome in self.targets.iter().flat_map(|target| &target.outcomes) {
            let phase = (outcome.connections, outcome.workload);
            if !phases.contains(&phase) {
                phases.push(phase);
            }
        }
        phases
    }
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    fn outcome(workload: Workload, per_second: Option<f64>) -> Outcome {
        Outcome {
            workload,
            connections: 16,
            figures: per_second.map(|per_second| Figures {
                per_second,
                p50_us: 123.4,
                p99_us: 4_567.8,
                operations: 10,
                errors: 0,
                cpu: Some(0.5),
                generator_cpu: Some(0.1),
                others_cpu: Some(0.2),
            }),
            refusal: per_second.is_none().then(|| "not <here>".to_owned()),
        }
    }

    fn target(target: Target, put: f64, transaction: Option<f64>) -> TargetReport {
        TargetReport {
            target,
            version: "1.0".to_owned(),
            rows: 10_000,
            stream: true,
            loaded_per_second: 1_000.0,
            memory: Some(Memory {
                resident: 3 << 20,
                peak: 4 << 20,
            }),
            disk_loaded: 1 << 20,
            disk: 2 << 20,
            outcomes: vec![
                outcome(Workload::Put, Some(put)),
                outcome(Workload::Transaction, transaction),
            ],
        }
    }

    /// Trestle and a peer without transactions.
    pub(crate) fn report() -> Report {
        let mut report = Report {
            seconds: 3.0,
            item_bytes: 1_024,
            targets: vec![
                target(Target::Trestle, 8_000.0, Some(4_000.0)),
                target(Target::Dynalite, 2_000.0, None),
            ],
            ..Report::default()
        };
        report.limits.push(Limit {
            name: "bare engine",
            workload: Workload::Put,
            connections: 16,
            figures: Figures {
                per_second: 10_000.0,
                ..Figures::default()
            },
        });
        report
            .alone
            .push(AloneFigure::new("GetItem in process, p50", 3.25, "µs"));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_ours_over_theirs() {
        let report = sample::report();
        let peer = report.target(Target::Dynalite).unwrap();
        assert_eq!(report.ratio(peer, Workload::Put, 16), Some(4.0));
        assert_eq!(report.ratio(peer, Workload::Transaction, 16), None);
        assert_eq!(report.ratio(peer, Workload::Put, 1), None);
        assert_eq!(report.share(&report.limits[0]), Some(0.8));
    }

    #[test]
    fn figures_are_per_second_of_measuring() {
        let mut measured = Measured {
            elapsed: Duration::from_secs(2),
            ..Measured::default()
        };
        for _ in 0..100 {
            measured.latencies.record(Duration::from_micros(10));
        }
        let used = Clocks {
            server: Some(Duration::from_secs(1)),
            ..Clocks::default()
        };
        let figures = Figures::of(&measured, used);
        assert_eq!(
            (figures.per_second, figures.cpu, figures.others_cpu),
            (50.0, Some(0.5), None)
        );
        assert_eq!(figures.cpu_us_per_operation(), Some(10_000.0));
    }

    #[test]
    fn a_report_is_json() {
        let json = serde_json::to_value(sample::report()).unwrap();
        assert_eq!(json["targets"][1]["target"], "dynalite");
        assert_eq!(
            json["targets"][0]["outcomes"][0]["figures"]["per_second"],
            8_000.0
        );
    }
}
