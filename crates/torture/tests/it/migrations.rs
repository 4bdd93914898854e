//! SIGKILL at random moments while a model's keys change from one layout to another and back, under writers
//! and readers that use both: every row exists once, as it was acknowledged, and every migration ends.

mod audit;
mod knowledge;
mod layout;
mod many_rows;
mod reader;
mod stayers;
mod steering;
mod through_gateways;
mod writer;

use crate::{rounds, seed};
use knowledge::Knowledge;
use layout::{Id, Layout, TABLE};
use reader::Reader;
use serde_json::json;
use std::path::Path;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use steering::Steering;
use tempfile::TempDir;
use trestle_torture::audit::{all, verify};
use trestle_torture::http::Client;
use trestle_torture::server::Server;
use writer::{COUNTERS, Counter, Shared, Writer};

const WRITERS: usize = 3;
const READERS: usize = 2;
/// After so many rounds a new directory is used, so that the change log stays short enough to be replayed.
const ROUNDS_PER_DIRECTORY: u64 = 10;

#[test]
fn rows_are_there_once_and_as_acknowledged_while_keys_change_and_the_server_is_killed() {
    let (rounds, seed) = (rounds("MIGRATION_ROUNDS", 3), seed());
    let mut done = 0;
    while done < rounds {
        let here = (rounds - done).min(ROUNDS_PER_DIRECTORY);
        Rounds::new(seed.wrapping_add(done)).run(here);
        done += here;
    }
}

/// The clients, which outlive a server.
struct Rounds {
    random: fastrand::Rng,
    shared: Shared,
    writers: Vec<Writer>,
    readers: Vec<Reader>,
}

impl Rounds {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Rounds {
            shared: Shared {
                knowledge: RwLock::new(Knowledge::new()),
                counters: (0..COUNTERS).map(|_| Counter::default()).collect(),
            },
            writers: (0..WRITERS)
                .map(|number| Writer::new(number, random.fork()))
                .collect(),
            readers: (0..READERS).map(|_| Reader::new(random.fork())).collect(),
            random,
        }
    }

    fn run(&mut self, rounds: u64) {
        let dir = TempDir::new().unwrap();
        let server = Server::on(dir.path());
        steering::apply(&server.address, Layout::ByDepot);
        stayers::write(&mut server.connect(), Layout::ByDepot, 25);
        server.kill();
        for round in 1..=rounds {
            self.until_killed(dir.path());
            if self.random.u8(0..4) == 0 {
                self.sweep_alone(dir.path());
            }
            let server = Server::on(dir.path());
            let (state, rows) = self.check(&server, round);
            let lists: u64 = self.readers.iter().map(|reader| reader.lists).sum();
            println!("killed: round {round}, {state}, {rows} rows, {lists} lists");
            server.kill();
            verify(dir.path()).unwrap();
        }
        self.end(dir.path(), rounds);
        verify(dir.path()).unwrap();
    }

    /// One server's life.
    fn until_killed(&mut self, directory: &Path) {
        let server = Server::on(directory);
        let (address, is_killed) = (server.address.clone(), AtomicBool::new(false));
        let life = Duration::from_millis(self.random.u64(50..900));
        let steering = Steering {
            address: &address,
            shared: &self.shared,
            is_killed: &is_killed,
        };
        steering.find_out(&mut server.connect()).unwrap();
        let random = self.random.fork();
        std::thread::scope(|scope| {
            let (address, shared) = (&address, &self.shared);
            scope.spawn(|| {
                std::thread::sleep(life);
                is_killed.store(true, Ordering::SeqCst);
                server.kill();
            });
            scope.spawn(|| steering.steer(random));
            for writer in &mut self.writers {
                scope.spawn(move || writer.write(address, shared));
            }
            for reader in &mut self.readers {
                scope.spawn(move || reader.read(address, shared));
            }
        });
    }

    /// Rows also move without a server; that process is killed, too.
    fn sweep_alone(&mut self, directory: &Path) {
        let mut sweep = steering::sweep_alone(directory);
        std::thread::sleep(Duration::from_millis(self.random.u64(20..400)));
        let _ = sweep.kill();
        sweep.wait().unwrap();
    }

    /// The state of the migration, and how many rows there are.
    fn check(&mut self, server: &Server, round: u64) -> (String, usize) {
        let is_killed = AtomicBool::new(false);
        let steering = Steering {
            address: &server.address,
            shared: &self.shared,
            is_killed: &is_killed,
        };
        let mut client = server.connect();
        let status = steering.find_out(&mut client).unwrap();
        let layout = self.layout();
        let limit = self.random.u64(1..50);
        let rows = audit::check(&mut client, layout, &self.shared, &mut self.writers, limit);
        let rows = rows.unwrap_or_else(|fault| panic!("round {round}, {status}: {fault}"));
        (
            status["state"].as_str().unwrap_or("no migration").to_owned(),
            rows,
        )
    }

    fn layout(&self) -> Layout {
        self.shared.knowledge.read().unwrap().in_effect.unwrap()
    }

    /// Lets a running migration end, and checks everything once more.
    fn end(&mut self, directory: &Path, rounds: u64) {
        let server = Server::on(directory);
        let mut client = server.connect();
        let is_killed = AtomicBool::new(false);
        let steering = Steering {
            address: &server.address,
            shared: &self.shared,
            is_killed: &is_killed,
        };
        let backwards = self.random.u8(0..3) == 0;
        let status = steering.end(&mut client, backwards, check_single_reads);
        let state = status["state"].as_str().unwrap();
        self.check(&server, rounds);
        let (records, moves) = audit::check_changes(&mut client).unwrap();
        assert!(moves > 0);
        println!("ended: {state}, {records} changes, {moves} of them moves");
    }
}

/// When no row is left in a former place, no read checks there any more, for existing or for missing rows.
fn check_single_reads(client: &mut Client) {
    let double_reads = |client: &mut _| steering::status(client).unwrap()["double_reads"].clone();
    let before = double_reads(client);
    all(client, "Scan", &json!({"TableName": TABLE, "Limit": 20}));
    for number in [1, 1_000] {
        for layout in [Layout::ByDepot, Layout::ByCustomer] {
            let found = writer::get(client, &Id::parcel("d1", "s", number).key(layout)).unwrap();
            assert_eq!(found.is_some(), number == 1);
        }
    }
    assert_eq!(double_reads(client), before);
}
