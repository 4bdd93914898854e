//! Serving, stopping and starting again.

use crate::running::{rest, run, start, trestle};
use std::io::Read;

const CREATE: &str = r#"{"TableName":"notes","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;

#[test]
fn one_line_tells_where_it_is_and_how_to_use_it() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &["serve", "--in-memory", "--port", "0"]);
    let endpoint = format!("http://{}", server.address);
    assert!(
        server
            .announcement
            .contains(&format!("AWS_ENDPOINT_URL_DYNAMODB={endpoint} "))
    );
    assert!(server.announcement.contains("in memory"));
    assert!(server.call("ListTables", "{}").ends_with(r#"{"TableNames":[]}"#));
    assert_eq!(
        std::fs::read_dir(directory.path()).unwrap().count(),
        0,
        "nothing is written"
    );
}

#[test]
fn whoever_waits_for_messages_does_not_hold_up_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &["serve", "--in-memory", "--port", "0"]);
    let made = server.begin("AmazonSQS.CreateQueue", r#"{"QueueName":"work"}"#);
    assert!(rest(made).contains("200 OK"));
    let poll = r#"{"QueueUrl":"http://h/000000000000/work","WaitTimeSeconds":20}"#;
    let waiting = server.begin("AmazonSQS.ReceiveMessage", poll);
    // Time for the poll to be read; if it was not, it cannot delay the end.
    server.get("/");
    let (code, log) = server.stop();
    assert_eq!(code, Some(0));
    assert!(log.contains("every accepted request was answered"), "{log}");
    let (mut waiting, mut answer) = (waiting, String::new());
    // A poll that the server had not read when it ended is reset.
    if let Err(error) = waiting.read_to_string(&mut answer) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    assert!(answer.is_empty() || answer.ends_with("{}"), "{answer}");
}

#[test]
fn a_healthy_server_passes_the_healthcheck() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &["serve", "--in-memory", "--port", "0"]);
    let check = run(directory.path(), &["healthcheck", "--port", server.port()]);
    assert_eq!(check.status.code(), Some(0));
    let port = server.port().to_owned();
    assert_eq!(server.stop().0, Some(0));
    let check = run(directory.path(), &["healthcheck", "--port", &port]);
    assert_eq!(check.status.code(), Some(1));
    let message = String::from_utf8(check.stderr).unwrap();
    assert!(
        message.starts_with(&format!("trestle: no healthy server at 127.0.0.1:{port}")),
        "{message}"
    );
}

/// In a container the check has no flags of its own, and the port is a setting.
#[test]
fn the_healthcheck_asks_at_the_port_of_the_settings() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &["serve", "--in-memory", "--port", "0"]);
    let check = |args: &[&str], port: &str| {
        let mut command = trestle(directory.path());
        let output = command.args(args).env("TRESTLE__SERVER__PORT", port).output();
        output.unwrap().status.code()
    };
    assert_eq!(check(&["healthcheck"], server.port()), Some(0));
    assert_eq!(check(&["healthcheck"], "1"), Some(1));
    assert_eq!(check(&["healthcheck", "--port", server.port()], "1"), Some(0));
}

#[test]
fn a_server_that_speaks_tls_passes_the_healthcheck() {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(directory.path().join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(directory.path().join("key.pem"), made.signing_key.serialize_pem()).unwrap();
    let args = [
        "serve",
        "--in-memory",
        "--port",
        "0",
        "--tls-cert",
        "cert.pem",
        "--tls-key",
        "key.pem",
    ];
    let server = start(directory.path(), &args);
    assert!(
        server.announcement.contains("=https://127.0.0.1:"),
        "{}",
        server.announcement
    );
    let check = run(directory.path(), &["healthcheck", "--port", server.port()]);
    assert_eq!(
        check.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&check.stderr)
    );
}

#[test]
fn something_else_on_the_port_does_not_pass_the_healthcheck() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 3]).unwrap();
        stream.write_all(b"HTTP/1.1 503 Busy\r\n\r\n").unwrap();
    });
    let check = run(std::path::Path::new("."), &["healthcheck", "--port", &port]);
    assert_eq!(check.status.code(), Some(1));
    let message = String::from_utf8(check.stderr).unwrap();
    assert!(message.contains("it answered `HTTP/1.1 503 Busy`"), "{message}");
}

#[test]
fn data_outlives_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let args = ["serve", "--data", "d", "--port", "0"];
    let server = start(directory.path(), &args);
    assert!(
        server.announcement.contains("data in d)"),
        "{}",
        server.announcement
    );
    server.call("CreateTable", CREATE);
    let put = server.call("PutItem", r#"{"TableName":"notes","Item":{"pk":{"S":"a"}}}"#);
    assert!(put.starts_with("HTTP/1.1 200"), "{put}");
    let (code, log) = server.stop();
    assert_eq!(code, Some(0));
    assert!(log.contains("every accepted request was answered"), "{log}");

    let server = start(directory.path(), &args);
    let get = server.call("GetItem", r#"{"TableName":"notes","Key":{"pk":{"S":"a"}}}"#);
    assert!(get.ends_with(r#"{"Item":{"pk":{"S":"a"}}}"#), "{get}");
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let args = ["serve", "--data", "d", "--port", "0"];
    let first = start(directory.path(), &args);
    let second = run(directory.path(), &args);
    assert_eq!(second.status.code(), Some(3));
    assert_eq!(
        String::from_utf8(second.stderr).unwrap(),
        format!(
            "trestle: data directory d is in use by process {}; stop it or choose another directory with --data\n",
            first.process_id()
        )
    );
}

#[test]
fn a_taken_port_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(directory.path(), &["serve", "--in-memory", "--port", "0"]);
    let second = run(
        directory.path(),
        &["serve", "--in-memory", "--port", server.port()],
    );
    assert_eq!(second.status.code(), Some(4));
    let message = String::from_utf8(second.stderr).unwrap();
    assert!(
        message.contains(&format!("port {} on 127.0.0.1 is already in use", server.port())),
        "{message}"
    );
}

#[test]
fn an_unprotected_public_address_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let public = ["serve", "--in-memory", "--port", "0", "--host", "0.0.0.0"];
    let refused = run(directory.path(), &public);
    assert_eq!(refused.status.code(), Some(4));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--insecure"));
    let allowed = [&public[..], &["--insecure"]].concat();
    assert!(start(directory.path(), &allowed).get("/").contains("healthy"));
}

#[test]
fn dynamodb_locals_command_line_starts_a_server() {
    let directory = tempfile::tempdir().unwrap();
    for args in [
        &[
            "-inMemory",
            "-sharedDb",
            "-port",
            "0",
            "-cors",
            "*",
            "-disableTelemetry",
        ][..],
        &[
            "serve",
            "-port",
            "0",
            "-sharedDb",
            "-dbPath",
            "x",
            "-optimizeDbBeforeStartup",
        ][..],
    ] {
        assert!(start(directory.path(), args).get("/").contains("healthy"));
    }
    assert!(directory.path().join("x").is_dir());
}

#[test]
fn with_keys_an_unsigned_request_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let args = [
        "serve",
        "--in-memory",
        "--port",
        "0",
        "--access-key",
        "id",
        "--secret-key",
        "secret",
    ];
    let server = start(directory.path(), &args);
    assert!(
        server
            .call("ListTables", "{}")
            .contains("MissingAuthenticationTokenException")
    );
}

#[test]
fn a_virtual_clock_can_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(
        directory.path(),
        &["serve", "--in-memory", "--port", "0", "--virtual-clock"],
    );
    let (code, clock) = crate::routes::admin(&server, "read-clock", serde_json::json!({}));
    assert_eq!(code, 200);
    assert!(clock["now"].is_f64(), "{clock}");
}

#[test]
fn table_delays_are_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let args = [
        "serve",
        "--in-memory",
        "--port",
        "0",
        "--create-table-ms",
        "600000",
    ];
    let server = start(directory.path(), &args);
    server.call("CreateTable", CREATE);
    let described = server.call("DescribeTable", r#"{"TableName":"notes"}"#);
    assert!(described.contains(r#""TableStatus":"CREATING""#), "{described}");
}
