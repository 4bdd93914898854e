//! The power fails while the server writes: see `trestle_torture::disk` for what a disk may have kept.

use crate::{rounds, seed};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::disk::Disk;
use trestle_torture::recording::{Event, Recording};
use trestle_torture::server::{Server, serve_under};
use trestle_torture::workload::{self, Weight, Worker};
use trestle_torture::{audit, native};

const WORKERS: usize = 4;
/// Many cuts share one recording, because making one takes longer than a cut.
const CUTS_PER_RECORDING: u64 = 20;

#[test]
fn every_directory_that_a_power_cut_can_leave_opens_with_all_that_was_acknowledged() {
    let (rounds, seed) = (rounds("POWER_CUT_ROUNDS", 6), seed());
    let tools = TempDir::new().unwrap();
    let recorder = native::recorder(tools.path());
    let mut done = 0;
    while done < rounds {
        let here = (rounds - done).min(CUTS_PER_RECORDING);
        let run = Run::record(&recorder, seed.wrapping_add(done), rounds > CUTS_PER_RECORDING);
        run.cut(here, seed.wrapping_add(done));
        done += here;
    }
}

/// A recorded run of the server.
struct Run {
    /// The directory as it was before the run.
    before: TempDir,
    recording: Recording,
    /// Length of the log when the table was created.
    table: u64,
    workers: Vec<Worker>,
    data: String,
}

impl Run {
    fn record(recorder: &Path, seed: u64, long: bool) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let weight = random
            .choice([Weight::Light, Weight::Heavy, Weight::Huge])
            .unwrap();
        let mut workers = workload::workers(WORKERS, weight, seed);
        let (dir, before) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        // Half of the runs begin with a directory that a crash has left, so that recovery is interrupted as
        // well.
        let is_second_run = random.bool();
        if is_second_run {
            crash_first(dir.path(), &mut workers);
            copy(dir.path(), before.path());
        }
        let log = TempDir::new().unwrap();
        let log = log.path().join("log");
        let mut runner = Command::new(recorder);
        runner.arg(&log).arg(dir.path());
        let server = Server::start(&mut serve_under(runner, dir.path()));
        let mark = || std::fs::metadata(&log).unwrap().len();
        let table = if is_second_run {
            0
        } else {
            workload::create_table(&mut server.connect());
            mark()
        };
        // Long enough, in the long command, that write buffers are emptied and journals removed.
        let length = match (long, weight) {
            (false, _) => 1500,
            (true, Weight::Huge) => random.u64(4000..15_000),
            (true, _) => random.u64(500..6000),
        };
        let end = Instant::now() + Duration::from_millis(length);
        workload::run(&mut workers, &server.address, &|| Instant::now() > end, &mark);
        server.kill();
        Run {
            before,
            recording: Recording::read(&log),
            table,
            workers,
            data: dir.path().to_str().unwrap().to_owned(),
        }
    }

    /// Rebuilds the directory as of several moments and checks each.
    fn cut(&self, cuts: u64, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let events = self.recording.events();
        let namings = events.iter().filter(|(_, event)| is_naming(event)).count();
        println!(
            "recorded {} calls, {namings} of them renames and removals",
            events.len()
        );
        let mut moments: Vec<_> = (0..cuts).map(|_| moment(&events, &mut random)).collect();
        moments.sort_unstable();
        let mut disk = Disk::holding(self.before.path()).at(&self.data);
        let mut replayed = 0;
        for moment in moments {
            for (_, event) in &events[replayed..moment] {
                disk.replay(*event);
            }
            replayed = moment;
            let mark = if moment == 0 { 0 } else { events[moment - 1].0 };
            let rebuilt = TempDir::new().unwrap();
            disk.rebuild(rebuilt.path(), &mut random);
            self.check(rebuilt.path(), mark).unwrap_or_else(|fault| {
                let kept = rebuilt.keep();
                let kept = kept.display();
                panic!(
                    "power cut after {moment} of {} calls: {fault}; kept in {kept}",
                    events.len()
                )
            });
        }
    }

    fn check(&self, directory: &Path, mark: u64) -> Result<(), String> {
        let server = Server::try_start(&mut trestle_torture::server::serve(directory))?;
        if mark < self.table {
            return Ok(());
        }
        let found = audit::check(&server, &self.workers, mark)?;
        let acknowledged: usize = self
            .workers
            .iter()
            .map(|worker| worker.acknowledged_by(mark))
            .sum();
        println!(
            "cut: {acknowledged} acknowledged, {} items, {} changes",
            found.items.len(),
            found.changes
        );
        server.kill();
        audit::verify(directory)?;
        if fastrand::u8(0..8) == 0 {
            audit::check_expiry(directory, &found.items)?;
        }
        Ok(())
    }
}

/// Anywhere, or just where files are created, renamed or removed: there the order of syncs matters most.
fn moment(events: &[(u64, Event<'_>)], random: &mut fastrand::Rng) -> usize {
    let anywhere = random.usize(0..=events.len());
    match random.bool() {
        true => anywhere,
        false => {
            let next = events[anywhere..].iter().position(|(_, event)| is_naming(event));
            let after = anywhere + next.unwrap_or(0) + random.usize(0..4);
            after.min(events.len())
        }
    }
}

fn is_naming(event: &Event<'_>) -> bool {
    matches!(event, Event::Rename { .. } | Event::Unlink { .. })
}

fn crash_first(directory: &Path, workers: &mut [Worker]) {
    let server = Server::on(directory);
    workload::create_table(&mut server.connect());
    let end = Instant::now() + Duration::from_millis(300);
    workload::run(workers, &server.address, &|| Instant::now() > end, &|| 0);
    server.kill();
    let server = Server::on(directory);
    let found = audit::check(&server, workers, u64::MAX).unwrap();
    audit::reconcile(workers, &found.items);
    server.kill();
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp")
        .args(["-r", "--sparse=always", "--preserve=links"])
        .arg(from.join("."))
        .arg(to)
        .status();
    assert!(copied.unwrap().success());
}
