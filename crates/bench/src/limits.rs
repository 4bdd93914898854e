//! What no server on this machine can beat: an HTTP server that always answers the same, and the storage engine without
//! anything around it.

pub(crate) mod bare_engine;
pub(crate) mod constant;

use crate::compare::{line, metered};
use crate::dataset::TABLE;
use crate::error::{BenchError, Doing};
use crate::load::{Choice, Load};
use crate::process::Process;
use crate::report::{Figures, Limit};
use crate::settings::Settings;
use crate::target::free_port;
use crate::workload::Workload;
use crate::{Progress, client};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const CONSTANT: &str = "constant answer over HTTP";
const BARE: &str = "bare storage engine";
const START_WITHIN: Duration = Duration::from_secs(10);

/// Measures both limits.
pub(crate) fn measure(
    settings: &Settings,
    directory: &Path,
    progress: &mut dyn Progress,
) -> Result<Vec<Limit>, BenchError> {
    let mut limits = Vec::new();
    // The answers of PutItem and GetItem, in length.
    for (workload, bytes) in [(Workload::Put, 2), (Workload::Get, constant::item_answer_bytes())] {
        for connections in &settings.connections {
            progress.doing(&format!("{CONSTANT}, {workload}, {connections} connections"));
            let log = directory.join("constant.log");
            let figures = constant_answer(settings, workload, bytes, *connections, &log)?;
            limits.push(limit(CONSTANT, workload, *connections, figures, progress));
        }
    }
    for connections in &settings.connections {
        progress.doing(&format!("{BARE}, {connections} threads"));
        let data = directory.join(format!("bare-{connections}"));
        let (commit, get) = bare_engine::measure(&data, *connections, settings)?;
        limits.push(limit(BARE, Workload::Put, *connections, commit, progress));
        limits.push(limit(BARE, Workload::Get, *connections, get, progress));
    }
    Ok(limits)
}

fn limit(
    name: &'static str,
    workload: Workload,
    connections: usize,
    figures: Figures,
    progress: &mut dyn Progress,
) -> Limit {
    progress.done(&format!(
        "{name}: {workload:<4} {connections:>3}  {}",
        line(&figures)
    ));
    Limit {
        name,
        workload,
        connections,
        figures,
    }
}

/// In a process of its own, so that its processor time is known.
fn constant_answer(
    settings: &Settings,
    workload: Workload,
    bytes: usize,
    connections: usize,
    log: &Path,
) -> Result<Figures, BenchError> {
    let port = free_port()?;
    let mut command = Command::new(&settings.places.trestle);
    command.args([
        "bench-constant",
        "--port",
        &port.to_string(),
        "--bytes",
        &bytes.to_string(),
    ]);
    let process = Process::start(&mut command, log)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let began = Instant::now();
    while client::call(address, "ListTables", "{}").is_err() {
        if !process.is_running() || began.elapsed() > START_WITHIN {
            let said = process.last_words();
            return Err(BenchError::new(format!(
                "the constant server did not start: {said}"
            )));
        }
        thread::sleep(Duration::from_millis(5));
    }
    let mut script = workload.script(TABLE);
    script.steps.iter_mut().for_each(|step| step.expects = "");
    let load = Load {
        address,
        connections,
        script: &script,
        choice: Choice::anywhere(settings.rows, workload.rows()),
        warm_up: settings.warm_up(),
        measured: settings.measured,
    };
    let (measured, figures) = metered(&load, Some(process.id()))?;
    match measured.first_error {
        Some(error) => Err(error).doing("the constant server answers wrongly"),
        None => Ok(figures),
    }
}
