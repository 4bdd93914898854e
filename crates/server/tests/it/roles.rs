//! What holders of different keys may do.

use crate::client::Response;
use crate::test_server::TestServer;
use trestle_env::Timestamp;
use trestle_server::{AccessKey, KeyGrant, Role};
use trestle_sigv4::Signer;

const NOW_S: u64 = 1_794_729_600;
const HOST: &str = "localhost:8000";
const TABLE: &str = r#"{"TableName":"things","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;

fn key(role: Role) -> AccessKey {
    AccessKey {
        id: format!("{role:?}"),
        secret: format!("secret of {role:?}"),
    }
}

fn server() -> TestServer {
    TestServer::at(NOW_S, |settings| {
        let roles = [Role::ReadOnly, Role::Data, Role::Administration];
        settings.access_keys = roles.map(|role| KeyGrant { key: key(role), role }).into();
    })
}

/// Sends a request signed with the key of a role.
fn send(server: &TestServer, role: Role, path: &str, header: (&str, &str), body: &str) -> Response {
    let service = if header.1.starts_with("AmazonSQS") {
        "sqs"
    } else {
        "dynamodb"
    };
    let signer = Signer::new(key(role), None, "us-east-1", service);
    let headers = [("content-type", "application/x-amz-json-1.0"), header];
    let now = Timestamp::from_secs(NOW_S);
    let signed = signer
        .sign(("POST", path), HOST, &headers, body.as_bytes(), now)
        .unwrap();
    let mut all = vec![("Host", HOST), headers[0], headers[1]];
    all.extend(signed.iter().map(|(name, value)| (*name, value.as_str())));
    server.connect().send("POST", path, &all, body.as_bytes())
}

fn call(server: &TestServer, role: Role, operation: &str, body: &str) -> Response {
    let target = format!("DynamoDB_20120810.{operation}");
    send(server, role, "/", ("x-amz-target", &target), body)
}

fn queue(server: &TestServer, role: Role, operation: &str, body: &str) -> Response {
    let target = format!("AmazonSQS.{operation}");
    send(server, role, "/", ("x-amz-target", &target), body)
}

fn is_denied(answer: &Response) -> bool {
    answer.status == 400 && answer.error_type().ends_with("#AccessDeniedException")
}

#[test]
fn a_key_to_read_with_writes_nothing() {
    let server = server();
    assert_eq!(call(&server, Role::Data, "CreateTable", TABLE).status, 200);
    let put = r#"{"TableName":"things","Item":{"pk":{"S":"a"}}}"#;
    let insert = r#"{"Statement":"INSERT INTO things VALUE {'pk': 'a'}"}"#;
    let batch = r#"{"Statements":[{"Statement":"SELECT * FROM things WHERE pk='a'"},{"Statement":"DELETE FROM things WHERE pk='a'"}]}"#;
    for (operation, body) in [
        ("PutItem", put),
        ("ExecuteStatement", insert),
        ("BatchExecuteStatement", batch),
        ("DeleteTable", r#"{"TableName":"things"}"#),
    ] {
        let answer = call(&server, Role::ReadOnly, operation, body);
        assert!(is_denied(&answer), "{operation}: {}", answer.text());
        let says = format!("User: ReadOnly is not authorized to perform: dynamodb:{operation}");
        assert!(answer.text().contains(&says), "{}", answer.text());
    }
    for (operation, body) in [
        ("GetItem", r#"{"TableName":"things","Key":{"pk":{"S":"a"}}}"#),
        (
            "ExecuteStatement",
            r#"{"Statement":"SELECT * FROM things WHERE pk='a'"}"#,
        ),
        ("Scan", r#"{"TableName":"things"}"#),
    ] {
        let answer = call(&server, Role::ReadOnly, operation, body);
        assert_eq!(answer.status, 200, "{operation}: {}", answer.text());
        assert!(!answer.text().contains("\"pk\""), "{}", answer.text());
    }
    assert_eq!(call(&server, Role::Data, "PutItem", put).status, 200);
}

#[test]
fn a_key_to_read_with_does_not_take_messages_from_others() {
    let server = server();
    let made = queue(&server, Role::Data, "CreateQueue", r#"{"QueueName":"work"}"#);
    assert_eq!(made.status, 200, "{}", made.text());
    let of = r#"{"QueueUrl":"http://localhost:8000/000000000000/work"}"#;
    assert!(is_denied(&queue(&server, Role::ReadOnly, "ReceiveMessage", of)));
    assert!(is_denied(&queue(&server, Role::ReadOnly, "PurgeQueue", of)));
    assert_eq!(
        queue(&server, Role::ReadOnly, "GetQueueAttributes", of).status,
        200
    );
}

#[test]
fn only_a_key_for_administration_reaches_the_administration() {
    let server = server();
    let ask = |role| {
        let admin = ("x-trestle-admin", "1");
        send(&server, role, "/_trestle/read-clock", admin, "{}")
    };
    for role in [Role::ReadOnly, Role::Data] {
        let refused = ask(role);
        assert_eq!(refused.status, 403, "{}", refused.text());
        assert!(
            refused.text().contains(r#""code":"forbidden""#),
            "{}",
            refused.text()
        );
    }
    assert_eq!(ask(Role::Administration).status, 200);
}

#[test]
fn a_write_is_previewed_for_keys_that_may_write() {
    let server = server();
    let ask = |role| {
        let admin = ("x-trestle-admin", "1");
        let body = r#"{"operation":"PutItem","request":{}}"#;
        send(&server, role, "/_trestle/preview-write", admin, body).status
    };
    assert_eq!(ask(Role::ReadOnly), 403);
    // This server has a clock and nothing else to administer; the test only needs the call to be allowed.
    assert_ne!(ask(Role::Data), 403);
    assert_ne!(ask(Role::Administration), 403);
}
