//! The servers that are compared: how each is found and started, always with its data on disk.

mod find;
mod model;

use crate::client;
use crate::error::{BenchError, Doing};
use crate::process::Process;
use serde::Serialize;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

pub use find::Places;

/// A JVM on a busy machine starts slowly.
const START_WITHIN: Duration = Duration::from_secs(60);

/// A server that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// This database, on disk, with fsync before each answer.
    Trestle,
    /// The same from another binary: an earlier build.
    Before,
    /// Amazon's own emulator.
    DynamodbLocal,
    /// An emulator in Rust on SQLite.
    Dynoxide,
    /// An emulator in JavaScript on LevelDB.
    Dynalite,
}

impl Target {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Target; 5] = [
        Target::Trestle,
        Target::Before,
        Target::DynamodbLocal,
        Target::Dynoxide,
        Target::Dynalite,
    ];

    /// Those that are measured by default.
    pub const USUAL: [Target; 4] = [
        Target::Trestle,
        Target::DynamodbLocal,
        Target::Dynoxide,
        Target::Dynalite,
    ];

    /// Whether it is Trestle, of this build or of an earlier one.
    pub(crate) fn is_trestle(self) -> bool {
        matches!(self, Target::Trestle | Target::Before)
    }

    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Target::Trestle => "trestle",
            Target::Before => "before",
            Target::DynamodbLocal => "dynamodb-local",
            Target::Dynoxide => "dynoxide",
            Target::Dynalite => "dynalite",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Target::ALL.into_iter().find(|target| target.name() == text);
        found.ok_or_else(|| {
            let names: Vec<_> = Target::ALL.iter().map(|target| target.name()).collect();
            format!("there is no target `{text}`; there are {}", names.join(", "))
        })
    }
}

/// A target whose program is on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) target: Target,
    pub(crate) program: PathBuf,
    pub(crate) version: String,
}

impl Found {
    /// Starts the server on `data`, which is empty or its own, and waits until it responds.
    pub(crate) fn start(&self, data: &Path, log: &Path) -> Result<Server, BenchError> {
        let port = free_port()?;
        let began = Instant::now();
        let process = Process::start(&mut self.command(data, port), log)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        // Any response means that it runs; its content does not matter here.
        while client::call(address, "ListTables", "{}").is_err() {
            if !process.is_running() || began.elapsed() > START_WITHIN {
                let said = process.last_words();
                return Err(BenchError::new(format!(
                    "{} did not start; it said: {said}",
                    self.target
                )));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(Server {
            process,
            address,
            data: data.to_owned(),
            first_answer: began.elapsed(),
        })
    }

    fn command(&self, data: &Path, port: u16) -> Command {
        let port = port.to_string();
        let mut command = match self.target {
            Target::DynamodbLocal => Command::new("java"),
            _ => Command::new(&self.program),
        };
        match self.target {
            Target::Trestle | Target::Before => {
                command
                    .args(["serve", "--log-level", "warn", "--port", &port, "--data"])
                    .arg(data);
            }
            Target::DynamodbLocal => {
                let mut libraries = std::ffi::OsString::from("-Djava.library.path=");
                libraries.push(self.program.join("DynamoDBLocal_lib"));
                command
                    .arg(libraries)
                    .arg("-jar")
                    .arg(self.program.join("DynamoDBLocal.jar"));
                command
                    .args(["-sharedDb", "-disableTelemetry", "-port", &port, "-dbPath"])
                    .arg(data);
            }
            Target::Dynoxide => {
                command
                    .args(["--port", &port, "--db-path"])
                    .arg(data.join("dynoxide.db"));
            }
            Target::Dynalite => {
                command
                    .args(["--host", "127.0.0.1", "--port", &port, "--path"])
                    .arg(data);
            }
        }
        command
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16, BenchError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).doing("cannot find a free port")?;
    Ok(listener.local_addr().doing("cannot find a free port")?.port())
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
    pub(crate) data: PathBuf,
    /// The time from starting the program to its first response.
    pub(crate) first_answer: Duration,
}
