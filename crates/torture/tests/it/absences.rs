//! A server that is killed while changes wait for their target, and started again ten days later, five times.
//! Every acknowledged change arrives, in order per item.

use crate::routes::{Version, check_order, create, logged, put};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::http::Client;
use trestle_torture::server::{Server, serve};

const ABSENCES: u64 = 5;
const TEN_DAYS_S: u64 = 10 * 24 * 60 * 60;
const ITEMS: u64 = 40;
const PATIENCE: Duration = Duration::from_secs(60);

/// The target accepts nothing before the file `OPEN` exists.
const ROUTES: &str = r#"
[route.log]
table = "things"
input = '{"pk": <keys.pk>, "n": <new.n>}'
target = { command = ["sh", "-c", 'test -e "$OPEN" || exit 1; while read -r line; do echo "$line" >> "$LOG"; done'], environment = { LOG = { env = "LOG" }, OPEN = { env = "OPEN" } } }
parallelization_factor = 3
starting_position = "trim-horizon"
maximum_record_age = "10000h"
maximum_retry_attempts = 10000
"#;

/// The server after so many absences. Its clock starts at the machine's time.
fn start(directory: &Path, absences: u64) -> Server {
    let server = Server::start(
        serve(&directory.join("data"))
            .arg("--virtual-clock")
            .arg("--routes")
            .arg(directory.join("routes.toml"))
            .env("LOG", directory.join("log"))
            .env("OPEN", directory.join("open")),
    );
    let moved = server.connect().advance_clock(absences * TEN_DAYS_S).unwrap();
    assert_eq!(moved.status, 200, "{}", moved.body);
    server
}

#[test]
fn five_absences_of_ten_days_lose_no_change_and_no_order() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("routes.toml"), ROUTES).unwrap();
    let mut written = BTreeSet::new();
    for absence in 0..ABSENCES {
        let server = start(dir.path(), absence);
        let mut client = server.connect();
        if absence == 0 {
            create(&mut client);
        }
        for number in 0..ITEMS {
            let version = (format!("item-{}", number % 7), absence * 1_000 + number);
            put(&mut client, &version).unwrap();
            written.insert(version);
        }
        server.kill();
    }
    std::fs::write(dir.path().join("open"), "").unwrap();
    let server = start(dir.path(), ABSENCES);
    let logged = logged_until(&mut server.connect(), dir.path(), &written);
    check_order(&logged);
    server.kill();
    audit::verify(&dir.path().join("data")).unwrap();
}

/// What the command wrote, once it has everything. Pauses between attempts follow the server's clock.
fn logged_until(client: &mut Client, directory: &Path, written: &BTreeSet<Version>) -> Vec<Version> {
    let begun = Instant::now();
    loop {
        let text = std::fs::read_to_string(directory.join("log")).unwrap_or_default();
        let lines: Vec<Version> = text.lines().map(logged).collect();
        let seen: BTreeSet<&Version> = lines.iter().collect();
        let missing = written.iter().filter(|version| !seen.contains(version)).count();
        if missing == 0 {
            return lines;
        }
        if begun.elapsed() > PATIENCE {
            let status = client.administer("list-routes", &json!({})).unwrap();
            panic!(
                "{missing} of {} changes did not arrive: {}",
                written.len(),
                status.body
            );
        }
        client.advance_clock(60).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}
