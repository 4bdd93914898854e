//! A system clock that jumps under load, forwards and backwards, also while the server is down. See `native/moved_clock.c`.

use crate::{rounds, seed};
use serde_json::json;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::server::{Server, serve};
use trestle_torture::workload::{self, TABLE, Weight, succeed};
use trestle_torture::{audit, native};

const WORKERS: usize = 4;
const HOUR_S: i64 = 3600;
const YEAR_S: i64 = 365 * 24 * HOUR_S;
/// Streams keep their records for a day, so that between two such times nothing is trimmed.
const NEAR_S: i64 = 11 * HOUR_S;
/// After so many rounds a new directory is used, so that the change log stays short enough to be replayed
/// each time.
const ROUNDS_PER_DIRECTORY: u64 = 10;

/// A clock that can be moved.
pub(super) struct MovedClock {
    tools: TempDir,
    control: File,
}

impl MovedClock {
    pub(super) fn new() -> Self {
        let tools = TempDir::new().unwrap();
        let control = File::create(tools.path().join("control")).unwrap();
        control.set_len(8).unwrap();
        native::moved_clock(tools.path());
        MovedClock { tools, control }
    }

    fn serve(&self, directory: &Path) -> Command {
        let mut command = serve(directory);
        self.rule(&mut command);
        command
    }

    /// Makes a process that is about to start use this clock.
    pub(super) fn rule(&self, command: &mut Command) {
        command.env("LD_PRELOAD", self.tools.path().join("moved_clock.so"));
        command.env("MOVED_CLOCK_CONTROL", self.tools.path().join("control"));
    }

    pub(super) fn set_ahead(&self, seconds: i64) {
        self.control.write_all_at(&seconds.to_le_bytes(), 0).unwrap();
    }
}

#[test]
fn a_clock_that_jumps_under_load_loses_nothing_and_keeps_the_order_of_changes() {
    let (rounds, seed) = (rounds("CLOCK_ROUNDS", 3), seed());
    let mut done = 0;
    while done < rounds {
        let here = (rounds - done).min(ROUNDS_PER_DIRECTORY);
        jump_rounds(here, seed.wrapping_add(done));
        done += here;
    }
}

fn jump_rounds(rounds: u64, seed: u64) {
    let (dir, clock, mut random) = (
        TempDir::new().unwrap(),
        MovedClock::new(),
        fastrand::Rng::with_seed(seed),
    );
    let mut workers = workload::workers(WORKERS, Weight::Light, seed);
    workload::create_table(&mut Server::start(&mut clock.serve(dir.path())).connect());
    for round in 0..rounds {
        let server = Server::start(&mut clock.serve(dir.path()));
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let end = Instant::now() + Duration::from_millis(800);
                while Instant::now() < end {
                    clock.set_ahead(random.i64(-NEAR_S..NEAR_S));
                    std::thread::sleep(Duration::from_millis(20));
                }
                is_over.store(true, Ordering::SeqCst);
            });
            workload::run(
                &mut workers,
                &server.address,
                &|| is_over.load(Ordering::SeqCst),
                &|| 0,
            );
        });
        for worker in &workers {
            assert!(
                worker.acknowledged() > 0,
                "round {round}: {} wrote nothing",
                worker.prefix()
            );
        }
        let found = audit::check(&server, &workers, u64::MAX)
            .unwrap_or_else(|fault| panic!("round {round}: {fault}"));
        println!("{} items, {} changes", found.items.len(), found.changes);
        audit::reconcile(&mut workers, &found.items);
        server.kill();
        // The next server may find a clock that is before everything that was written.
        clock.set_ahead(random.i64(-NEAR_S..NEAR_S));
        audit::verify(dir.path()).unwrap();
    }
}

#[test]
fn a_clock_that_is_years_off_loses_nothing_but_what_has_expired() {
    let (dir, clock) = (TempDir::new().unwrap(), MovedClock::new());
    let mut workers = workload::workers(WORKERS, Weight::Light, seed());
    workload::create_table(&mut Server::start(&mut clock.serve(dir.path())).connect());
    // 1971, then decades ahead, then back: no item of the workers expires in that time.
    for (round, years) in [-55, 0, 30, -20, 0].into_iter().enumerate() {
        clock.set_ahead(years * YEAR_S);
        let server = Server::start(&mut clock.serve(dir.path()));
        let end = Instant::now() + Duration::from_millis(300);
        workload::run(&mut workers, &server.address, &|| Instant::now() > end, &|| 0);
        for worker in &workers {
            assert!(
                worker.acknowledged() > 0,
                "{years} years: {} wrote nothing",
                worker.prefix()
            );
        }
        let found = audit::check_items(&mut server.connect(), &workers, u64::MAX);
        let (items, _) = found.unwrap_or_else(|fault| panic!("round {round}, {years} years: {fault}"));
        audit::reconcile(&mut workers, &items);
        server.kill();
        audit::verify(dir.path()).unwrap();
    }
    expires_once_the_clock_is_there(&clock, dir.path());
}

/// An item expires when its time has come by the clock; a clock that goes back restores nothing and removes
/// nothing more.
fn expires_once_the_clock_is_there(clock: &MovedClock, directory: &Path) {
    clock.set_ahead(0);
    let server = Server::start(&mut clock.serve(directory));
    let mut client = server.connect();
    let in_ten_years = 1_800_000_000 + 10 * YEAR_S;
    for (key, expires) in [("soon", in_ten_years), ("late", in_ten_years + 20 * YEAR_S)] {
        let item = json!({"pk": {"S": key}, "expires": {"N": expires.to_string()}});
        succeed(&mut client, "PutItem", &json!({"TableName": TABLE, "Item": item}));
    }
    let mut has = |key: &str| {
        let get = json!({"TableName": TABLE, "Key": {"pk": {"S": key}}});
        succeed(&mut client, "GetItem", &get).get("Item").is_some()
    };
    clock.set_ahead(15 * YEAR_S);
    let deadline = Instant::now() + Duration::from_secs(20);
    while has("soon") {
        assert!(Instant::now() < deadline, "what had expired stayed");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(has("late"));
    clock.set_ahead(-15 * YEAR_S);
    std::thread::sleep(Duration::from_millis(1500));
    assert!(has("late") && !has("soon"));
}
