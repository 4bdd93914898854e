//! Regions as separate namespaces.

use crate::running::{Running, rest, start};
use std::path::Path;

const CREATE: &str = r#"{"TableName":"notes","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;

fn serve(directory: &Path, regions: &str) -> Running {
    start(
        directory,
        &["serve", "--data", "data", "--port", "0", "--regions", regions],
    )
}

/// Runs an operation as a client of a region.
fn call(server: &Running, region: &str, target: &str, body: &str) -> String {
    let credential = format!(
        "Authorization: AWS4-HMAC-SHA256 Credential=key/20261118/{region}/service/aws4_request, SignedHeaders=host, Signature=0\r\n"
    );
    rest(server.begin_with(target, &credential, body))
}

fn tables(server: &Running, region: &str) -> String {
    call(server, region, "DynamoDB_20120810.ListTables", "{}")
}

#[test]
fn each_region_has_tables_and_queues_of_its_own_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), "apart");
    let made = call(&server, "eu-west-1", "DynamoDB_20120810.CreateTable", CREATE);
    assert!(
        made.contains("arn:aws:dynamodb:eu-west-1:000000000000:table/notes"),
        "{made}"
    );
    let made = call(
        &server,
        "eu-west-1",
        "AmazonSQS.CreateQueue",
        r#"{"QueueName":"work"}"#,
    );
    assert!(made.contains("200 OK"), "{made}");
    assert!(tables(&server, "us-east-1").ends_with(r#"{"TableNames":[]}"#));
    assert!(
        server.call("ListTables", "{}").ends_with(r#"{"TableNames":[]}"#),
        "without a signature"
    );
    let queues = call(&server, "us-east-1", "AmazonSQS.ListQueues", "{}");
    assert!(!queues.contains("work"), "{queues}");
    assert_eq!(server.stop().0, Some(0));
    let server = serve(directory.path(), "apart");
    assert!(tables(&server, "eu-west-1").ends_with(r#"{"TableNames":["notes"]}"#));
    let queues = call(&server, "eu-west-1", "AmazonSQS.ListQueues", "{}");
    assert!(queues.contains("/work"), "{queues}");
}

#[test]
fn regions_share_everything_unless_they_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), "together");
    assert!(call(&server, "eu-west-1", "DynamoDB_20120810.CreateTable", CREATE).contains("200 OK"));
    assert!(tables(&server, "us-east-1").ends_with(r#"{"TableNames":["notes"]}"#));
}

#[test]
fn names_that_are_no_regions_and_too_many_regions_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let server = start(
        directory.path(),
        &["serve", "--in-memory", "--port", "0", "--regions", "apart"],
    );
    for name in ["..", "Eu-West-1", "a%2fb", &"a".repeat(33)] {
        let answer = tables(&server, name);
        assert!(
            answer.contains("The region of the credential can only have"),
            "{answer}"
        );
    }
    // The server's own is one of the 40.
    for number in 1..40 {
        assert!(tables(&server, &format!("r{number}")).contains("200 OK"));
    }
    let answer = tables(&server, "r40");
    assert!(answer.contains("This server has 40 regions already"), "{answer}");
}
