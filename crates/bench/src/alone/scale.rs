//! Reads from many rows, compared with reads from few: a point read must not become slower with the number of
//! rows.
//!
//! Both read the same number of rows, spread over the whole table, so that both are in the cache: this
//! measures the cost of the other rows, not the size of the cache.

use super::{Run, embedded};
use crate::compare::{line, metered, settle};
use crate::dataset::TABLE;
use crate::error::{BenchError, Doing};
use crate::load::{Choice, Load};
use crate::report::AloneFigure;
use crate::settings::Settings;
use crate::workload::Workload;
use crate::{Progress, thousands};
use std::time::Duration;

const FEW: u64 = 10_000;
const CONNECTIONS: usize = 16;
/// Time for moving the loaded rows to their final files.
const SETTLE_WITHIN: Duration = Duration::from_secs(600);
/// Time for the cache to fill.
const WARM_UP: Duration = Duration::from_secs(3);

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    let many = Settings::whole_rows(run.settings.scale_rows.max(FEW));
    let small = reads(run, FEW, progress)?;
    let large = reads(run, many, progress)?;
    let mut figures = Vec::new();
    for ((workload, few), (_, all)) in small.into_iter().zip(large) {
        let name = |rows: u64| format!("{workload} per second, {} rows", thousands(rows as f64));
        figures.push(AloneFigure::new(name(FEW), few, ""));
        figures.push(AloneFigure::new(name(many), all, ""));
        figures.push(AloneFigure::new(
            format!("{workload} with few rows is faster by"),
            few / all.max(1e-9),
            "×",
        ));
    }
    Ok(figures)
}

fn reads(run: &Run<'_>, rows: u64, progress: &mut dyn Progress) -> Result<Vec<(Workload, f64)>, BenchError> {
    let data = run.directory.join(format!("data-{rows}"));
    let db = embedded::fill(&data, rows, false, &mut |done| {
        progress.doing(&format!(
            "{} of {} rows loaded",
            thousands(done as f64),
            thousands(rows as f64)
        ));
    })?;
    drop(db);
    let server = run.trestle.start(&data, &run.directory.join("log"))?;
    progress.doing("waiting until the server has nothing left to do");
    settle(server.process.id(), SETTLE_WITHIN);
    let mut figures = Vec::new();
    for workload in [Workload::Get, Workload::Query] {
        let load = Load {
            address: server.address,
            connections: CONNECTIONS,
            script: &workload.script(TABLE),
            choice: Choice::sparse(rows, FEW),
            warm_up: WARM_UP,
            measured: run.settings.measured,
        };
        progress.doing(&format!("{workload} from {} rows", thousands(rows as f64)));
        let (measured, figure) = metered(&load, Some(server.process.id()))?;
        if let Some(error) = measured.first_error {
            return Err(error).doing("a read failed");
        }
        progress.done(&format!(
            "{workload:<6} of {:>10} rows: {}",
            thousands(rows as f64),
            line(&figure)
        ));
        figures.push((workload, figure.per_second));
    }
    Ok(figures)
}
