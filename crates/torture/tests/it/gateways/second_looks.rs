//! Gateways are killed between a write that looked for rows and its second look. All of them are killed at once, so that no later write
//! corrects the rows by chance.

use super::derived_rows::assert_derived;
use super::{Fleet, GATEWAYS, WRITERS, Writer, assert_exact, put_shops, rows};
use crate::{Sets, rounds, seed};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use trestle_torture::server::Server;

/// Delays, so that other writes happen between a look for rows and its commit, and the gateway waits for the response to the commit.
const SLOW: [&str; 2] = [
    "delay,operation=Query,share=0.8,ms=150",
    "delay,operation=TransactWriteItems,share=0.6,ms=300",
];
const SLOW_WITHOUT_TRANSACTIONS: [&str; 3] = [
    "unknown,operation=TransactWriteItems,operation=TransactGetItems",
    "delay,operation=Query,share=0.7,ms=100",
    "delay,operation=DeleteItem,table=_trestle.locks,share=0.5,ms=200",
];

#[test]
fn rows_that_a_killed_gateway_would_have_found_in_its_second_look_are_found_by_another() {
    kill_all_gateways(&[], &SLOW);
}

#[test]
fn they_are_found_without_transactions_too() {
    kill_all_gateways(&SLOW_WITHOUT_TRANSACTIONS[..1], &SLOW_WITHOUT_TRANSACTIONS);
}

/// Removes newest versions while other writers put some, and changes people while other writers put their seats.
fn write(writer: &mut Writer<'_>, stop: &AtomicBool) {
    while !stop.load(Ordering::Acquire) {
        match writer.random.u8(..16) {
            0 => writer.put_page(),
            1..=7 => writer.put_second_newest_page(),
            8..=13 => writer.remove_newest_page(),
            14 => writer.put_person(),
            _ => writer.put_seat(),
        }
    }
}

fn kill_all_gateways(lacks: &[&str], slow: &[&str]) {
    let mut random = fastrand::Rng::with_seed(seed());
    let fleet = Fleet::start();
    fleet.set_faults(lacks);
    let mut first = fleet.first_gateway();
    put_shops(&first);
    for round in 0..rounds("ALL_GATEWAYS_KILLS", 2) {
        let others = (1..GATEWAYS).map(|_| fleet.gateway());
        let gateways: Vec<Server> = std::iter::once(first).chain(others).collect();
        let addresses = Mutex::new(gateways.iter().map(|server| server.address.clone()).collect());
        let stop = AtomicBool::new(false);
        fleet.set_faults(slow);
        let acknowledged: u64 = std::thread::scope(|scope| {
            let stopping = Sets(&stop);
            let writers: Vec<_> = (0..WRITERS)
                .map(|number| {
                    let mut writer = Writer::new(number, &addresses, random.fork());
                    let stop = &stop;
                    scope.spawn(move || {
                        write(&mut writer, stop);
                        writer.acknowledged
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(random.u64(1500..2500)));
            for gateway in gateways {
                gateway.kill();
            }
            drop(stopping);
            writers.into_iter().map(|writer| writer.join().unwrap()).sum()
        });
        fleet.set_faults(lacks);
        let left = fleet.intents();
        first = fleet.gateway();
        fleet.await_no_intents();
        println!("round {round}: {acknowledged} requests acknowledged, {left} writes left undone");
        assert!(acknowledged > 0, "no request was acknowledged");
        assert_derived(&rows(&fleet.endpoint));
        assert_exact(&first);
    }
}
