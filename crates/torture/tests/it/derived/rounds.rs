//! SIGKILL at random moments under eight writers, while effects are added and dropped, keys change and rows
//! expire: `trestle verify` finds no fault afterwards.

use super::version::{EFFECTS, Version, said};
use super::writer::Writer;
use super::{check, wait_until_cleared};
use crate::{rounds, seed};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::audit::verify;
use trestle_torture::server::Server;

const WRITERS: usize = 8;
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn everything_derived_is_exact_whenever_the_server_is_killed() {
    let (rounds, mut random) = (rounds("DERIVED_ROUNDS", 3), fastrand::Rng::with_seed(seed()));
    let (dir, scratch) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let steered = Mutex::new(Steered {
        version: Version::whole("m"),
        changes: 0,
        migrations: 0,
    });
    let server = Server::on(dir.path());
    let first = steered.lock().unwrap().version.clone();
    first.apply(scratch.path(), &server.address);
    drop(server);
    let mut writers: Vec<Writer> = (0..WRITERS).map(|_| Writer::new(&first, random.fork())).collect();
    let mut cut_off = 0;
    for round in 1..=rounds {
        let server = Server::on(dir.path());
        let (address, is_killed) = (server.address.clone(), AtomicBool::new(false));
        let life = Duration::from_millis(random.u64(200..2500));
        let mut choice = random.fork();
        std::thread::scope(|scope| {
            let (address, is_killed, scratch) = (&address, &is_killed, scratch.path());
            scope.spawn(|| {
                std::thread::sleep(life);
                is_killed.store(true, Ordering::SeqCst);
                server.kill();
            });
            scope.spawn(|| {
                let steering = Steering {
                    address,
                    scratch,
                    is_killed,
                };
                steering.steer(&steered, &mut choice);
            });
            for writer in &mut writers {
                scope.spawn(move || writer.write(address, &|| is_killed.load(Ordering::SeqCst)));
            }
        });
        let found = verify(dir.path()).unwrap();
        cut_off += u64::from(found.contains("to copy to in the background"));
        let written: u64 = writers.iter().map(|writer| writer.written).sum();
        let steered = steered.lock().unwrap();
        println!(
            "killed: round {round}, {} effects, {} changes of them, {} migrations, {cut_off} times with copies to \
             follow, {written} writes",
            steered.version.effects.len(),
            steered.changes,
            steered.migrations,
        );
    }
    let server = Server::on(dir.path());
    let steered = steered.into_inner().unwrap();
    let version = bring_to_rest(&steered.version, scratch.path(), &server.address);
    let mut client = server.connect();
    wait_until_cleared(&mut client, &version);
    check(&mut client, &version);
    server.kill();
    verify(dir.path()).unwrap();
}

/// The effects of the commands.
struct Steered {
    version: Version,
    changes: u64,
    migrations: u64,
}

/// Adds and drops effects and changes keys, with the same commands as users.
struct Steering<'a> {
    address: &'a str,
    scratch: &'a Path,
    is_killed: &'a AtomicBool,
}

impl Steering<'_> {
    fn steer(&self, steered: &Mutex<Steered>, random: &mut fastrand::Rng) {
        while !self.is_killed.load(Ordering::SeqCst) {
            // A command that was interrupted by a kill may have taken effect or not.
            let known = steered.lock().unwrap().version.clone();
            let Some(now) = known.in_force(self.address) else {
                return;
            };
            let (next, command): (Version, &[&str]) = match random.u8(0..5) {
                0 => (now.moved(), &["migrate", "start", "--finish"]),
                _ => (now.toggled(pick(&now, random)), &["model", "apply", "--fill"]),
            };
            let done = next.run(command, self.scratch, self.address);
            let said = said(&done);
            let is_gone = self.is_killed.load(Ordering::SeqCst);
            assert!(!said.contains("internal") && !said.contains("panicked"), "{said}");
            if done.status.success() {
                let mut steered = steered.lock().unwrap();
                let is_migration = next.layout != now.layout;
                steered.migrations += u64::from(is_migration);
                steered.changes += u64::from(!is_migration);
                steered.version = next;
            } else if is_gone {
                return;
            }
        }
    }
}

/// An effect to add or to drop. Adding is more likely: most rounds should have most effects.
fn pick(version: &Version, random: &mut fastrand::Rng) -> &'static str {
    let any = |random: &mut fastrand::Rng| EFFECTS[random.usize(0..EFFECTS.len())];
    let effect = any(random);
    match version.has(effect) && random.u8(0..3) > 0 {
        true => any(random),
        false => effect,
    }
}

/// The version in force, applied again so that its file is known.
fn bring_to_rest(known: &Version, scratch: &Path, address: &str) -> Version {
    let deadline = Instant::now() + PATIENCE;
    let mut candidates = vec![known.clone(), known.moved()];
    candidates.extend(EFFECTS.iter().map(|effect| known.toggled(effect)));
    candidates.extend(EFFECTS.iter().map(|effect| known.moved().toggled(effect)));
    loop {
        for candidate in &candidates {
            let done = candidate.run(&["model", "apply", "--fill"], scratch, address);
            if done.status.success() {
                return candidate.clone();
            }
        }
        assert!(Instant::now() < deadline, "no version can be applied");
        std::thread::sleep(Duration::from_millis(200));
    }
}
