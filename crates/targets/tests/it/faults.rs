//! Destinations that cannot be opened, and the errors for their authors.

use crate::batches::{surroundings, try_open};
use serde_json::{Value, json};
use std::sync::Arc;
use trestle_env::SystemClock;
use trestle_targets::{Fault, Surroundings, Trust};

fn faults(destination: Value) -> Vec<String> {
    let faults = try_open(destination, &surroundings()).err().unwrap();
    faults.iter().map(Fault::to_string).collect()
}

#[test]
fn every_mistake_is_named() {
    assert_eq!(
        faults(json!({
            "webhook": "localhost:9000",
            "timeout": "soon",
            "secret": "hush",
            "headers": {"X-Key": {"env": "NOT_SET"}, "no name": "x"},
            "retries": 3,
        })),
        [
            "timeout: must be a time such as \"500ms\", \"10s\" or \"2m\", at most a day",
            "secret: must be { env = \"NAME\" } or { file = \"path\" }: a secret does not belong in a route file",
            "headers.X-Key: the environment variable NOT_SET is not set",
            "headers.no name: is no name of a header",
            "webhook: must be a URL that begins with http:// or https://",
            "retries: is no setting of this target; there are ca_file, headers, secret, timeout, webhook",
        ]
    );
}

#[test]
fn a_destination_must_be_of_a_known_kind() {
    let expected = "target: must be one of webhook, command, sqs, event_bridge";
    assert_eq!(faults(json!({"carrier_pigeon": "x"})), [expected]);
    assert_eq!(faults(json!({})), [expected]);
}

#[test]
fn a_command_is_a_list_of_words() {
    let expected =
        "command: must be a program and its arguments, as in [\"sh\", \"-c\", \"cat >> changes.jsonl\"]";
    for command in [json!("sh"), json!([]), json!([""]), json!(["sh", 1])] {
        assert_eq!(faults(json!({"command": command})), [expected]);
    }
}

#[test]
fn an_event_bridge_needs_an_endpoint_and_a_source() {
    assert_eq!(
        faults(json!({"event_bridge": {"buss": "main"}})),
        [
            "event_bridge.endpoint: is missing",
            "event_bridge.source: is missing",
            "event_bridge.buss: is no setting of this target; there are bus, detail_type, endpoint, region, source, \
             timeout",
        ]
    );
    assert_eq!(
        faults(json!({"event_bridge": "x"})),
        ["event_bridge: must be a table"]
    );
}

#[test]
fn a_queue_of_aws_needs_credentials_and_a_region() {
    let surroundings = Surroundings::with_variables(Arc::new(SystemClock::new()), |_| None);
    let faults = try_open(json!({"sqs": "https://queues.example.com/1/q"}), &surroundings)
        .err()
        .unwrap();
    let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert_eq!(
        faults,
        [
            "region: is missing, and the host does not tell it; set it, or AWS_REGION",
            "target: needs credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment",
        ]
    );
    assert_eq!(
        self::faults(json!({"sqs": "http://127.0.0.1:8000"})),
        ["sqs: must be the queue's whole URL, with its name at the end"]
    );
}

#[test]
fn a_file_of_certificates_must_hold_some() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    assert_eq!(
        faults(json!({"webhook": "https://localhost/", "ca_file": path})),
        [format!(
            "webhook: the file {path} cannot be used: it holds no certificate"
        )]
    );
}

/// The refusals for a route that was created over the network.
fn distrusted(destination: Value) -> Vec<String> {
    let distrusted = surroundings().trusting(Trust::NONE);
    let faults = try_open(destination, &distrusted).err().unwrap_or_default();
    faults.iter().map(Fault::to_string).collect()
}

#[test]
fn a_route_that_is_not_trusted_runs_nothing_and_reads_nothing() {
    for (destination, at) in [
        (json!({"command": ["true"]}), "command: "),
        (
            json!({"webhook": "http://203.0.112.9/", "secret": {"env": "HOOK_SECRET"}}),
            "secret: ",
        ),
        (
            json!({"webhook": "http://203.0.112.9/", "headers": {"X-Key": {"file": "/etc/hostname"}}}),
            "headers.X-Key: ",
        ),
        (
            json!({"webhook": "http://203.0.112.9/", "ca_file": "/etc/hostname"}),
            "ca_file: ",
        ),
    ] {
        let faults = distrusted(destination.clone());
        assert_eq!(faults.len(), 1, "{destination}: {faults:?}");
        assert!(
            faults[0].starts_with(at) && faults[0].contains("--allow-command-routes"),
            "{faults:?}"
        );
    }
    assert_eq!(
        distrusted(json!({"webhook": "http://203.0.112.9/", "headers": {"X-Kind": "order"}})),
        Vec::<String>::new()
    );
}

#[test]
fn a_route_that_is_not_trusted_does_not_reach_into_the_own_network() {
    for (setting, destination) in [
        ("webhook", json!({"webhook": "http://127.0.0.1:9000/hook"})),
        ("webhook", json!({"webhook": "http://localhost:9000/hook"})),
        ("webhook", json!({"webhook": "http://[::1]:9000/hook"})),
        (
            "webhook",
            json!({"webhook": "http://169.254.169.254/latest/meta-data"}),
        ),
        ("webhook", json!({"webhook": "http://10.1.2.3/hook"})),
        ("sqs", json!({"sqs": "http://127.0.0.1:8000/000000000000/orders"})),
        (
            "event_bridge.endpoint",
            json!({"event_bridge": {"endpoint": "http://192.168.0.1", "source": "shop"}}),
        ),
    ] {
        let faults = distrusted(destination.clone());
        assert_eq!(faults.len(), 1, "{destination}: {faults:?}");
        assert!(
            faults[0].starts_with(&format!("{setting}: ")) && faults[0].contains("--allow-private-webhooks"),
            "{faults:?}"
        );
    }
}
