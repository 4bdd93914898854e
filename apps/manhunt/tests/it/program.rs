//! The program itself: its messages when it cannot start, and how it ends.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::smtp::{Smtp, Tls};

/// The program, ended with the test.
struct Program {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Program {
    fn start(arguments: &[&str]) -> Self {
        Self::with(arguments, &[])
    }

    fn with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manhunt"));
        let command = command.args(arguments).env_remove("RUST_LOG");
        let command = command.envs(environment.iter().copied());
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = BufReader::new(child.stdout.take().unwrap());
        Self { child, said }
    }

    /// Its address, as soon as it serves.
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

    /// Waits for it to fail; returns its error message.
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
        // It may have ended already.
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

/// A hand-written HTTP request to the program. Returns the body of the answer.
fn posted(address: &str, path: &str, body: &str) -> serde_json::Value {
    let mut client = TcpStream::connect(address).unwrap();
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json");
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

#[test]
fn mail_goes_by_tls_with_a_password_to_servers_that_the_system_trusts() {
    for (tls, scheme, options) in [
        (Tls::Always, "smtps", ""),
        (Tls::Upgraded, "smtp", "?tls=required"),
    ] {
        let mut server = Smtp::start(tls);
        let directory = tempfile::tempdir().unwrap();
        let trusted = directory.path().join("trusted.pem");
        std::fs::write(&trusted, &server.certificate).unwrap();
        let url = format!("{scheme}://ada:s3cret%2F@localhost:{}{options}", server.port);
        let mut program = Program::with(
            &["demo", "--port", "0", "--smtp", &url],
            &[("SSL_CERT_FILE", trusted.to_str().unwrap())],
        );
        let address = program.address();
        let contact = posted(&address, "/domains/d/contacts", r#"{"name": "Ada"}"#);
        let id = contact["contactId"].as_str().unwrap();
        let method = r#"{"type": "email", "destination": "ada@example.org"}"#;
        posted(&address, &format!("/domains/d/contacts/{id}/methods"), method);
        posted(
            &address,
            "/domains/d/searches",
            &format!(r#"{{"contactId": "{id}"}}"#),
        );
        // The demonstration sends mail of its own.
        let mut mails = std::iter::from_fn(|| server.mails.blocking_recv());
        let mail = mails.find(|mail| mail.contains("To: ada@example.org"));
        assert!(mail.unwrap().contains("Ada, you are needed"));
    }
}

#[test]
fn an_empty_key_and_accounts_that_make_no_sense_are_refused() {
    for (arguments, why) in [
        (["--admin-key", ""], "a value is required"),
        (["--smtp", "http://localhost"], "Unknown scheme"),
        (
            ["--twilio", "https://api.twilio.com"],
            "https://SID:TOKEN@api.twilio.com",
        ),
    ] {
        let arguments = ["demo", "--port", "0", arguments[0], arguments[1]];
        let mut program = Program::start(&arguments);
        let mut said = String::new();
        let mut errors = program.child.stderr.take().unwrap();
        errors.read_to_string(&mut said).unwrap();
        assert!(!program.child.wait().unwrap().success());
        assert!(said.contains(why), "{said}");
    }
}
