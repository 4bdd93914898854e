//! A `trestle serve` that runs in the background.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Killed when dropped, unless it was stopped.
pub(crate) struct Running {
    child: Child,
    /// The one line it printed.
    pub(crate) announcement: String,
    pub(crate) address: String,
}

/// The program, without Trestle's settings in its environment.
pub(crate) fn trestle(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trestle"));
    command.current_dir(directory);
    // And without those of the user who runs the tests.
    for name in ["AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"] {
        command.env(name, "no-such-file");
    }
    command.env_remove("AWS_PROFILE");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TRESTLE__") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end.
pub(crate) fn run(directory: &Path, args: &[&str]) -> Output {
    trestle(directory).args(args).output().unwrap()
}

/// Starts a command and waits until it is ready.
pub(crate) fn start(directory: &Path, args: &[&str]) -> Running {
    start_command(trestle(directory).args(args))
}

pub(crate) fn start_command(command: &mut Command) -> Running {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut announcement = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut announcement)
        .unwrap();
    let address = announcement
        .split("://")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let Some(address) = address.map(str::to_owned) else {
        let output = child.wait_with_output().unwrap();
        panic!("it did not start: {}", String::from_utf8_lossy(&output.stderr));
    };
    Running {
        child,
        announcement,
        address,
    }
}

/// The rest of a connection, until it ends.
pub(crate) fn rest(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

impl Running {
    pub(crate) fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Runs an operation; returns the response with its head.
    pub(crate) fn call(&self, operation: &str, body: &str) -> String {
        rest(self.begin(&format!("DynamoDB_20120810.{operation}"), body))
    }

    /// Sends a request without reading its answer.
    pub(crate) fn begin(&self, target: &str, body: &str) -> TcpStream {
        self.begin_with(target, "", body)
    }

    /// Sends a request with additional headers, each with its end of line.
    pub(crate) fn begin_with(&self, target: &str, headers: &str, body: &str) -> TcpStream {
        self.sent(&format!(
            "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: {target}\r\nConnection: close\r\n{headers}\
             Content-Type: application/x-amz-json-1.0\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    pub(crate) fn get(&self, path: &str) -> String {
        rest(self.sent(&format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )))
    }

    fn sent(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Stops it like a service manager; returns its exit code and its log.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        let asked = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(asked.success());
        let mut log = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut log)
            .unwrap();
        (self.child.wait().unwrap().code(), log)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
