//! When a shard of a stream is split in two.

use crate::running::{Running, rest, run, start};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// A server with these flags, and the ARN of the stream of its table `notes`.
fn serve(directory: &Path, flags: &[&str]) -> (Running, String) {
    let server = start(
        directory,
        &[&["serve", "--in-memory", "--port", "0"][..], flags].concat(),
    );
    let create = json!({
        "TableName": "notes", "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"},
    });
    let made = body(&server.call("CreateTable", &create.to_string()));
    let arn = made["TableDescription"]["LatestStreamArn"].as_str().unwrap();
    let arn = arn.to_owned();
    (server, arn)
}

/// The JSON of an answer.
fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

/// Writes four rows full of a letter, 1.2 MB together.
fn write_much(server: &Running, letter: &str) {
    for number in 0..4 {
        let item = json!({"pk": {"S": number.to_string()}, "text": {"S": letter.repeat(300_000)}});
        let put = json!({"TableName": "notes", "Item": item});
        let answer = server.call("PutItem", &put.to_string());
        assert!(answer.contains("200 OK"), "{answer}");
    }
}

fn shards(server: &Running, arn: &str) -> Vec<Value> {
    let describe = json!({"StreamArn": arn}).to_string();
    let answer = rest(server.begin("DynamoDBStreams_20120810.DescribeStream", &describe));
    let description = &body(&answer)["StreamDescription"];
    description["Shards"].as_array().unwrap().clone()
}

/// The shards when there is more than one, or after 20 seconds.
fn shards_after_split(server: &Running, arn: &str) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let shards = shards(server, arn);
        if shards.len() > 1 || Instant::now() > deadline {
            return shards;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_shard_is_split_when_as_much_was_written_to_it_as_the_flag_says() {
    let directory = tempfile::tempdir().unwrap();
    let (server, arn) = serve(directory.path(), &["--stream-shard-mb", "1"]);
    assert_eq!(shards(&server, &arn).len(), 1);
    write_much(&server, "a");
    let shards = shards_after_split(&server, &arn);
    let parents: Vec<_> = shards.iter().map(|shard| &shard["ParentShardId"]).collect();
    let first = &shards[0]["ShardId"];
    assert_eq!(parents, [&Value::Null, first, first]);
}

#[test]
fn with_a_larger_limit_it_stays_whole() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("trestle.toml"),
        "[tables]\nstream_shard_mb = 2\n",
    )
    .unwrap();
    let (server, arn) = serve(directory.path(), &["--config", "trestle.toml"]);
    write_much(&server, "a");
    // The janitor checks the shards every second.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(shards(&server, &arn).len(), 1);
    // The same rows again would be no change.
    write_much(&server, "b");
    assert_eq!(shards_after_split(&server, &arn).len(), 3);
}

#[test]
fn nothing_is_no_limit_as_a_flag_or_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |args: &[&str]| {
        let refused = run(
            directory.path(),
            &[&["serve", "--in-memory", "--port", "0"][..], args].concat(),
        );
        assert_eq!(refused.status.code(), Some(2));
        String::from_utf8(refused.stderr).unwrap()
    };
    let said = refused(&["--stream-shard-mb", "0"]);
    assert!(said.contains("--stream-shard-mb"), "{said}");
    for name in ["stream_shard_mb", "stream_shards"] {
        std::fs::write(
            directory.path().join("trestle.toml"),
            format!("[tables]\n{name} = 0\n"),
        )
        .unwrap();
        let said = refused(&[]);
        assert!(said.contains(name) && said.contains("line 2"), "{said}");
    }
}
