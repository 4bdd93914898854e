//! SIGKILL at random moments under load.

use crate::{rounds, seed};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::server::Server;
use trestle_torture::workload::{self, Weight};

const WORKERS: usize = 6;
/// After so many rounds a new directory is used, so that the change log stays short enough to be replayed
/// each time.
const ROUNDS_PER_DIRECTORY: u64 = 10;

#[test]
fn what_was_acknowledged_survives_a_kill_and_agrees_with_itself() {
    in_several_directories(rounds("CRASH_ROUNDS", 5), |rounds, seed| {
        let dir = TempDir::new().unwrap();
        endure(dir.path(), rounds, seed, &|server, _| {
            server.kill();
        });
    });
}

/// Calls `endure` with the number of rounds for one directory, and a seed, until all rounds are done.
pub(crate) fn in_several_directories(rounds: u64, endure: impl Fn(u64, u64)) {
    let (seed, mut done) = (seed(), 0);
    while done < rounds {
        let here = (rounds - done).min(ROUNDS_PER_DIRECTORY);
        endure(here, seed.wrapping_add(done));
        done += here;
    }
}

/// Called when later acknowledgements need not count.
pub(crate) struct LastMoment<'a>(&'a AtomicU64);

impl LastMoment<'_> {
    pub(crate) fn is_over(&self) {
        self.0.store(1, Ordering::SeqCst);
    }
}

/// Writes to a server in `data` until `end` ends it at a random moment, and checks that all data is found
/// again; so many times.
pub(crate) fn endure(data: &Path, rounds: u64, seed: u64, end: &(impl Fn(Server, LastMoment<'_>) + Sync)) {
    let mut random = fastrand::Rng::with_seed(seed);
    let weight = if random.bool() {
        Weight::Heavy
    } else {
        Weight::Light
    };
    let mut workers = workload::workers(WORKERS, weight, seed);
    workload::create_table(&mut Server::on(data).connect());
    let mut findings = None;
    for round in 1..=rounds {
        let server = Server::on(data);
        let (address, mark) = (server.address.clone(), AtomicU64::new(0));
        let moment = Instant::now() + Duration::from_millis(random.u64(30..700));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(moment.saturating_duration_since(Instant::now()));
                end(server, LastMoment(&mark));
            });
            workload::run(&mut workers, &address, &|| false, &|| mark.load(Ordering::SeqCst));
        });
        let acknowledged: usize = workers.iter().map(|worker| worker.acknowledged_by(0)).sum();

        let server = Server::on(data);
        let found =
            audit::check(&server, &workers, 0).unwrap_or_else(|fault| panic!("round {round}: {fault}"));
        println!(
            "ended: {acknowledged} acknowledged, {} items, {} changes",
            found.items.len(),
            found.changes
        );
        audit::reconcile(&mut workers, &found.items);
        findings = Some(found);
        server.kill();
        audit::verify(data).unwrap();
    }
    audit::check_expiry(data, &findings.unwrap().items).unwrap();
}
