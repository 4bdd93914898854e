//! The counts of injected faults of a server.

use trestle_torture::server::Server;

const THROTTLED: &str = "trestle_injected_faults_total{fault=\"throttle\"} ";

/// How many requests a server has throttled since it started.
pub(super) fn throttled(server: &Server) -> u64 {
    let mut client = server.connect();
    client
        .send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let page = client.read().unwrap();
    let page = page.body.as_str().unwrap();
    let counted = page.lines().find_map(|line| line.strip_prefix(THROTTLED));
    counted.map_or(0, |count| count.parse().unwrap())
}
