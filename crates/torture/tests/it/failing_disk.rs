//! A disk that is full, read-only or broken for a while. See `native/failing_disk.c`.

use crate::{rounds, seed};
use serde_json::json;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use trestle_torture::http::RawResponse;
use trestle_torture::server::{Server, serve};
use trestle_torture::workload::{self, TABLE, Weight};
use trestle_torture::{audit, native};

const WORKERS: usize = 4;
const WRITING: i32 = 1;
const SYNCING: i32 = 2;
/// (number, which calls, the system's error)
const FAILURES: [(i32, i32, &str); 4] = [
    (28, WRITING, "No space left on device"),
    (5, SYNCING, "Input/output error"),
    (5, WRITING, "Input/output error"),
    (30, WRITING | SYNCING, "Read-only file system"),
];

/// A disk that fails on command.
struct Disk {
    tools: TempDir,
    control: File,
}

impl Disk {
    fn new() -> Self {
        let tools = TempDir::new().unwrap();
        let control = File::create(tools.path().join("control")).unwrap();
        control.set_len(12).unwrap();
        native::failing_disk(tools.path());
        Disk { tools, control }
    }

    fn serve(&self, directory: &Path) -> Command {
        let mut command = serve(directory);
        command.env("LD_PRELOAD", self.tools.path().join("failing_disk.so"));
        command.env("FAILING_DISK_ROOT", directory);
        command.env("FAILING_DISK_CONTROL", self.tools.path().join("control"));
        command
    }

    /// After so many more calls, every one fails.
    fn fail(&self, error: i32, calls: i32, successes_left: i32) {
        self.control
            .write_all_at(&successes_left.to_le_bytes(), 4)
            .unwrap();
        self.control.write_all_at(&calls.to_le_bytes(), 8).unwrap();
        self.control.write_all_at(&error.to_le_bytes(), 0).unwrap();
    }

    fn work(&self) {
        self.control.write_all_at(&0i32.to_le_bytes(), 0).unwrap();
    }
}

#[test]
fn a_failing_disk_is_told_to_clients_loses_nothing_and_is_forgotten_when_it_works() {
    let (rounds, seed) = (rounds("FAILING_DISK_ROUNDS", 4), seed());
    let disk = Disk::new();
    for round in 0..rounds {
        let failure = FAILURES[round as usize % FAILURES.len()];
        let weight = if round % 3 == 2 {
            Weight::Heavy
        } else {
            Weight::Light
        };
        fail_for_a_while(&disk, failure, weight, seed.wrapping_add(round));
    }
}

fn fail_for_a_while(disk: &Disk, (error, calls, words): (i32, i32, &str), weight: Weight, seed: u64) {
    let (dir, mut random) = (TempDir::new().unwrap(), fastrand::Rng::with_seed(seed));
    let server = Server::start(&mut disk.serve(dir.path()));
    let mut workers = workload::workers(WORKERS, weight, seed);
    workload::create_table(&mut server.connect());
    assert_eq!(put_probe(&server).status, 200);

    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = StopWhenDropped(&is_over);
        scope.spawn(|| {
            workload::run(
                &mut workers,
                &server.address,
                &|| is_over.load(Ordering::SeqCst),
                &|| 0,
            );
        });
        std::thread::sleep(Duration::from_millis(200));
        disk.fail(error, calls, random.i32(0..60));
        let refused = until(|| Some(put_probe(&server)).filter(|answer| answer.status != 200));
        assert_eq!(
            (refused.status, refused.error()),
            (500, "InternalServerError"),
            "{}",
            refused.body
        );
        let told = until(|| Some(put_probe(&server)).filter(|answer| answer.message().contains(words)));
        assert_eq!(told.status, 500);
        assert_eq!(get_probe(&server).status, 200, "reads go on");

        std::thread::sleep(Duration::from_millis(random.u64(0..300)));
        disk.work();
        until(|| Some(put_probe(&server)).filter(|answer| answer.status == 200));
        std::thread::sleep(Duration::from_millis(200));
    });
    let acknowledged: usize = workers.iter().map(workload::Worker::acknowledged).sum();
    // The probe is not a client's write: it must not change the count of items that clients wrote.
    let found = audit::check(&server, &workers, u64::MAX).unwrap_or_else(|fault| panic!("{words}: {fault}"));
    println!(
        "{words}: {acknowledged} acknowledged, {} items, {} changes",
        found.items.len(),
        found.changes
    );
    let log = server.kill();
    assert!(log.contains("the store was reopened"), "{log}");

    let server = Server::on(dir.path());
    let again = audit::check(&server, &workers, u64::MAX).unwrap_or_else(|fault| panic!("{words}: {fault}"));
    assert_eq!(again.items, found.items);
    server.kill();
    audit::verify(dir.path()).unwrap();
}

#[test]
fn a_server_whose_directory_is_read_only_says_so_and_does_not_start() {
    let (disk, dir) = (Disk::new(), TempDir::new().unwrap());
    Server::on(dir.path()).kill();
    disk.fail(30, WRITING | SYNCING, 0);
    let log = Server::try_start(&mut disk.serve(dir.path())).unwrap_err();
    assert!(
        log.contains("Read-only file system") && log.contains(dir.path().to_str().unwrap()),
        "{log}"
    );
    disk.work();
    Server::start(&mut disk.serve(dir.path()));
}

/// Also when the test fails: the load would never end.
struct StopWhenDropped<'a>(&'a AtomicBool);

impl Drop for StopWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Writes new content each time, because a put that changes nothing needs no disk.
fn put_probe(server: &Server) -> RawResponse {
    let item = json!({"pk": {"S": "probe"}, "v": {"N": fastrand::u64(..).to_string()}});
    server.call("PutItem", &json!({"TableName": TABLE, "Item": item}))
}

fn get_probe(server: &Server) -> RawResponse {
    server.call(
        "GetItem",
        &json!({"TableName": TABLE, "Key": {"pk": {"S": "probe"}}}),
    )
}

#[track_caller]
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(found) = attempt() {
            return found;
        }
        assert!(Instant::now() < deadline, "it did not happen in 20 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}
