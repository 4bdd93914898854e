//! Signed requests over a socket. The signature was made by botocore for `Host: localhost:8000`.

use crate::client::Response;
use crate::test_server::TestServer;
use trestle_server::{AccessKey, KeyGrant};

const SIGNED_AT_S: u64 = 1_794_729_600;
const HEADERS: [(&str, &str); 3] = [
    ("Host", "localhost:8000"),
    ("X-Amz-Date", "20261115T080000Z"),
    (
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261115/eu-west-2/dynamodb/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
         Signature=0ab9ef31cdfd4c2d20a8988acbad6184b2707afebc5a9d395f38a9057c3ab279",
    ),
];
const BODY: &[u8] = br#"{"Limit":10}"#;

fn guarded_server() -> TestServer {
    guarded_server_at(SIGNED_AT_S)
}

fn guarded_server_at(epoch_s: u64) -> TestServer {
    TestServer::at(epoch_s, |settings| {
        settings.access_keys = vec![KeyGrant::everything(AccessKey {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
        })];
    })
}

fn refusal(answer: &Response) -> String {
    assert_eq!(answer.status, 400);
    answer
        .error_type()
        .strip_prefix("com.amazon.coral.service#")
        .unwrap()
        .to_owned()
}

#[test]
fn a_signed_request_is_let_in() {
    let server = guarded_server();
    let answer = server.connect().call_with("ListTables", &HEADERS, BODY);
    assert_eq!((answer.status, answer.text()), (200, r#"{"TableNames":[]}"#));
}

#[test]
fn others_are_told_why_not() {
    let server = guarded_server();
    let unsigned = server.call("ListTables", "{}");
    assert_eq!(refusal(&unsigned), "MissingAuthenticationTokenException");
    assert!(
        unsigned
            .text()
            .contains(r#""message":"Request is missing Authentication Token""#)
    );

    let tampered = server.connect().call_with("ListTables", &HEADERS, b"{}");
    assert_eq!(refusal(&tampered), "InvalidSignatureException");

    let incomplete = [("Authorization", "AWS4-HMAC-SHA256 Credential=a")];
    let incomplete = server.connect().call_with("ListTables", &incomplete, b"{}");
    assert_eq!(refusal(&incomplete), "IncompleteSignatureException");

    let stranger = HEADERS.map(|(name, value)| (name, value.replace("AKIDEXAMPLE", "AKIDSTRANGER")));
    let stranger: Vec<(&str, &str)> = stranger
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let stranger = server.connect().call_with("ListTables", &stranger, BODY);
    assert_eq!(refusal(&stranger), "UnrecognizedClientException");
}

#[test]
fn a_signature_lives_by_the_servers_clock() {
    let server = guarded_server_at(SIGNED_AT_S + 901);
    let answer = server.connect().call_with("ListTables", &HEADERS, BODY);
    assert_eq!(refusal(&answer), "InvalidSignatureException");
    assert!(
        answer.text().contains("Signature expired: 20261115T080000Z"),
        "{}",
        answer.text()
    );
}

#[test]
fn the_clock_is_not_moved_without_a_signature() {
    let server = guarded_server();
    let answer = server
        .connect()
        .administer("move-clock", r#"{"advance_seconds": 901}"#);
    assert_eq!(refusal(&answer), "MissingAuthenticationTokenException");
    assert_eq!(
        server.connect().call_with("ListTables", &HEADERS, BODY).status,
        200
    );
}

#[test]
fn health_needs_no_signature() {
    assert_eq!(guarded_server().connect().get("/").status, 200);
}
