//! Backups: complete and consistent while writes continue, and never restored in part.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use trestle_api::{ListTables, StreamViewType, TransactWriteItems};
use trestle_engine::{
    ArchiveError, Engine, Options, RestoreError, StoreSettings, backup_directory, restore, verify_directory,
};
use trestle_env::VirtualClock;
use trestle_item::Item;
use trestle_store::{FjallStore, MemoryStore, Space, archive};

use crate::support::{
    Fixture, START, get, n, number, put, s, scan, scan_all, sorted, table, transact_update, with_stream,
};

fn account(name: &str) -> Item {
    Item::from([("pk", s(name))])
}

/// A bank with an index, a stream and a few accounts.
fn bank(fixture: Fixture, accounts: usize) -> Fixture {
    let create = table("bank", "pk:S", &[], &[("by-kind", "kind:S | balance:N", "ALL")]);
    let create = with_stream(create, StreamViewType::NewAndOldImages);
    fixture.engine.run(create).unwrap();
    for at in 0..accounts {
        let item = Item::from([
            ("pk", s(format!("{at}"))),
            ("kind", s(if at % 2 == 0 { "even" } else { "odd" })),
            ("balance", n(100)),
        ]);
        fixture.engine.run(put("bank", item)).unwrap();
    }
    fixture
}

fn backup(engine: &Engine) -> Vec<u8> {
    let mut bytes = Vec::new();
    let totals = engine.backup(&mut bytes).unwrap();
    assert_eq!(archive::check(bytes.as_slice()).unwrap(), totals);
    bytes
}

/// Opens a directory at the time at which all fixtures begin: by the real clock their tables would be in the
/// future.
fn reopen(directory: &Path) -> Engine {
    let store = FjallStore::open(directory, StoreSettings::default()).unwrap();
    let clock = Arc::new(VirtualClock::starting_at(START));
    Engine::on(Arc::new(store), clock, Options::default()).unwrap()
}

fn assert_sound(directory: &Path) {
    let mut found = Vec::new();
    verify_directory(directory, StoreSettings::default(), &mut found).unwrap();
    assert_eq!(found, []);
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_restored_database_has_everything_and_goes_on() {
    let fixture = bank(Fixture::new(), 300);
    let before = sorted(scan_all(&fixture.engine, scan("bank", None)).0);
    let bytes = backup(&fixture.engine);

    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("new");
    let totals = restore(bytes.as_slice(), &directory, None).unwrap();
    assert_eq!(totals.rows[Space::Items.index()], 300);
    assert_sound(&directory);
    assert_eq!(names_in(home.path()), ["new"], "nothing is left beside it");

    let engine = reopen(&directory);
    assert_eq!(sorted(scan_all(&engine, scan("bank", None)).0), before);
    assert_eq!(scan_all(&engine, scan("bank", Some("by-kind"))).0.len(), 300);
    engine.run(put("bank", account("later"))).unwrap();
    let mut found = Vec::new();
    engine.verify(&mut found).unwrap();
    assert_eq!(found, []);
}

#[test]
fn a_backup_of_a_backup_is_the_same() {
    let fixture = bank(Fixture::new(), 50);
    let bytes = backup(&fixture.engine);
    let store = Arc::new(MemoryStore::new());
    let mut reader = archive::ArchiveReader::open(bytes.as_slice()).unwrap();
    assert_eq!(reader.header().taken_ms, START.as_millis());
    archive::read_into(&mut reader, &*store).unwrap();
    let clock = Arc::new(VirtualClock::starting_at(START));
    let again = Engine::on(store, clock, Options::default()).unwrap();
    assert_eq!(backup(&again), bytes);
}

#[test]
fn an_empty_database_can_be_backed_up_and_restored() {
    let bytes = backup(&Fixture::new().engine);
    let home = tempfile::tempdir().unwrap();
    // An empty directory may be there already.
    restore(bytes.as_slice(), home.path(), None).unwrap();
    assert_sound(home.path());
    let tables = reopen(home.path()).run(ListTables::default()).unwrap();
    assert!(tables.table_names.is_empty());
}

#[test]
fn a_stopped_database_is_backed_up_from_its_directory() {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("data");
    {
        let engine = reopen(&directory);
        engine.run(table("T", "pk:S", &[], &[])).unwrap();
        engine.run(put("T", account("a"))).unwrap();
        let refused = backup_directory(&directory, StoreSettings::default(), &mut Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("is in use"), "{refused}");
    }
    let mut bytes = Vec::new();
    backup_directory(&directory, StoreSettings::default(), &mut bytes).unwrap();
    let copy = home.path().join("copy");
    restore(bytes.as_slice(), &copy, None).unwrap();
    assert!(get(&reopen(&copy), "T", account("a")).is_some());

    let missing = home.path().join("nothing");
    assert!(backup_directory(&missing, StoreSettings::default(), &mut bytes).is_err());
    assert!(!missing.exists(), "looking does not make a directory");
}

#[test]
fn transactions_are_never_half_in_a_backup() {
    const ACCOUNTS: usize = 20;
    let fixture = bank(Fixture::on_disk(Options::default()), ACCOUNTS);
    let stop = Arc::new(AtomicBool::new(false));
    let transfers: Vec<_> = (0..4)
        .map(|seed| {
            let (engine, stop) = (fixture.engine.clone(), Arc::clone(&stop));
            std::thread::spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                let mut done = 0;
                while !stop.load(Ordering::Relaxed) {
                    let from = rng.usize(..ACCOUNTS);
                    let to = (from + rng.usize(1..ACCOUNTS)) % ACCOUNTS;
                    done += u32::from(engine.run(transfer(from, to)).is_ok());
                }
                done
            })
        })
        .collect();
    let home = tempfile::tempdir().unwrap();
    let mut sums = Vec::new();
    for round in 0..5 {
        let directory = home.path().join(round.to_string());
        restore(backup(&fixture.engine).as_slice(), &directory, None).unwrap();
        assert_sound(&directory);
        let items = scan_all(&reopen(&directory), scan("bank", None)).0;
        sums.push(items.iter().map(|item| number(item, "balance")).sum::<i64>());
    }
    stop.store(true, Ordering::Relaxed);
    let done: u32 = transfers.into_iter().map(|thread| thread.join().unwrap()).sum();
    assert!(done > 0, "money moved meanwhile");
    assert_eq!(sums, [100 * ACCOUNTS as i64; 5]);
}

fn transfer(from: usize, to: usize) -> TransactWriteItems {
    let change = |name: usize, by: i64| {
        let values = Item::from([(":by", n(by))]);
        transact_update(
            "bank",
            account(&name.to_string()),
            "SET balance = balance + :by",
            None,
            values,
        )
    };
    TransactWriteItems {
        transact_items: vec![change(from, -1), change(to, 1)],
        ..TransactWriteItems::default()
    }
}

#[test]
fn a_directory_that_is_not_empty_is_left_alone() {
    let bytes = backup(&bank(Fixture::new(), 3).engine);
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("precious"), b"x").unwrap();
    let refused = restore(bytes.as_slice(), home.path(), None).unwrap_err();
    assert!(matches!(refused, RestoreError::NotEmpty(_)), "{refused}");
    assert_eq!(names_in(home.path()), ["precious"]);
    let file = home.path().join("precious");
    assert!(matches!(
        restore(bytes.as_slice(), &file, None),
        Err(RestoreError::Io { .. })
    ));
    assert_eq!(fs::read(file).unwrap(), b"x");
}

#[test]
fn a_damaged_backup_restores_nothing() {
    let bytes = backup(&bank(Fixture::new(), 100).engine);
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join("new");
    let mut flipped = bytes.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 0x10;
    for (bad, says) in [
        (&bytes[..bytes.len() - 1], "the backup is damaged at byte"),
        (&flipped[..], "checksum"),
        (&b"PK\x03\x04 something else entirely"[..], "no backup of Trestle"),
        (b"", "ends too early"),
    ] {
        let refused = restore(bad, &directory, None).unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
        assert_eq!(names_in(home.path()), Vec::<String>::new());
    }
}

#[test]
fn a_backup_that_cannot_be_written_says_so() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 == 0 {
                return Err(std::io::Error::other("no space left"));
            }
            self.0 -= 1;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let fixture = bank(Fixture::new(), 10);
    for writes in 0..3 {
        let failed = fixture.engine.backup(&mut Full(writes)).unwrap_err();
        assert!(matches!(failed, ArchiveError::Io(_)), "{failed}");
    }
}
