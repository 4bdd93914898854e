//! The same at an endpoint that knows no model, through two gateways that are killed in turn: the remaining
//! one continues the sweep when the lease of the other has ended.
//!
//! `GATEWAY_MIGRATION_ROUNDS=5 cargo test --release -p trestle-torture through_gateways -- --nocapture` is a longer run.

use super::steering::Steering;
use super::{Rounds, check_single_reads, stayers, steering};
use crate::migrations::layout::Layout;
use crate::{rounds, seed};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trestle_torture::server::{Server, binary};

/// Longer than the lease of a gateway, which is fifteen seconds.
const LIFE_MS: std::ops::Range<u64> = 18_000..24_000;

pub(super) fn trestle(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(["serve", "--log-level", "error", "--port", "0"]);
    command.args(arguments);
    command
        .env("AWS_ACCESS_KEY_ID", "any")
        .env("AWS_SECRET_ACCESS_KEY", "any");
    command
}

pub(super) fn gateway(endpoint: &str) -> Server {
    Server::start(&mut trestle(&["--backend", endpoint]))
}

#[test]
fn rows_are_there_once_and_as_acknowledged_while_keys_change_and_gateways_are_killed() {
    let mut all = Rounds::new(seed());
    let rounds = rounds("GATEWAY_MIGRATION_ROUNDS", 1);
    let endpoint = Server::start(&mut trestle(&["--in-memory", "--behind-gateways"]));
    let url = format!("http://{}", endpoint.address);
    let first = gateway(&url);
    steering::apply(&first.address, Layout::ByDepot);
    stayers::write(&mut first.connect(), Layout::ByDepot, 1);
    first.terminate();
    for round in 1..=rounds {
        all.until_both_are_killed(&url);
        let server = gateway(&url);
        let (state, rows) = all.check(&server, round);
        let lists: u64 = all.readers.iter().map(|reader| reader.lists).sum();
        println!("gateways killed: round {round}, {state}, {rows} rows, {lists} lists");
        server.terminate();
    }
    let server = gateway(&url);
    let is_killed = AtomicBool::new(false);
    let steering = Steering {
        address: &server.address,
        shared: &all.shared,
        is_killed: &is_killed,
    };
    let mut client = server.connect();
    let status = steering.end(&mut client, false, check_single_reads);
    assert!(status["state"].is_string());
    all.check(&server, rounds);
    server.terminate();
}

impl Rounds {
    /// The lives of two gateways, of which the first is killed early.
    fn until_both_are_killed(&mut self, endpoint: &str) {
        let gateways = [gateway(endpoint), gateway(endpoint)];
        let addresses = [gateways[0].address.clone(), gateways[1].address.clone()];
        let is_killed = AtomicBool::new(false);
        let steering = Steering {
            address: &addresses[1],
            shared: &self.shared,
            is_killed: &is_killed,
        };
        steering.find_out(&mut gateways[1].connect()).unwrap();
        let first_life = Duration::from_millis(self.random.u64(1_000..6_000));
        let more = Duration::from_millis(self.random.u64(LIFE_MS));
        let random = self.random.fork();
        let [first, second] = gateways;
        std::thread::scope(|scope| {
            let (addresses, shared) = (&addresses, &self.shared);
            scope.spawn(|| {
                std::thread::sleep(first_life);
                first.kill();
                std::thread::sleep(more);
                is_killed.store(true, Ordering::SeqCst);
                second.kill();
            });
            scope.spawn(|| steering.steer(random));
            for (number, writer) in self.writers.iter_mut().enumerate() {
                scope.spawn(move || writer.write(&addresses[number % 2], shared));
            }
            for (number, reader) in self.readers.iter_mut().enumerate() {
                scope.spawn(move || reader.read(&addresses[number % 2], shared));
            }
        });
    }
}
