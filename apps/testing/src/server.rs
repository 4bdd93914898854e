//! A server that is started for a test.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A server. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    process: Child,
}

impl Server {
    pub(crate) fn start(program: &str, arguments: &[&str], set_up: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program);
        command.args(["serve", "--port", "0"]).args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        set_up(&mut command);
        let mut process = command
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url
            .unwrap_or_else(|| panic!("{program} does not serve: {line}"))
            .to_owned();
        Self { url, process }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
