//! SIGKILL at random moments under load.

use crate::{rounds, seed};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::server::Server;
use trestle_torture::workload::{self, Weight};

const WORKERS: usize = 6;
/// After so many rounds a new directory is begun, so that the change log stays short enough to be replayed each time.
const ROUNDS_PER_DIRECTORY: u64 = 10;

#[test]
fn what_was_acknowledged_survives_a_kill_and_agrees_with_itself() {
    let (rounds, seed) = (rounds("CRASH_ROUNDS", 5), seed());
    let mut done = 0;
    while done < rounds {
        let here = (rounds - done).min(ROUNDS_PER_DIRECTORY);
        kill_rounds(here, seed.wrapping_add(done));
        done += here;
    }
}

fn kill_rounds(rounds: u64, seed: u64) {
    let (dir, mut random) = (TempDir::new().unwrap(), fastrand::Rng::with_seed(seed));
    let weight = if random.bool() {
        Weight::Heavy
    } else {
        Weight::Light
    };
    let mut workers = workload::workers(WORKERS, weight, seed);
    workload::create_table(&mut Server::on(dir.path()).connect());
    let mut findings = None;
    for round in 1..=rounds {
        let server = Server::on(dir.path());
        let address = server.address.clone();
        let moment = Instant::now() + Duration::from_millis(random.u64(30..700));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                server.kill();
            });
            workload::run(&mut workers, &address, &|| false, &|| 0);
        });
        let acknowledged: usize = workers.iter().map(workload::Worker::acknowledged).sum();

        let server = Server::on(dir.path());
        let found = audit::check(&server, &workers, u64::MAX)
            .unwrap_or_else(|fault| panic!("round {round}: {fault}"));
        println!(
            "killed: {acknowledged} acknowledged, {} items, {} changes",
            found.items.len(),
            found.changes
        );
        audit::reconcile(&mut workers, &found.items);
        findings = Some(found);
        server.kill();
        audit::verify(dir.path()).unwrap();
    }
    audit::check_expiry(dir.path(), &findings.unwrap().items).unwrap();
}
