//! The report as Markdown tables that are also readable as plain text.

use super::{BuildComparison, Figures, Report, Spread, Stage, TargetReport};
use crate::target::Target;
use crate::thousands;
use crate::usage::Memory;
use std::fmt::Write as _;

pub(super) fn render(report: &Report) -> String {
    let mut out = conditions(report);
    if !report.targets.is_empty() {
        section(&mut out, "Operations per second", &per_second(report));
        section(&mut out, "Latency, p50 / p99 in µs", &latencies(report));
        section(
            &mut out,
            "Processors used by the server; µs of processor time per operation",
            &cpu(report),
        );
        section(
            &mut out,
            "Processors busy with something else while measuring",
            &others(report),
        );
        section(&mut out, "Memory and disk", &space(report));
    }
    if !report.builds.is_empty() {
        section(
            &mut out,
            "This build / the build before: share (lowest to highest of the rounds)",
            &builds(report),
        );
    }
    if peers(report).next().is_some() && report.target(Target::Trestle).is_some() {
        section(
            &mut out,
            "Trestle compared with each, in operations per second",
            &ratios(report),
        );
    }
    if !report.limits.is_empty() {
        section(&mut out, "Limits", &limits(report));
    }
    if !report.alone.is_empty() {
        section(&mut out, "Trestle alone", &alone(report));
    }
    if !report.stages.is_empty() {
        section(
            &mut out,
            "A migration, latencies in µs (and times those before)",
            &stages(report),
        );
    }
    if out.contains(" *") {
        out.push_str("\n\\* Measured while more than a quarter of a processor was busy with something else: too low.\n");
    }
    for skipped in &report.skipped {
        let _ = writeln!(out, "Not measured: {} ({}).", skipped.target, skipped.reason);
    }
    out
}

fn conditions(report: &Report) -> String {
    let machine = &report.machine;
    format!(
        "{} processors ({}), {:.0} GB of memory, Linux {}, load average {:.1} before the run. \
         {} s per workload, items of {} bytes.\n",
        machine.processors,
        machine.processor,
        machine.memory_bytes as f64 / (1u64 << 30) as f64,
        machine.kernel,
        machine.load_before,
        report.seconds,
        report.item_bytes
    )
}

fn section(out: &mut String, title: &str, rows: &[Vec<String>]) {
    let _ = write!(out, "\n**{title}**\n\n{}", table(rows));
}

/// One row per workload, one column per server, and a cell from each pair.
fn by_target(report: &Report, cell: impl Fn(&TargetReport, &Figures) -> String) -> Vec<Vec<String>> {
    let mut heading = vec!["workload".to_owned(), "connections".to_owned()];
    heading.extend(
        report
            .targets
            .iter()
            .map(|target| format!("{} {}", target.target, target.version)),
    );
    let mut rows = vec![heading];
    for (connections, workload) in report.phases() {
        let mut row = vec![workload.to_string(), connections.to_string()];
        for target in &report.targets {
            let figures = target.figures(workload, connections);
            row.push(figures.map_or_else(|| "none".to_owned(), |figures| cell(target, figures)));
        }
        rows.push(row);
    }
    rows
}

fn per_second(report: &Report) -> Vec<Vec<String>> {
    by_target(report, |_, figures| {
        format!("{}{}", thousands(figures.per_second), mark(figures))
    })
}

/// A star for disturbed figures, explained below the tables.
fn mark(figures: &Figures) -> &'static str {
    if figures.is_disturbed() { " *" } else { "" }
}

fn latencies(report: &Report) -> Vec<Vec<String>> {
    by_target(report, |_, figures| {
        format!("{} / {}", thousands(figures.p50_us), thousands(figures.p99_us))
    })
}

fn cpu(report: &Report) -> Vec<Vec<String>> {
    by_target(report, |_, figures| {
        match (figures.cpu, figures.cpu_us_per_operation()) {
            (Some(cpu), Some(micros)) => format!("{cpu:.2}; {}", thousands(micros)),
            _ => "unknown".to_owned(),
        }
    })
}

fn others(report: &Report) -> Vec<Vec<String>> {
    by_target(report, |_, figures| match figures.others_cpu {
        Some(cpu) => format!("{cpu:.2}"),
        None => "unknown".to_owned(),
    })
}

fn space(report: &Report) -> Vec<Vec<String>> {
    let heading = [
        "",
        "rows",
        "loaded rows/s",
        "RSS at the end",
        "peak RSS",
        "disk loaded",
        "disk at the end",
        "stream",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for target in &report.targets {
        let memory = |bytes: fn(Memory) -> u64| {
            let known = target.memory.map(bytes);
            known.map_or_else(|| "unknown".to_owned(), megabytes)
        };
        rows.push(vec![
            target.target.to_string(),
            thousands(target.rows as f64),
            thousands(target.loaded_per_second),
            memory(|memory| memory.resident),
            memory(|memory| memory.peak),
            megabytes(target.disk_loaded),
            megabytes(target.disk),
            if target.stream { "yes" } else { "no" }.to_owned(),
        ]);
    }
    rows
}

/// Medians of the rounds, and the median of their ratios.
fn builds(report: &Report) -> Vec<Vec<String>> {
    let heading = [
        "workload",
        "connections",
        "rounds",
        "operations per second",
        "µs of processor time per operation",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for compared in &report.builds {
        let star = if compared.is_disturbed() { " *" } else { "" };
        let per_second = |figures: &Figures| Some(figures.per_second);
        rows.push(vec![
            compared.workload.to_string(),
            compared.connections.to_string(),
            compared.rounds.len().to_string(),
            compared_cell(compared, per_second, compared.per_second(), thousands) + star,
            compared_cell(compared, Figures::cpu_us_per_operation, compared.cpu(), number) + star,
        ]);
    }
    rows
}

/// `12,345 / 12,000: 103 % (101 to 104)`.
fn compared_cell(
    compared: &BuildComparison,
    figure: impl Fn(&Figures) -> Option<f64>,
    shares: Option<Spread>,
    shown: fn(f64) -> String,
) -> String {
    let now = Spread::of(compared.rounds.iter().filter_map(|round| figure(&round.now)));
    let before = Spread::of(compared.rounds.iter().filter_map(|round| figure(&round.before)));
    let (Some(now), Some(before), Some(shares)) = (now, before, shares) else {
        return "none".to_owned();
    };
    let medians = format!("{} / {}", shown(now.median), shown(before.median));
    let Spread {
        lowest,
        median,
        highest,
    } = shares;
    match compared.rounds.len() {
        1 => format!("{medians}: {:.0} %", median * 100.0),
        _ => format!(
            "{medians}: {:.0} % ({:.0} to {:.0})",
            median * 100.0,
            lowest * 100.0,
            highest * 100.0
        ),
    }
}

/// The servers other than Trestle.
fn peers(report: &Report) -> impl Iterator<Item = &TargetReport> {
    report.targets.iter().filter(|target| !target.target.is_trestle())
}

fn ratios(report: &Report) -> Vec<Vec<String>> {
    let peers: Vec<_> = peers(report).collect();
    let mut heading = vec!["workload".to_owned(), "connections".to_owned()];
    heading.extend(peers.iter().map(|peer| peer.target.to_string()));
    let mut rows = vec![heading];
    for (connections, workload) in report.phases() {
        let mut row = vec![workload.to_string(), connections.to_string()];
        for peer in &peers {
            let both = [report.target(Target::Trestle), Some(*peer)];
            let figures = both
                .iter()
                .flatten()
                .filter_map(|target| target.figures(workload, connections));
            let star = figures.map(mark).max().unwrap_or_default();
            let ratio = report.ratio(peer, workload, connections);
            row.push(ratio.map_or_else(|| "none".to_owned(), |ratio| format!("{ratio:.1} ×{star}")));
        }
        rows.push(row);
    }
    rows
}

fn limits(report: &Report) -> Vec<Vec<String>> {
    let heading = [
        "limit",
        "workload",
        "connections",
        "per second",
        "p50 µs",
        "p99 µs",
        "µs of processor time",
        "Trestle reaches",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for limit in &report.limits {
        let share = report.share(limit);
        rows.push(vec![
            limit.name.to_owned(),
            limit.workload.to_string(),
            limit.connections.to_string(),
            format!("{}{}", thousands(limit.figures.per_second), mark(&limit.figures)),
            thousands(limit.figures.p50_us),
            thousands(limit.figures.p99_us),
            limit
                .figures
                .cpu_us_per_operation()
                .map_or_else(|| "unknown".to_owned(), |micros| format!("{micros:.1}")),
            share.map_or_else(|| "unknown".to_owned(), |share| format!("{:.0} %", share * 100.0)),
        ]);
    }
    rows
}

fn alone(report: &Report) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["what".to_owned(), "figure".to_owned()]];
    for figure in &report.alone {
        let value = number(figure.value);
        rows.push(vec![
            figure.name.clone(),
            format!("{value} {}", figure.unit).trim_end().to_owned(),
        ]);
    }
    rows
}

/// With decimal places, if it is small.
fn number(value: f64) -> String {
    if value < 100.0 {
        format!("{value:.2}")
    } else {
        thousands(value)
    }
}

/// A column for each stage, and three rows for each operation.
fn stages(report: &Report) -> Vec<Vec<String>> {
    let mut rows = vec![vec!["operation".to_owned()]];
    let mut before: Vec<&Stage> = Vec::new();
    for stage in &report.stages {
        if before.first().is_none_or(|first| first.stage == stage.stage) {
            before.push(stage);
        }
    }
    let names = report.stages.iter().step_by(before.len().max(1));
    if let Some(heading) = rows.first_mut() {
        heading.extend(names.map(|stage| stage.stage.to_owned()));
    }
    for first in before {
        let same = report
            .stages
            .iter()
            .filter(|stage| stage.operation == first.operation);
        for (at, (name, before)) in first.latencies().into_iter().enumerate() {
            let mut row = vec![format!("{}, {name}", first.operation)];
            row.extend(same.clone().map(|stage| match stage.latencies().get(at) {
                Some((_, figure)) if stage.operations > 0 => times(*figure, before),
                _ => "none".to_owned(),
            }));
            rows.push(row);
        }
    }
    rows
}

/// A figure, and its ratio to another.
fn times(value: f64, other: f64) -> String {
    let shown = number(value);
    match value / other {
        times if value != other && times.is_finite() => format!("{shown} ({times:.1} ×)"),
        _ => shown,
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / f64::from(1 << 20))
}

/// A Markdown table with columns in line; the first row is its heading.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(out, "| {cell:<width$} ");
        }
        out.push_str("|\n");
        if number == 0 {
            for width in &widths {
                let _ = write!(out, "|{}", "-".repeat(width + 2));
            }
            out.push_str("|\n");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::workload::Workload;

    #[test]
    fn the_text_has_figures_ratios_and_limits() {
        let text = render(&sample::report());
        for line in [
            "| put         | 16          | 8,000       | 2,000        |",
            "| transaction | 16          | 4,000       | none         |",
            "| put         | 16          | 4.0 ×    |",
            "| GetItem in process, p50 | 3.25 µs |",
        ] {
            assert!(text.contains(line), "no line {line} in\n{text}");
        }
        assert!(text.contains("| 80 % ") && !text.contains(" *"), "{text}");
    }

    #[test]
    fn disturbed_figures_and_their_ratios_are_marked() {
        let mut report = sample::report();
        if let Some(figures) = &mut report.targets[1].outcomes[0].figures {
            figures.others_cpu = Some(0.3);
        }
        let text = render(&report);
        assert!(
            text.contains("| 2,000 * ") && text.contains("| 4.0 × * ") && text.contains("too low"),
            "{text}"
        );
        assert!(text.contains("| 8,000   "), "{text}");
    }

    #[test]
    fn builds_are_compared_in_a_table_of_their_own() {
        let mut report = sample::report();
        let round = |per_second, cpu| {
            let figures = |factor| Figures {
                per_second: per_second * factor,
                cpu: Some(cpu),
                ..Figures::default()
            };
            crate::report::BuildRound {
                now: figures(1.0),
                before: figures(0.5),
            }
        };
        report.builds = vec![
            BuildComparison {
                workload: Workload::Put,
                connections: 16,
                rounds: vec![round(10_000.0, 0.5)],
            },
            BuildComparison {
                workload: Workload::ModelPut,
                connections: 16,
                rounds: vec![round(10_000.0, 0.5), round(20_000.0, 1.0)],
            },
        ];
        report.targets.remove(1);
        let text = render(&report);
        for line in [
            "| put       | 16          | 1      | 10,000 / 5,000: 200 %              | 50.00 / 100: 50 %                  |",
            "| model-put | 16          | 2      | 15,000 / 7,500: 200 % (200 to 200) | 50.00 / 100: 50 % (50 to 50)       |",
        ] {
            assert!(text.contains(line), "no line {line} in\n{text}");
        }
        assert!(!text.contains("compared with each"), "{text}");
    }

    #[test]
    fn stages_are_columns_compared_with_the_first() {
        let stage = |stage, operation: &str, p50_us| Stage {
            stage,
            operation: operation.to_owned(),
            operations: 1,
            p50_us,
            p99_us: 300.0,
            slowest_us: 1_000.0,
        };
        let mut report = sample::report();
        report.stages = vec![
            stage("before", "GetItem", 2.0),
            stage("before", "PutItem", 500.0),
            stage("swept", "GetItem", 5.0),
            stage("swept", "PutItem", 600.0),
        ];
        let text = render(&report);
        for line in [
            "| operation        | before | swept        |",
            "| GetItem, p50     | 2.00   | 5.00 (2.5 ×) |",
            "| PutItem, p50     | 500    | 600 (1.2 ×)  |",
            "| PutItem, slowest | 1,000  | 1,000        |",
        ] {
            assert!(text.contains(line), "no line {line} in\n{text}");
        }
    }
}
