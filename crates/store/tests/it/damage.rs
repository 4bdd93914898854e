//! Directories that were damaged: opened where that is safe, otherwise refused; rows are never lost silently.

use crate::support::{Pairs, all_rows, buffered, fsync, puts};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use trestle_store::{Durability, ErrorKind, FjallStore, OnDamage, Settings, Space, Store, StoreError};

/// A closed directory with numbered batches, and where in the journal each of them ends.
struct Specimen {
    dir: TempDir,
    ends: Vec<usize>,
}

impl Specimen {
    fn new(batches: u32) -> Self {
        Self::with(fsync(), batches, |_, _| {})
    }

    fn with(settings: Settings, batches: u32, between: impl Fn(&FjallStore, u32)) -> Self {
        let dir = TempDir::new().unwrap();
        let store = FjallStore::open(dir.path(), settings).unwrap();
        let mut ends = vec![0];
        for number in 1..=batches {
            store.commit(puts(Space::Items, [row(number)])).unwrap();
            ends.push(used_len(&dir.path().join("db/0.jnl")));
            between(&store, number);
        }
        drop(store);
        let specimen = Specimen { dir, ends };
        drop_unused(&specimen.journal());
        specimen
    }

    /// As a power cut leaves a directory before the last batches are acknowledged.
    fn unacknowledged(batches: u32) -> Self {
        Self::new(batches).unnoted()
    }

    fn unnoted(self) -> Self {
        fs::remove_file(self.dir.path().join("SYNCED")).unwrap();
        self
    }

    fn journal(&self) -> PathBuf {
        self.dir.path().join("db/0.jnl")
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.journal()).unwrap();
        change(&mut bytes);
        fs::write(self.journal(), bytes).unwrap();
    }

    /// Opens and returns how many batches are there: always a run from the first on.
    fn open(&self, settings: Settings) -> Result<u32, StoreError> {
        let store = FjallStore::open(self.dir.path(), settings)?;
        let rows = all_rows(&store, Space::Items);
        let count = rows.len() as u32;
        let expected: Vec<_> = (1..=count)
            .map(row)
            .map(|(key, value)| (key.to_vec(), value))
            .collect();
        assert!(rows == expected);
        assert_eq!(store.stats().last_commit, u64::from(count));
        Ok(count)
    }

    fn set_aside(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files
            .filter(|path| {
                path.file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with("damaged-")
            })
            .collect()
    }
}

/// How much of a journal has been written. Only looks at the beginning: the rest is 64 MB of zeros.
fn used_len(journal: &Path) -> usize {
    let mut beginning = Vec::new();
    fs::File::open(journal)
        .unwrap()
        .take(8 << 20)
        .read_to_end(&mut beginning)
        .unwrap();
    let (last, _) = beginning
        .iter()
        .enumerate()
        .rfind(|(_, byte)| **byte != 0)
        .unwrap();
    last + 1
}

fn drop_unused(journal: &Path) {
    let len = used_len(journal) as u64;
    fs::File::options()
        .write(true)
        .open(journal)
        .unwrap()
        .set_len(len)
        .unwrap();
}

/// Longer than a page and not compressible, so that a hole can lie inside the value.
fn row(number: u32) -> ([u8; 4], Vec<u8>) {
    let noise = (0..3000u32).flat_map(|n| (n ^ number).wrapping_mul(2_654_435_761).to_le_bytes());
    (number.to_be_bytes(), noise.collect())
}

#[test]
fn an_undamaged_journal_is_left_as_it_is() {
    let specimen = Specimen::new(3);
    let before = fs::read(specimen.journal()).unwrap();
    assert_eq!(specimen.open(fsync()).unwrap(), 3);
    assert_eq!(fs::read(specimen.journal()).unwrap(), before);
    assert_eq!(specimen.set_aside(), Vec::<PathBuf>::new());
}

#[test]
fn a_hole_in_the_last_batch_costs_that_batch_only() {
    for hole in [0, 200, 4096] {
        let specimen = Specimen::unacknowledged(4);
        let middle = (specimen.ends[3] + specimen.ends[4]) / 2;
        specimen.change(|journal| {
            journal[middle..middle + hole].fill(0);
            journal[middle] ^= 1;
        });
        let damaged = fs::read(specimen.journal()).unwrap()[specimen.ends[3]..].to_vec();

        assert_eq!(specimen.open(fsync()).unwrap(), 3);
        let [aside] = &specimen.set_aside()[..] else {
            panic!("the damaged bytes were not kept")
        };
        assert_eq!(fs::read(aside).unwrap(), damaged);
        let name = format!("damaged-0.jnl-at-{}", specimen.ends[3]);
        assert_eq!(aside.file_name().unwrap().to_str().unwrap(), name);

        let store = FjallStore::open(specimen.dir.path(), fsync()).unwrap();
        store.commit(puts(Space::Items, [row(4)])).unwrap();
        drop(store);
        assert_eq!(specimen.open(fsync()).unwrap(), 4);
    }
}

#[test]
fn a_last_batch_that_ends_anywhere_is_cut_off() {
    let specimen = Specimen::unacknowledged(2);
    let whole = fs::read(specimen.journal()).unwrap();
    let (start, end) = (specimen.ends[1], specimen.ends[2]);
    for len in (start..start + 120)
        .step_by(7)
        .chain([end - 13, end - 5, end - 1])
    {
        for unused in [0, 100_000] {
            let mut torn = whole[..len].to_vec();
            torn.resize(len + unused, 0);
            fs::write(specimen.journal(), torn).unwrap();
            // Opening writes the note.
            let _ = fs::remove_file(specimen.dir.path().join("SYNCED"));
            assert_eq!(
                specimen.open(fsync()).unwrap(),
                1,
                "cut at {len} of {start}..{end}"
            );
        }
    }
}

#[test]
fn a_first_page_that_never_reached_the_disk_is_a_torn_end_too() {
    let specimen = Specimen::unacknowledged(3);
    let start = specimen.ends[2];
    specimen.change(|journal| journal[start..start + 4096].fill(0));
    assert_eq!(specimen.open(fsync()).unwrap(), 2);
}

/// The last batch was acknowledged, and the note says so: then its damage was not caused by a crash.
#[test]
fn damage_to_an_acknowledged_last_batch_is_refused_wherever_it_is() {
    for batches in [1, 3] {
        let specimen = Specimen::new(batches);
        let whole = fs::read(specimen.journal()).unwrap();
        let (start, end) = (
            specimen.ends[batches as usize - 1],
            specimen.ends[batches as usize],
        );
        let places = (start..start + 130)
            .chain((start + 130..end).step_by(997))
            .chain([end - 1]);
        for place in places.filter(|place| !is_engine_number(*place, start)) {
            specimen.change(|journal| journal[place] ^= 0x10);
            let damaged = fs::read(specimen.journal()).unwrap();
            let error = specimen.open(fsync()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "byte {place}");
            assert!(error.to_string().contains("0.jnl"), "{error}");
            assert!(
                fs::read(specimen.journal()).unwrap() == damaged,
                "byte {place} was cut"
            );
            fs::write(specimen.journal(), &whole).unwrap();
        }
        assert_eq!(specimen.open(fsync()).unwrap(), batches);
    }
}

#[test]
fn a_journal_without_its_last_acknowledged_batches_is_refused() {
    let specimen = Specimen::new(4);
    let whole = fs::read(specimen.journal()).unwrap();
    let batch_ends = specimen.ends[..4].iter().copied();
    for len in batch_ends.chain([specimen.ends[3] + 7]) {
        specimen.change(|journal| journal.truncate(len));
        let error = specimen.open(fsync()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "{len} bytes");
        assert!(error.to_string().contains("journal"), "{error}");
        fs::write(specimen.journal(), &whole).unwrap();
    }
    let accepting = Settings {
        on_damage: OnDamage::CutJournal,
        ..fsync()
    };
    specimen.change(|journal| journal.truncate(specimen.ends[2]));
    assert_eq!(specimen.open(accepting).unwrap(), 2);
    assert_eq!(specimen.open(fsync()).unwrap(), 2, "the note follows");
}

#[test]
fn a_damaged_note_is_refused_and_a_missing_one_is_written_anew() {
    let specimen = Specimen::new(2);
    let note = specimen.dir.path().join("SYNCED");
    let whole = fs::read(&note).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        fs::write(&note, damaged).unwrap();
        let message = specimen.open(fsync()).unwrap_err().to_string();
        assert!(message.contains(note.to_str().unwrap()), "{message}");
    }
    fs::remove_file(&note).unwrap();
    assert_eq!(specimen.open(fsync()).unwrap(), 2);
    assert_eq!(fs::read(&note).unwrap(), whole);
}

#[test]
fn damage_before_the_last_batch_is_refused_naming_file_and_offset() {
    let specimen = Specimen::new(4);
    let whole = fs::read(specimen.journal()).unwrap();
    let (start, end) = (specimen.ends[1], specimen.ends[2]);
    // Every field of the start, of both items' heads and of the end, and some of the value.
    let places = (start..start + 130)
        .chain((start + 130..end - 13).step_by(997))
        .chain(end - 13..end);
    for place in places.filter(|place| !is_engine_number(*place, start)) {
        specimen.change(|journal| journal[place] ^= 0x55);
        let damaged = fs::read(specimen.journal()).unwrap();
        let error = specimen.open(fsync()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "byte {place}");
        let expected = format!(
            "journal {} is damaged at byte {start}",
            specimen.journal().display()
        );
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert!(
            fs::read(specimen.journal()).unwrap() == damaged,
            "a refused directory is not touched"
        );
        fs::write(specimen.journal(), &whole).unwrap();
    }
    assert_eq!(specimen.set_aside(), Vec::<PathBuf>::new());
    assert_eq!(specimen.open(fsync()).unwrap(), 4);
}

/// The engine's own number is the one field of a batch outside its checksum.
fn is_engine_number(place: usize, start: usize) -> bool {
    (start + 5..start + 13).contains(&place)
}

#[test]
fn a_number_of_the_engine_out_of_order_is_refused() {
    let specimen = Specimen::new(4);
    let whole = fs::read(specimen.journal()).unwrap();
    for place in specimen.ends[1] + 5..specimen.ends[1] + 13 {
        specimen.change(|journal| journal[place] ^= 0xaa);
        assert_eq!(specimen.open(fsync()).unwrap_err().kind(), ErrorKind::Damaged);
        fs::write(specimen.journal(), &whole).unwrap();
    }
    // Only the second name contains that of the first batch.
    for place in 5..13 {
        specimen.change(|journal| journal[place] ^= 0x01);
        let message = specimen.open(fsync()).unwrap_err().to_string();
        assert!(message.contains("0.jnl is damaged at byte 0"), "{message}");
        fs::write(specimen.journal(), &whole).unwrap();
    }
    let last = specimen.ends[3] + 5;
    specimen.change(|journal| journal[last..last + 8].fill(0));
    assert_eq!(specimen.open(fsync()).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn a_missing_batch_is_refused() {
    let specimen = Specimen::new(4);
    let (start, end) = (specimen.ends[1], specimen.ends[2]);
    specimen.change(|journal| drop(journal.drain(start..end)));
    let error = specimen.open(fsync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(error.to_string().contains(&format!("at byte {start}")), "{error}");
}

#[test]
fn the_loss_of_damaged_and_later_batches_can_be_accepted() {
    let specimen = Specimen::new(5);
    let place = specimen.ends[2] + 500;
    specimen.change(|journal| journal[place] ^= 1);
    assert!(specimen.open(fsync()).is_err());
    let accepting = Settings {
        on_damage: OnDamage::CutJournal,
        ..fsync()
    };
    assert_eq!(specimen.open(accepting).unwrap(), 2);
    assert_eq!(specimen.set_aside().len(), 1);
    assert_eq!(specimen.open(fsync()).unwrap(), 2);
}

/// A journal of five batches as two files: the first two batches in `0.jnl`, the rest in `1.jnl`.
fn two_journals() -> Specimen {
    let specimen = Specimen::new(5);
    let newer = fs::read(specimen.journal()).unwrap().split_off(specimen.ends[2]);
    specimen.change(|journal| journal.truncate(specimen.ends[2]));
    fs::write(specimen.dir.path().join("db/1.jnl"), newer).unwrap();
    specimen
}

#[test]
fn several_journals_are_one_sequence() {
    assert_eq!(two_journals().open(fsync()).unwrap(), 5);
}

/// The engine's number of the first batch in `1.jnl`.
fn sequence_of_third(specimen: &Specimen) -> u64 {
    let journal = fs::read(specimen.dir.path().join("db/1.jnl")).unwrap();
    u64::from_le_bytes(journal[5..13].try_into().unwrap())
}

#[test]
fn the_end_of_an_older_journal_is_not_a_torn_end() {
    let specimen = two_journals();
    // Both journals have their second names.
    let newer = specimen.dir.path().join("db/1.jnl");
    fs::hard_link(
        newer,
        specimen
            .dir
            .path()
            .join(format!("journals/1-3-{}.jnl", sequence_of_third(&specimen))),
    )
    .unwrap();
    specimen.change(|journal| journal.truncate(specimen.ends[2] - 1));
    let error = specimen.open(fsync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(
        error
            .to_string()
            .contains(&format!("0.jnl is damaged at byte {}", specimen.ends[1])),
        "{error}"
    );

    let accepting = Settings {
        on_damage: OnDamage::CutJournal,
        ..fsync()
    };
    assert_eq!(specimen.open(accepting).unwrap(), 1);
    assert_eq!(specimen.set_aside().len(), 2, "the newer journal is kept too");
    assert_eq!(specimen.open(fsync()).unwrap(), 1, "the loss was accepted once");
}

#[test]
fn a_missing_journal_is_given_back_by_its_second_name() {
    let specimen = two_journals();
    fs::remove_file(specimen.journal()).unwrap();
    assert_eq!(specimen.open(fsync()).unwrap(), 5, "the oldest was missing");
    fs::remove_file(specimen.dir.path().join("db/1.jnl")).unwrap();
    assert_eq!(specimen.open(fsync()).unwrap(), 5, "the newest was missing");
    let specimen = Specimen::new(3);
    fs::remove_file(specimen.journal()).unwrap();
    assert_eq!(specimen.open(fsync()).unwrap(), 3);
}

#[test]
fn a_missing_older_journal_without_a_second_name_is_refused() {
    let specimen = two_journals();
    fs::remove_file(specimen.journal()).unwrap();
    fs::remove_dir_all(specimen.dir.path().join("journals")).unwrap();
    let error = specimen.open(fsync()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(
        error.to_string().contains("the first commits are missing"),
        "{error}"
    );
}

fn never_synced() -> Settings {
    Settings {
        sync_interval: Duration::from_secs(3600),
        ..buffered()
    }
}

#[test]
fn buffered_batches_after_a_hole_are_given_up_when_none_was_synced() {
    let specimen = Specimen::with(never_synced(), 6, |_, _| {}).unnoted();
    let place = specimen.ends[3] + 5000;
    specimen.change(|journal| journal[place..place + 4096].fill(0));
    assert_eq!(specimen.open(buffered()).unwrap(), 3);
    assert_eq!(specimen.set_aside().len(), 1);
}

#[test]
fn a_hole_in_what_was_synced_is_damage_also_when_buffered() {
    let sync_after_five = |store: &FjallStore, number: u32| {
        if number == 5 {
            store.sync().unwrap();
        }
    };
    let specimen = Specimen::with(never_synced(), 6, sync_after_five);
    let place = specimen.ends[3] + 5000;
    specimen.change(|journal| journal[place..place + 4096].fill(0));
    assert_eq!(specimen.open(buffered()).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn a_value_that_looks_like_a_journal_changes_nothing() {
    let donor = Specimen::new(3);
    let journal = fs::read(donor.journal()).unwrap();
    let dir = TempDir::new().unwrap();
    {
        let store = FjallStore::open(dir.path(), fsync()).unwrap();
        store.commit(puts(Space::Items, [("a", "b")])).unwrap();
        store.commit(puts(Space::Items, [("journal", &journal)])).unwrap();
    }
    let store = FjallStore::open(dir.path(), fsync()).unwrap();
    assert_eq!(
        store.get(Space::Items, b"journal").unwrap().unwrap().as_slice(),
        journal
    );
}

/// Takes every file of a directory with tables in it, deletes it, shortens it, and flips bits in it. The store must
/// then refuse to open, or fail while reading, or show exactly the rows it had.
#[test]
fn no_damage_to_any_file_goes_unnoticed() {
    const BATCH_ROWS: usize = 50;
    let dir = TempDir::new().unwrap();
    let rows: Vec<_> = (0..700u32)
        .map(|n| (n.to_be_bytes().to_vec(), vec![n as u8; 10_000]))
        .collect();
    {
        let store = FjallStore::open(dir.path(), fsync()).unwrap();
        for batch in rows.chunks(BATCH_ROWS) {
            store.commit(puts(Space::Meta, batch.iter().cloned())).unwrap();
        }
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while !files(dir.path())
            .iter()
            .any(|path| path.to_str().unwrap().contains("2/tables/"))
        {
            assert!(std::time::Instant::now() < deadline, "nothing was flushed");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    drop_unused(&dir.path().join("db/0.jnl"));
    let mut refused = 0;
    for file in files(dir.path()) {
        let whole = fs::read(dir.path().join(&file)).unwrap();
        for (what, bytes) in damages(&whole) {
            let copy = copy_of(dir.path());
            let path = copy.path().join(&file);
            match bytes {
                Some(bytes) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            match read_all(copy.path()) {
                Err(error) => {
                    let named = file.file_name().unwrap().to_str().unwrap();
                    assert!(
                        error.to_string().contains(named),
                        "{what} of {}: {error}",
                        file.display()
                    );
                    refused += 1;
                }
                Ok(found) => assert!(found == rows, "{what} of {} lost rows silently", file.display()),
            }
        }
    }
    assert!(refused > 40, "only {refused} damages were noticed");
}

fn damages(whole: &[u8]) -> Vec<(&'static str, Option<Vec<u8>>)> {
    let mut damages = vec![("deletion", None)];
    let used = whole
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    if used > 0 {
        damages.push(("halving", Some(whole[..used / 2].to_vec())));
        for part in [0, 1, 3, 5, 7] {
            let mut flipped = whole.to_vec();
            flipped[(used - 1) * part / 7] ^= 0x10;
            damages.push(("a flipped bit", Some(flipped)));
        }
    }
    damages
}

fn read_all(dir: &Path) -> Result<Pairs, StoreError> {
    let store = FjallStore::open(dir, fsync())?;
    let view = store.snapshot();
    let (start, end) = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    let rows = view.range(Space::Meta, start, end, trestle_store::Direction::Forward);
    rows.map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())))
        .collect()
}

/// All files below `dir`, relative to it, except the lock.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => found.push(entry.path().strip_prefix(dir).unwrap().to_path_buf()),
            }
        }
    }
    found.retain(|path| !path.to_str().unwrap().to_lowercase().ends_with("lock"));
    found.sort();
    found
}

pub(crate) fn copy_of(dir: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for file in files(dir) {
        let target = copy.path().join(&file);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(dir.join(&file), target).unwrap();
    }
    fs::write(copy.path().join("db/lock"), "").unwrap();
    copy
}

#[test]
fn durability_is_fsync_unless_asked_otherwise() {
    assert_eq!(Settings::default().durability, Durability::Fsync);
    assert_eq!(Settings::default().on_damage, OnDamage::Refuse);
}
