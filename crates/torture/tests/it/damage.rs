//! Damaged files: flipped bits, truncation, deletion. Whatever happens to one file of a data directory, the
//! server either serves exactly the original rows, or names the damaged file. It never silently serves fewer
//! or other rows.

mod served;
mod specimen;

use crate::{rounds, seed};
use served::Served;
use specimen::{Damage, Specimen};
use std::collections::BTreeMap;
use trestle_torture::server::{Server, serve};

/// One of so many bytes of each small file is flipped.
const STRIDE: u64 = 151;
const RANDOM_FLIPS: u64 = 12;
const CUTS: u64 = 12;

/// The advice that a message must contain one of.
const WAYS_OUT: [&str; 4] = [
    "trestle restore",
    "docs/internals/format.md",
    "restore the file",
    "newer version",
];

#[test]
fn a_flipped_byte_of_a_small_file_never_costs_rows_in_silence() {
    let stride = rounds("DAMAGE_STRIDE", STRIDE) as usize;
    let specimen = Specimen::make(seed());
    let mut tally = Tally::default();
    // Not always the same bytes: the offset of the first one differs.
    let mut first = fastrand::usize(..stride);
    for file in specimen.small_files() {
        let len = specimen.len(file);
        while first < len {
            let mask = 1 << fastrand::u32(..8);
            tally.add(try_damage(&specimen, &Damage::flip(file, first, mask)));
            first += stride;
        }
        first -= len;
    }
    tally.print("flips of bytes of small files");
}

#[test]
fn random_flips_in_large_files_never_cost_rows_in_silence() {
    let specimen = Specimen::make(seed());
    let mut tally = Tally::default();
    for _ in 0..rounds("DAMAGE_FLIPS", RANDOM_FLIPS) {
        let (file, at) = specimen.place_in_a_large_file();
        let mask = 1 << fastrand::u32(..8);
        tally.add(try_damage(&specimen, &Damage::flip(file, at, mask)));
    }
    tally.print("random flips in large files");
}

#[test]
fn files_that_are_cut_short_or_deleted_never_cost_rows_in_silence() {
    let specimen = Specimen::make(seed());
    let mut tally = Tally::default();
    for round in 0..rounds("DAMAGE_CUTS", CUTS) {
        let file = specimen.any_file();
        let damage = match round % 2 {
            0 => Damage::deletion(file),
            _ => Damage::cut(file, fastrand::usize(..=specimen.len(file))),
        };
        tally.add(try_damage(&specimen, &damage));
    }
    tally.print("truncations and deletions");
}

/// The outcome for a damaged directory. Any other outcome fails the test.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// It was not opened; the message names the file.
    Refused,
    /// It was opened, and a read failed with a message that names the file.
    FailedRead,
    /// Every row was served unchanged.
    Harmless,
}

#[derive(Default)]
struct Tally(BTreeMap<Outcome, u64>);

impl Tally {
    fn add(&mut self, outcome: Outcome) {
        *self.0.entry(outcome).or_default() += 1;
    }

    fn print(&self, what: &str) {
        let of = |outcome| self.0.get(&outcome).copied().unwrap_or_default();
        let all: u64 = self.0.values().sum();
        println!(
            "{all} {what}: {} refused, {} told by a failed read, {} harmless",
            of(Outcome::Refused),
            of(Outcome::FailedRead),
            of(Outcome::Harmless)
        );
        assert!(of(Outcome::Harmless) < all, "nothing was noticed");
    }
}

fn try_damage(specimen: &Specimen, damage: &Damage) -> Outcome {
    let dir = specimen.damaged(damage);
    let server = match Server::try_start(&mut serve(dir.path())) {
        Ok(server) => server,
        Err(log) => {
            check_message(damage, &log);
            return Outcome::Refused;
        }
    };
    let served = Served::all(&server);
    server.kill();
    match served {
        Err(message) => {
            check_message(damage, &message);
            Outcome::FailedRead
        }
        Ok(served) if served == specimen.served => Outcome::Harmless,
        Ok(served) => {
            let difference = served.difference(&specimen.served);
            let kept = dir.keep();
            panic!("{damage}: {difference} and no error; kept in {}", kept.display())
        }
    }
}

fn check_message(damage: &Damage, message: &str) {
    let file = damage.file();
    assert!(
        message.contains(file),
        "{damage}: the file is not named: {message}"
    );
    let has_way_out = WAYS_OUT.iter().any(|way_out| message.contains(way_out));
    assert!(has_way_out, "{damage}: there is no way out: {message}");
}
