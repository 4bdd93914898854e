//! SIGKILL at random moments while a table is reindexed under clients that write: kills of the processes that
//! reindex, and of the server. No row is missed, no update is lost, and the stream has one record of each row
//! and version.
//!
//! `REINDEX_ROWS`, `REINDEX_KILLS` and `REINDEX_WRITERS` make it larger.

mod check;
mod clients;
mod injected;
mod process;
mod table;

use crate::{rounds, seed};
use check::{Told, check, check_after_replay, replay};
use clients::Writer;
use process::Commands;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use table::TABLE;
use tempfile::TempDir;
use trestle_torture::audit;
use trestle_torture::server::{Server, serve, serve_at};

/// The maximum time of one reindex, regardless of how often it is killed.
const PATIENCE: Duration = Duration::from_secs(600);
/// The maximum number of processes that work at the same time at an endpoint.
const PROCESSES: usize = 3;
/// A reindex that has to last longer than its kills is slowed down to this many seconds per kill. A kill takes a fraction of a second.
const SECONDS_PER_KILL: u64 = 2;
/// The signal with which a killed process ends.
const SIGKILL: i32 = 9;
/// The faults of the server: writes are throttled, answered with errors, or carried out without a response.
const FAULTS: [&str; 3] = [
    "throttle,operation=UpdateItem,share=0.1",
    "internal,operation=UpdateItem,share=0.02",
    "cut-after,operation=UpdateItem,table=things,share=0.02",
];

/// How large a test is.
struct Size {
    rows: u64,
    kills: u64,
    writers: u64,
}

impl Size {
    fn read() -> Self {
        Size {
            rows: rounds("REINDEX_ROWS", 600),
            kills: rounds("REINDEX_KILLS", 10),
            writers: rounds("REINDEX_WRITERS", 3),
        }
    }

    /// The budget of write units per second with which a reindex lasts longer than its kills.
    fn slow_units(&self) -> String {
        let seconds = self.kills * SECONDS_PER_KILL;
        self.rows.div_ceil(seconds.max(1)).to_string()
    }
}

fn name_of(version: u64) -> String {
    format!("to-{version}")
}

#[test]
fn at_an_endpoint_each_row_is_touched_once_whichever_process_is_killed() {
    let (size, mut random) = (Size::read(), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    let port = free_port();
    let (address, endpoint) = (format!("127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
    let mut writers = clients::writers(size.writers, size.rows, &mut random);
    let mut course = Course {
        server: Some(faulty(dir.path(), port)),
        commands: Commands::new(["--endpoint", &endpoint], dir.path()),
        directory: dir.path(),
        port,
        random,
        kills: size.kills,
        killed: (0, 0),
        throttled: 0,
    };
    table::create(&mut course.server.as_ref().unwrap().connect(), size.rows);
    // All kills happen during the first reindex. The second one has no budget.
    let versions = [7, 8];
    while_writing(&mut writers, &address, || {
        course.reindex(versions[0], &["--no-yield", "--write-units", &size.slow_units()]);
        assert_eq!(
            course.killed.0 + course.killed.1,
            size.kills,
            "kills of one reindex"
        );
        course.reindex(versions[1], &[]);
    });
    course.end_server();
    let Course {
        mut commands,
        killed,
        throttled,
        ..
    } = course;
    assert!(throttled > 0, "no server has throttled a request");
    assert!(writers.iter().all(|writer| writer.writes > 0));
    commands.outlive_leases();
    let server = Server::start(&mut serve_at(dir.path().join("data").as_path(), port));
    let mut client = server.connect();
    let told = Told::by(&commands, &versions);
    for version in versions {
        let status = commands.status(&name_of(version)).unwrap();
        assert!(status["counts"]["throttled"].as_u64() > Some(0), "{status}");
    }
    check(&mut client, &told, &writers, None);
    let passed_over = check::passed_over(&mut client, &told);
    let again = replay(&commands, &versions);
    check_after_replay(&mut client, &again, &passed_over, &writers, None);
    println!(
        "killed {} processes and {} servers while {} rows were reindexed once, beside {} writes; {throttled} requests were throttled",
        killed.0,
        killed.1,
        size.rows,
        writers.iter().map(|writer| writer.writes).sum::<u64>()
    );
    server.kill();
    audit::verify(&dir.path().join("data")).unwrap();
}

/// A port that is free now. The next server uses the same one again.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn faulty(directory: &Path, port: u16) -> Server {
    let mut command = serve_at(&directory.join("data"), port);
    for fault in FAULTS {
        command.args(["--inject-fault", fault]);
    }
    Server::start(&mut command)
}

/// Lets clients write while a function runs.
fn while_writing<T>(writers: &mut [Writer], address: &str, work: impl FnOnce() -> T) -> T {
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in writers {
            scope.spawn(|| writer.write(address, &ends));
        }
        // The clients are stopped even if the function panics; otherwise they would continue forever.
        let _ending = Ending(&ends);
        work()
    })
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Reindexes of a table at an endpoint, one after the other.
struct Course<'a> {
    server: Option<Server>,
    commands: Commands,
    directory: &'a Path,
    port: u16,
    random: fastrand::Rng,
    kills: u64,
    /// Processes that reindexed, and servers.
    killed: (u64, u64),
    /// Requests that killed servers had throttled.
    throttled: u64,
}

impl Course<'_> {
    /// Reindexes all rows to a version. Kills follow each other until there were enough.
    fn reindex(&mut self, version: u64, more: &[&str]) {
        let (name, begun) = (name_of(version), Instant::now());
        let mut processes = vec![start(&self.commands, version, more)];
        loop {
            std::thread::sleep(Duration::from_millis(self.random.u64(50..500)));
            processes.retain_mut(|process| process.try_wait().unwrap().is_none());
            if !processes.is_empty() && self.killed.0 + self.killed.1 < self.kills {
                self.kill(&mut processes);
                self.commands.outlive_leases();
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{:?}{}",
                self.commands.status(&name),
                self.commands.log()
            );
            let wanted = self.random.usize(1..=PROCESSES);
            if processes.len() >= wanted {
                continue;
            }
            let status = self.commands.status(&name);
            match status.as_ref().map(|status| status["state"].as_str().unwrap()) {
                None => processes.push(start(&self.commands, version, more)),
                Some("done") => break,
                Some(_) => {
                    let missing = wanted - processes.len();
                    processes.extend((0..missing).map(|_| self.commands.spawn(&["work", &name])));
                }
            }
        }
        for mut process in processes {
            process.wait().unwrap();
        }
    }

    /// Kills a process that reindexes, or kills the server and starts it again.
    fn kill(&mut self, processes: &mut Vec<Child>) {
        if self.random.u8(..3) == 0 {
            self.end_server();
            self.server = Some(faulty(self.directory, self.port));
            self.killed.1 += 1;
            return;
        }
        let mut process = processes.swap_remove(self.random.usize(..processes.len()));
        process.kill().unwrap();
        // A process that had ended by itself is not counted as killed.
        let ended = process.wait().unwrap();
        self.killed.0 += u64::from(ended.signal() == Some(SIGKILL));
    }

    /// Kills the server, and keeps its count of throttled requests.
    fn end_server(&mut self) {
        let server = self.server.take().unwrap();
        self.throttled += injected::throttled(&server);
        server.kill();
    }
}

/// Starts a process that starts a reindex and works on it. Pages are small, so that there are many before and after
/// a kill.
fn start(commands: &Commands, version: u64, more: &[&str]) -> Child {
    let (name, version) = (name_of(version), version.to_string());
    let mut arguments = vec!["start", TABLE, "--name", &name, "--version", &version];
    arguments.extend(["--page-rows", "25", "--workers", "3", "--attempts", "2"]);
    arguments.extend(more);
    commands.spawn(&arguments)
}

#[test]
fn in_a_directory_each_row_is_touched_once_whenever_the_process_is_killed() {
    let (size, mut random) = (Size::read(), fastrand::Rng::with_seed(seed()));
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let mut writers = clients::writers(size.writers, size.rows, &mut random);
    let mut commands = Commands::new(["--data", data.to_str().unwrap()], dir.path());
    let server = Server::on(&data);
    table::create(&mut server.connect(), size.rows);
    server.kill();
    let (mut versions, mut killed) = (Vec::new(), 0);
    while versions.is_empty() || killed < size.kills {
        let version = 7 + versions.len() as u64;
        versions.push(version);
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "{}", commands.log());
            let state = commands.status(&name_of(version));
            let mut process = match state.as_ref().map(|status| status["state"].as_str().unwrap()) {
                None => start(&commands, version, &["--force", "--write-units", "1500"]),
                Some("done") => break,
                Some(_) => commands.spawn(&["work", &name_of(version)]),
            };
            if killed < size.kills {
                std::thread::sleep(Duration::from_millis(random.u64(20..600)));
                killed += u64::from(process.try_wait().unwrap().is_none());
                process.kill().unwrap();
                process.wait().unwrap();
                write_a_while(&data, &mut writers, &mut random);
            }
            process.wait().unwrap();
            commands.outlive_leases();
        }
    }
    let by = Some("trestle.reindex");
    let told = Told::by(&commands, &versions);
    let server = Server::on(&data);
    check(&mut server.connect(), &told, &writers, by);
    let passed_over = check::passed_over(&mut server.connect(), &told);
    server.kill();
    let again = replay(&commands, &versions);
    let server = Server::on(&data);
    check_after_replay(&mut server.connect(), &again, &passed_over, &writers, by);
    server.kill();
    println!(
        "killed {killed} times while {} rows were reindexed {} times",
        size.rows,
        versions.len()
    );
    audit::verify(&data).unwrap();
}

/// Starts a server on the directory, lets clients write for a moment, and kills the server.
fn write_a_while(data: &Path, writers: &mut [Writer], random: &mut fastrand::Rng) {
    let server = Server::start(&mut serve(data));
    let address = server.address.clone();
    let moment = Duration::from_millis(random.u64(20..150));
    while_writing(writers, &address, || {
        std::thread::sleep(moment);
        server.kill();
    });
}
