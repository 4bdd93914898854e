//! `trestle reindex` as a child process with a clock of the test: the test decides when leases of a killed
//! process end.

use crate::clock_jumps::MovedClock;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use trestle_torture::server::binary;

/// More than the lease of a work item.
const LEASE_S: i64 = 31;

/// The location of reindexes, and the time of their processes' clock.
pub(super) struct Commands {
    /// `--endpoint URL` or `--data DIR`.
    place: [String; 2],
    clock: MovedClock,
    ahead: i64,
    log: PathBuf,
}

impl Commands {
    pub(super) fn new(place: [&str; 2], directory: &Path) -> Self {
        Commands {
            place: place.map(str::to_owned),
            clock: MovedClock::new(),
            ahead: 0,
            log: directory.join("reindex.log"),
        }
    }

    /// Advances the clock until no killed process has a valid lease.
    pub(super) fn outlive_leases(&mut self) {
        self.ahead += LEASE_S;
        self.clock.set_ahead(self.ahead);
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.arg("reindex").args(arguments).args(&self.place);
        self.clock.rule(&mut command);
        command
    }

    /// Starts a command, whose messages go to the log.
    pub(super) fn spawn(&self, arguments: &[&str]) -> Child {
        let log: File = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .unwrap();
        self.command(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap()
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that has to succeed, and returns its lines.
    pub(super) fn lines(&self, arguments: &[&str]) -> Vec<String> {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}{}", self.log());
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// The status of a reindex; `None` if there is none with this name.
    pub(super) fn status(&self, name: &str) -> Option<Value> {
        let output = self.run(&["status", name, "--json"]);
        let errors = String::from_utf8_lossy(&output.stderr);
        if errors.contains("there is no reindex") {
            return None;
        }
        assert!(output.status.success(), "status: {errors}{}", self.log());
        Some(serde_json::from_slice(&output.stdout).unwrap())
    }

    /// The output of all commands, for the message of a failed test.
    pub(super) fn log(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last: Vec<&str> = text.lines().rev().take(40).collect();
        last.into_iter().rev().map(|line| format!("\n{line}")).collect()
    }
}
