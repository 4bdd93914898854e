//! Writes to many tables, compared with writes to one: a commit must not become slower with the number of
//! tables.

use super::Run;
use crate::compare::{line, metered};
use crate::dataset;
use crate::error::{BenchError, Doing};
use crate::load::{Choice, Load};
use crate::report::AloneFigure;
use crate::workload::{Script, Step, Workload};
use crate::{Progress, client, thousands};
use std::time::Duration;

/// Rows that are written, to one table or to many.
const ROWS: u64 = 64_000;
const CONNECTIONS: usize = 16;

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    let many = run.settings.tables.max(2);
    let one = puts(run, 1, many, progress)?;
    let all = puts(run, many, many, progress)?;
    Ok(vec![
        AloneFigure::new("puts per second, 1 table", one, ""),
        AloneFigure::new(
            format!("puts per second, {} tables", thousands(many as f64)),
            all,
            "",
        ),
        AloneFigure::new("one table is faster by", one / all.max(1e-9), "×"),
    ])
}

/// Puts per second, spread over this many tables. The number of prepared requests is that for `most` tables,
/// so that preparing them costs the load generator the same.
fn puts(run: &Run<'_>, tables: usize, most: usize, progress: &mut dyn Progress) -> Result<f64, BenchError> {
    let data = run.directory.join(format!("data-{tables}"));
    let server = run.trestle.start(&data, &run.directory.join("log"))?;
    let names: Vec<String> = (0..tables).map(|number| format!("bench{number:05}")).collect();
    for (number, name) in names.iter().enumerate() {
        progress.doing(&format!("{number} tables created"));
        client::succeed(
            server.address,
            "CreateTable",
            &dataset::create_table(name, true, true),
        )?;
    }
    let script = Script {
        steps: vec![Step {
            variants: names
                .iter()
                .cycle()
                .take(most)
                .filter_map(|name| first_put(name))
                .collect(),
            expects: "{",
        }],
    };
    progress.doing(&format!("puts into {tables} tables"));
    let load = Load {
        address: server.address,
        connections: CONNECTIONS,
        script: &script,
        choice: Choice::anywhere((ROWS / tables as u64).max(CONNECTIONS as u64), 1),
        warm_up: run.settings.warm_up().max(Duration::from_secs(1)),
        measured: run.settings.measured,
    };
    let (measured, figures) = metered(&load, Some(server.process.id()))?;
    if let Some(error) = measured.first_error {
        return Err(error).doing("a put failed");
    }
    progress.done(&format!("puts into {tables:>5} tables: {}", line(&figures)));
    Ok(figures.per_second)
}

fn first_put(table: &str) -> Option<crate::http::Template> {
    let step = Workload::Put.script(table).steps.into_iter().next()?;
    step.variants.into_iter().next()
}
