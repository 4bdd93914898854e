//! `apply --fill` of every effect while clients write: afterwards derived data is exact.

use super::version::{EFFECTS, Version, said};
use super::writer::Writer;
use super::{check, wait_until_cleared};
use crate::Sets;
use crate::{rounds, seed};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use trestle_torture::audit::verify;
use trestle_torture::server::Server;

const WRITERS: usize = 8;

#[test]
fn an_effect_that_is_added_under_writers_is_exact_for_every_row() {
    let (rounds, mut random) = (rounds("FILL_ROUNDS", 2), fastrand::Rng::with_seed(seed()));
    for round in 1..=rounds {
        let (dir, scratch) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let mut version = Version::whole("m");
        version.effects.clear();
        let server = Server::on(dir.path());
        version.apply(scratch.path(), &server.address);
        let is_over = AtomicBool::new(false);
        let mut writers: Vec<Writer> = (0..WRITERS)
            .map(|_| Writer::new(&version, random.fork()))
            .collect();
        let order = shuffled(&mut random);
        let applied = std::thread::scope(|scope| {
            let (is_over, address) = (&is_over, &server.address);
            for writer in &mut writers {
                scope.spawn(move || writer.write(address, &|| is_over.load(Ordering::SeqCst)));
            }
            let _over = Sets(is_over);
            add_all(&version, &order, scratch.path(), address)
        });
        let mut client = server.connect();
        wait_until_cleared(&mut client, &applied);
        check(&mut client, &applied);
        let written: u64 = writers.iter().map(|writer| writer.written).sum();
        println!(
            "filled: round {round}, {} with {written} writes",
            applied.effects.join(", ")
        );
        assert!(written > 0, "the writers wrote nothing");
        server.kill();
        verify(dir.path()).unwrap();
    }
}

fn shuffled(random: &mut fastrand::Rng) -> [&'static str; EFFECTS.len()] {
    let mut order = EFFECTS;
    random.shuffle(&mut order);
    order
}

/// Adds one effect after the other. Rows that share a value prevent `unique`; then nothing has changed.
fn add_all(version: &Version, order: &[&'static str], scratch: &std::path::Path, address: &str) -> Version {
    let mut version = version.clone();
    for effect in order {
        std::thread::sleep(Duration::from_millis(100));
        let next = version.toggled(effect);
        let done = next.run(&["model", "apply", "--fill"], scratch, address);
        if done.status.success() {
            version = next;
            continue;
        }
        let said = said(&done);
        assert!(
            *effect == "unique" && said.contains("unique body of doc"),
            "{said}"
        );
        // Rows that came to share a value while the others were read: the version is in force, and is rolled
        // back.
        if said.contains("is in effect") {
            version.apply(scratch, address);
        }
    }
    version
}
