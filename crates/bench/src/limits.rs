//! Upper limits for every server on this machine: an HTTP server with a constant response, and the bare
//! storage engine.

mod bare_engine;
pub(crate) mod constant;

use crate::compare::{Turn, line, metered};
use crate::dataset::TABLE;
use crate::error::{BenchError, Doing};
use crate::load::{Choice, Load};
use crate::process::Process;
use crate::report::{Figures, Limit};
use crate::settings::Settings;
use crate::target::free_port;
use crate::workload::Workload;
use crate::{Progress, client};
use bare_engine::BareEngine;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

const CONSTANT: &str = "constant answer over HTTP";
const BARE: &str = "bare storage engine";
const START_WITHIN: Duration = Duration::from_secs(10);

/// Both limits, to be measured in turn with the servers that they limit.
pub(crate) struct Limits {
    constant: Vec<(Workload, Constant)>,
    bare: BareEngine,
}

impl Limits {
    pub(crate) fn prepare(settings: &Settings, directory: &Path) -> Result<Self, BenchError> {
        // The lengths of the responses to PutItem and GetItem.
        let answers = [(Workload::Put, 2), (Workload::Get, constant::item_answer_bytes())];
        let started = answers.map(|(workload, bytes)| {
            let log = directory.join(format!("constant-{workload}.log"));
            Constant::start(settings, bytes, &log).map(|server| (workload, server))
        });
        Ok(Limits {
            constant: started.into_iter().collect::<Result<_, _>>()?,
            bare: BareEngine::prepare(&directory.join("bare"), settings.rows)?,
        })
    }

    /// Measures the limits of this workload, if it has any.
    pub(crate) fn measure(
        &self,
        turn: Turn,
        settings: &Settings,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Limit>, BenchError> {
        let Turn {
            workload,
            connections,
            ..
        } = turn;
        let mut limits = Vec::new();
        for (_, server) in self.constant.iter().filter(|(bounded, _)| *bounded == workload) {
            progress.doing(&format!("{CONSTANT}: {workload} from {connections} connections"));
            let figures = server.measure(workload, connections, settings)?;
            limits.push(limit(CONSTANT, workload, connections, figures, progress));
        }
        progress.doing(&format!("{BARE}: {workload} from {connections} threads"));
        let figures = match workload {
            Workload::Put => Some(self.bare.commits(connections, settings)?),
            Workload::Get => Some(self.bare.gets(connections, settings)?),
            _ => None,
        };
        limits.extend(figures.map(|figures| limit(BARE, workload, connections, figures, progress)));
        Ok(limits)
    }
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

/// The server with a constant response, in its own process, so that its processor time can be measured.
struct Constant {
    process: Process,
    address: SocketAddr,
}

impl Constant {
    fn start(settings: &Settings, bytes: usize, log: &Path) -> Result<Self, BenchError> {
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
        Ok(Constant { process, address })
    }

    fn measure(
        &self,
        workload: Workload,
        connections: usize,
        settings: &Settings,
    ) -> Result<Figures, BenchError> {
        let mut script = workload.script(TABLE);
        script.steps.iter_mut().for_each(|step| step.expects = "");
        let load = Load {
            address: self.address,
            connections,
            script: &script,
            choice: Choice::anywhere(settings.rows, workload.rows()),
            warm_up: settings.warm_up(),
            measured: settings.measured,
        };
        let (measured, figures) = metered(&load, Some(self.process.id()))?;
        match measured.first_error {
            Some(error) => Err(error).doing("the constant server answers wrongly"),
            None => Ok(figures),
        }
    }
}
