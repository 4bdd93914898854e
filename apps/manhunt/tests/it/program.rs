//! The program itself: what it says when it cannot start, and how it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The program, ended with the test.
struct Program {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manhunt"));
        let command = command.args(arguments).env_remove("RUST_LOG");
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// Where it serves, as soon as it does.
    fn address(&mut self) -> String {
        let mut line = String::new();
        while !line.contains("http://") {
            line.clear();
            assert!(
                self.said.read_line(&mut line).unwrap() > 0,
                "{}",
                self.complaint()
            );
        }
        let (_, url) = line.split_once("http://").unwrap();
        url.split(['/', '\n']).next().unwrap().to_owned()
    }

    /// Waits for its end, which is soon.
    fn end(&mut self) -> Option<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(60) {
            if let Some(ended) = self.child.try_wait().unwrap() {
                return Some(ended);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Waits for its end in failure; answers with what it complained about.
    fn complaint(&mut self) -> String {
        let mut text = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        errors.read_to_string(&mut text).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(1), "{text}");
        text
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_port_that_is_taken_is_named_with_the_way_out() {
    let mut first = Program::start(&["demo", "--port", "0"]);
    let address = first.address();
    let (_, port) = address.split_once(':').unwrap();
    let said = Program::start(&["demo", "--port", port]).complaint();
    assert!(said.contains(&format!("cannot listen on port {port}")), "{said}");
    assert!(said.contains("--port chooses another"), "{said}");
}

#[test]
fn a_data_directory_that_cannot_be_used_is_named_with_the_way_out() {
    let file = env!("CARGO_BIN_EXE_manhunt");
    let said = Program::start(&["serve", "--data", file, "--port", "0"]).complaint();
    assert!(said.contains(&format!("cannot create {file}: ")), "{said}");
    let foreign = tempfile::tempdir().unwrap();
    std::fs::write(foreign.path().join("diary"), "not a table").unwrap();
    let data = foreign.path().to_str().unwrap();
    let said = Program::start(&["serve", "--data", data, "--port", "0"]).complaint();
    assert!(said.contains("choose an empty or a new directory"), "{said}");
}

#[test]
fn an_interrupt_ends_it_although_a_client_never_finishes_its_request() {
    let mut program = Program::start(&["demo", "--port", "0"]);
    let mut client = TcpStream::connect(program.address()).unwrap();
    let begun = "POST /domains/d0/contacts HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let asks = format!("{begun}content-length: 99\r\nexpect: 100-continue\r\n\r\n");
    client.write_all(asks.as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(&client).read_line(&mut answer).unwrap();
    assert!(answer.contains("100 Continue"), "{answer}");
    let interrupt = format!("kill -INT {}", program.child.id());
    assert!(
        Command::new("sh")
            .args(["-c", &interrupt])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(program.end().and_then(|ended| ended.code()), Some(0));
}
