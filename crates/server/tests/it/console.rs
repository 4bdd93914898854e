//! The console's files, its sessions, and what sessions do not allow.

use crate::client::Response;
use crate::test_server::TestServer;
use serde_json::Value;
use trestle_server::{AccessKey, ConsoleMode, KeyGrant, Role};
use trestle_sigv4::{Moment, Scope, signature};

const NOW_S: u64 = 1_794_729_600;
const HOST: &str = "localhost:8000";
const PUT: &str = r#"{"TableName":"things","Item":{"pk":{"S":"a"}}}"#;

fn key(role: Role) -> AccessKey {
    AccessKey {
        id: format!("{role:?}"),
        secret: format!("secret of {role:?}"),
    }
}

fn server(console: ConsoleMode) -> TestServer {
    TestServer::at(NOW_S, |settings| {
        let roles = [Role::ReadOnly, Role::Data, Role::Administration];
        settings.access_keys = roles.map(|role| KeyGrant { key: key(role), role }).into();
        settings.console = console;
    })
}

/// What the page sends to log in.
fn login(role: Role, secret: &str) -> String {
    let at = Moment::from_epoch_s(NOW_S);
    let scope = Scope {
        date: at.date(),
        region: "console".to_owned(),
        service: "trestle".to_owned(),
        terminator: "trestle_login".to_owned(),
    };
    let id = key(role).id;
    let proof = signature(secret, &scope, &format!("{at}\n{id}"));
    format!(r#"{{"access_key":"{id}","at":"{at}","proof":"{proof}"}}"#)
}

fn begin(server: &TestServer, login: &str, more: &[(&str, &str)]) -> Response {
    let mut headers = vec![("Host", HOST), ("Origin", "http://localhost:8000")];
    headers.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    headers.extend(more);
    server
        .connect()
        .send("POST", "/console/session", &headers, login.as_bytes())
}

fn token(server: &TestServer, role: Role) -> String {
    let begun = begin(server, &login(role, &key(role).secret), &[]);
    assert_eq!(begun.status, 200, "{}", begun.text());
    let begun: Value = serde_json::from_str(begun.text()).unwrap();
    begun["token"].as_str().unwrap().to_owned()
}

fn send(
    server: &TestServer,
    token: &str,
    path: &str,
    header: (&str, &str),
    body: &str,
    origin: &str,
) -> Response {
    let headers = [
        ("Host", HOST),
        ("Origin", origin),
        ("content-type", "application/x-amz-json-1.0"),
        ("x-trestle-session", token),
        header,
    ];
    server.connect().send("POST", path, &headers, body.as_bytes())
}

fn operation(server: &TestServer, token: &str, name: &str, body: &str) -> Response {
    let target = format!("DynamoDB_20120810.{name}");
    send(
        server,
        token,
        "/",
        ("x-amz-target", &target),
        body,
        "http://localhost:8000",
    )
}

fn call(server: &TestServer, token: &str, name: &str) -> Response {
    let path = format!("/_trestle/{name}");
    send(
        server,
        token,
        &path,
        ("x-trestle-admin", "1"),
        "{}",
        "http://localhost:8000",
    )
}

#[test]
fn a_file_is_sent_compressed_under_a_strict_policy_and_not_sent_again_unchanged() {
    let server = TestServer::start();
    let page = server.connect().send(
        "GET",
        "/console/",
        &[("Host", HOST), ("accept-encoding", "gzip, br")],
        b"",
    );
    assert_eq!((page.status, page.header("content-encoding")), (200, "gzip"));
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let etag = page.header("etag").to_owned();
    let mut again = server.connect();
    again.write(format!(
        "GET /console/ HTTP/1.1\r\nHost: {HOST}\r\nIf-None-Match: {etag}\r\n\r\n"
    ));
    assert_eq!(again.head_status(), 304);
    let plain = server.connect().get("/console/main.js");
    assert_eq!((plain.status, plain.header("content-encoding")), (200, ""));
    assert!(plain.text().contains("import"));
}

#[test]
fn the_path_without_a_slash_leads_to_the_page_relative_to_whatever_lies_before_it() {
    let server = TestServer::start();
    let answer = server.connect().get("/console");
    assert_eq!((answer.status, answer.header("location")), (302, "console/"));
    for path in ["/console/nothing.js", "/console/../Cargo.toml", "/consoles/"] {
        assert_eq!(server.connect().get(path).status, 404, "{path}");
    }
}

#[test]
fn a_console_that_is_off_is_not_there() {
    let server = TestServer::with(|settings| settings.console = ConsoleMode::Off);
    for path in ["/console", "/console/", "/console/main.js", "/console/session"] {
        assert_eq!(server.connect().get(path).status, 404, "{path}");
    }
}

#[test]
fn a_server_without_a_console_takes_no_session_of_another_with_the_same_keys() {
    let token = token(&server(ConsoleMode::Full), Role::Administration);
    assert_eq!(
        operation(&server(ConsoleMode::Full), &token, "ListTables", "{}").status,
        200
    );
    assert_eq!(
        operation(&server(ConsoleMode::Off), &token, "ListTables", "{}").status,
        400
    );
}

#[test]
fn a_session_may_what_its_key_may() {
    let server = server(ConsoleMode::Full);
    let [reader, writer, admin] =
        [Role::ReadOnly, Role::Data, Role::Administration].map(|role| token(&server, role));
    let table = r#"{"TableName":"things","BillingMode":"PAY_PER_REQUEST",
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;
    assert_eq!(operation(&server, &reader, "CreateTable", table).status, 400);
    assert_eq!(operation(&server, &writer, "CreateTable", table).status, 200);
    let denied = operation(&server, &reader, "PutItem", PUT);
    assert!(
        denied.error_type().ends_with("#AccessDeniedException"),
        "{}",
        denied.text()
    );
    assert_eq!(operation(&server, &writer, "PutItem", PUT).status, 200);
    assert_eq!(
        operation(&server, &reader, "Scan", r#"{"TableName":"things"}"#).status,
        200
    );
    assert_eq!(call(&server, &writer, "read-clock").status, 403);
    assert_eq!(call(&server, &admin, "read-clock").status, 200);
    // What models say is needed to read rows. This server has no models, and answers so to everyone.
    assert_ne!(call(&server, &reader, "describe-models").status, 403);
    assert_eq!(call(&server, &reader, "read-metrics").status, 403);
}

#[test]
fn a_console_that_is_read_only_binds_every_session_to_reading() {
    let server = server(ConsoleMode::ReadOnly);
    let admin = token(&server, Role::Administration);
    let denied = operation(&server, &admin, "PutItem", PUT);
    assert!(
        denied.text().contains("because the console is read-only"),
        "{}",
        denied.text()
    );
    assert_eq!(operation(&server, &admin, "ListTables", "{}").status, 200);
    assert_eq!(call(&server, &admin, "read-clock").status, 200);
    let refused = call(&server, &admin, "move-clock");
    assert_eq!(refused.status, 403, "{}", refused.text());
}

#[test]
fn a_wrong_secret_an_unknown_key_and_a_forged_token_are_refused() {
    let server = server(ConsoleMode::Full);
    assert_eq!(begin(&server, &login(Role::Data, "guess"), &[]).status, 400);
    let unknown = login(Role::Data, "secret of Data").replace("\"Data\"", "\"Nobody\"");
    assert_eq!(begin(&server, &unknown, &[]).status, 400);
    assert_eq!(begin(&server, "{}", &[]).status, 400);
    let reader = token(&server, Role::ReadOnly);
    let admin = "Administration"
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    let reader_id = "ReadOnly"
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    for forged in [
        reader.replace(&reader_id, &admin),
        "1.2.3".to_owned(),
        String::new(),
    ] {
        let answer = operation(&server, &forged, "ListTables", "{}");
        assert!(
            answer.error_type().ends_with("#UnrecognizedClientException"),
            "{forged}: {}",
            answer.text()
        );
    }
}

#[test]
fn a_page_of_another_origin_neither_begins_nor_uses_a_session() {
    let server = server(ConsoleMode::Full);
    let sound = login(Role::Administration, &key(Role::Administration).secret);
    for foreign in ["http://localhost:3000", "https://evil.example", "null"] {
        assert_eq!(
            begin(&server, &sound, &[("Origin", foreign)]).status,
            400,
            "{foreign}"
        );
        let token = token(&server, Role::Administration);
        let target = ("x-amz-target", "DynamoDB_20120810.ListTables");
        let answer = send(&server, &token, "/", target, "{}", foreign);
        assert_eq!(answer.status, 400, "{foreign}: {}", answer.text());
    }
    // A browser itself reports that page and server have the same origin, also if a proxy changed the
    // server's name.
    let proxied = [
        ("Origin", "https://db.example"),
        ("Sec-Fetch-Site", "same-origin"),
    ];
    assert_eq!(begin(&server, &sound, &proxied).status, 200);
    let other_site = [("Sec-Fetch-Site", "cross-site")];
    assert_eq!(begin(&server, &sound, &other_site).status, 400);
}

#[test]
fn the_page_is_told_who_it_is() {
    let server = server(ConsoleMode::Full);
    let welcome = server.connect().get("/console/session");
    let welcome: Value = serde_json::from_str(welcome.text()).unwrap();
    assert_eq!(
        (&welcome["login"], &welcome["caller"]),
        (&Value::Bool(true), &Value::Null)
    );
    let token = token(&server, Role::Data);
    let headers = [("Host", HOST), ("x-trestle-session", &token)];
    let welcome = server.connect().send("GET", "/console/session", &headers, b"");
    let welcome: Value = serde_json::from_str(welcome.text()).unwrap();
    assert_eq!(welcome["caller"]["role"], "data");
    assert_eq!(TestServer::start().connect().get("/console/session").status, 200);
}

#[test]
fn metrics_of_the_last_hour_are_a_call() {
    let server = TestServer::start();
    let answer = server.connect().administer("read-metrics", "{}");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let history: Value = serde_json::from_str(answer.text()).unwrap();
    assert_eq!(history["interval_seconds"], 10);
    assert_eq!(
        server
            .connect()
            .administer("read-metrics", r#"{"more": 1}"#)
            .status,
        400
    );
}
