//! A server that may not write files as large as it needs (`ulimit -f`).

use crate::running::{Running, start, start_command, trestle};
use std::path::Path;
use std::process::Command;

const TABLE: &str = r#"{"TableName":"large","BillingMode":"PAY_PER_REQUEST",
    "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
    "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#;

fn put(server: &Running, n: u64) -> String {
    let mut random = n + 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        format!("{random:016x}")
    };
    let noise: String = (0..20_000).map(|_| next()).collect();
    let item = format!(r#"{{"TableName":"large","Item":{{"pk":{{"S":"{n}"}},"v":{{"S":"{noise}"}}}}}}"#);
    server.call("PutItem", &item)
}

/// 2 MB, in blocks of 512 bytes.
fn serve_below_limit(home: &Path) -> Running {
    let server = trestle(home);
    let mut limited = Command::new("sh");
    limited
        .current_dir(home)
        .args(["-c", "ulimit -f 4096; exec \"$0\" serve --port 0 --data data"]);
    start_command(limited.arg(server.get_program()))
}

#[test]
fn writes_are_refused_with_a_way_out_and_reads_go_on() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let server = start(home, &["serve", "--port", "0", "--data", "data"]);
    assert!(server.call("CreateTable", TABLE).contains("200 OK"));
    for n in 0..25 {
        assert!(put(&server, n).contains("200 OK"));
    }
    server.stop();

    // The journal is already larger than a file may be.
    let server = serve_below_limit(home);
    for _ in 0..3 {
        let refused = put(&server, 100);
        assert!(
            refused.contains("500 Internal") && refused.contains("ulimit -f"),
            "{refused}"
        );
        let read = server.call("GetItem", r#"{"TableName":"large","Key":{"pk":{"S":"24"}}}"#);
        assert!(
            read.contains("200 OK") && read.len() > 300_000,
            "{}",
            &read[..100]
        );
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}
