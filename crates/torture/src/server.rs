//! The `trestle` binary as a child process.

use crate::http::{Client, RawResponse};
use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread::JoinHandle;

/// A running `trestle serve`; killed when dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: String,
    log: Option<JoinHandle<String>>,
}

/// The binary of the same profile as this test, brought up to date once per run; or the one that `TORTURE_BINARY` names.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(given) = std::env::var_os("TORTURE_BINARY") {
            return given.into();
        }
        let test = std::env::current_exe().unwrap();
        // target/<profile>/deps/<test>
        let profile = test.ancestors().nth(2).unwrap();
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--quiet", "--package", "trestle-cli", "--target-dir"]);
        build.arg(profile.parent().unwrap());
        if profile.file_name() == Some(OsStr::new("release")) {
            build.arg("--release");
        }
        assert!(build.status().unwrap().success(), "the server does not build");
        profile.join("trestle")
    })
}

/// `trestle serve` on a directory and a free port, with none of our own settings in its environment.
pub fn serve(directory: &Path) -> Command {
    serve_at(directory, 0)
}

/// The same on a given port, so that clients find the next server at the same address.
pub fn serve_at(directory: &Path, port: u16) -> Command {
    with_arguments(Command::new(binary()), directory, port)
}

/// The same, started by another program that takes the command line as its own arguments.
pub fn serve_under(mut runner: Command, directory: &Path) -> Command {
    runner.arg(binary());
    with_arguments(runner, directory, 0)
}

fn with_arguments(mut command: Command, directory: &Path, port: u16) -> Command {
    command.args(["serve", "--log-level", "warn", "--port", &port.to_string()]);
    command.arg("--data").arg(directory);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TRESTLE__") {
            command.env_remove(name);
        }
    }
    command
}

impl Server {
    /// Starts and waits for the line with the address. Returns the reason if the server does not start.
    pub fn try_start(command: &mut Command) -> Result<Self, String> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Read all the time: a full pipe would stop the server.
        let mut stderr = child.stderr.take().unwrap();
        let log = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut announcement = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut announcement)
            .unwrap();
        let address = announcement.split("://").nth(1);
        match address.and_then(|rest| rest.split_whitespace().next()) {
            Some(address) => Ok(Server {
                address: address.to_owned(),
                child,
                log: Some(log),
            }),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(log.join().unwrap())
            }
        }
    }

    /// Starts, or fails the test.
    pub fn start(command: &mut Command) -> Self {
        Self::try_start(command).unwrap_or_else(|log| panic!("the server did not start: {log}"))
    }

    /// Starts the plain server on a directory.
    pub fn on(directory: &Path) -> Self {
        Self::start(&mut serve(directory))
    }

    /// A new connection.
    pub fn connect(&self) -> Client {
        Client::connect(&self.address).unwrap()
    }

    /// Runs an operation on a connection of its own.
    pub fn call(&self, operation: &str, body: &Value) -> RawResponse {
        self.connect().call(operation, body).unwrap()
    }

    /// The process, or that of the program it runs under.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends the process at once, as `kill -9` does. Returns what it logged.
    pub fn kill(mut self) -> String {
        self.end()
    }

    /// Asks the process to stop, as `kill` does, and waits until it has. Returns what it logged.
    pub fn terminate(mut self) -> String {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        let _ = self.child.wait();
        self.end()
    }

    fn end(&mut self) -> String {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.log
            .take()
            .map_or_else(String::new, |log| log.join().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
