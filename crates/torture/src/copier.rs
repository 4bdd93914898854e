//! `trestle copy` as a child process.

use crate::server::{Server, binary};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A copy that takes longer is a failure.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A running `trestle copy`; killed when dropped.
#[derive(Debug)]
pub struct Copier {
    child: Child,
    state: PathBuf,
    phase: Arc<Mutex<String>>,
}

/// The command that copies from one place to another, with its state in a directory.
pub fn copy(from: &str, to: &str, state: &Path) -> Command {
    let mut command = Command::new(binary());
    command.args(["copy", from, to, "--json", "--state"]).arg(state);
    command
}

/// The URL of a server.
pub fn url(server: &Server) -> String {
    format!("http://{}", server.address)
}

/// The last report of a copy, or why it failed.
pub fn report(done: &Output) -> Result<Value, String> {
    let text = String::from_utf8_lossy(&done.stdout);
    let last = text
        .lines()
        .last()
        .and_then(|line| serde_json::from_str::<Value>(line).ok());
    match last {
        Some(mut last) if done.status.success() => Ok(last["report"].take()),
        _ => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
    }
}

impl Copier {
    /// Starts a copy.
    pub fn start(from: &str, to: &str, state: &Path) -> Self {
        let mut command = copy(from, to, state);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let phase: Arc<Mutex<String>> = Arc::default();
        let (said, told) = (child.stdout.take().unwrap(), Arc::clone(&phase));
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                let line: Value = serde_json::from_str(&line).unwrap();
                if let Some(phase) = line["status"]["phase"].as_str() {
                    *told.lock().unwrap() = phase.to_owned();
                }
            }
        });
        Copier {
            child,
            state: state.to_owned(),
            phase,
        }
    }

    /// The rows at the target, according to the copy's state.
    pub fn rows(&self) -> u64 {
        let Ok(text) = std::fs::read_to_string(&self.state) else {
            return 0;
        };
        let state: Value = serde_json::from_str(&text).unwrap();
        let tables = state["tables"].as_object().unwrap().values();
        tables.map(|table| table["rows"].as_u64().unwrap()).sum()
    }

    /// The last reported phase of the copy.
    pub fn phase(&self) -> String {
        self.phase.lock().unwrap().clone()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits until its state is as wanted.
    pub fn wait_until(&mut self, wanted: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !wanted(self) {
            assert!(self.is_running(), "the copy has ended");
            assert!(began.elapsed() < PATIENCE, "the copy does not come so far");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Lets the target take over, and waits until it has. Returns how long writing was paused, in milliseconds.
    pub fn cut_over(mut self) -> u64 {
        let mut command = Command::new(binary());
        let done = command
            .args(["copy", "cut-over", "--state"])
            .arg(&self.state)
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(self.child.wait().unwrap().success());
        let state: Value = serde_json::from_str(&std::fs::read_to_string(&self.state).unwrap()).unwrap();
        state["paused_ms"].as_u64().unwrap()
    }
}

impl Drop for Copier {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
