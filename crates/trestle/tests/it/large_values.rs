//! Values larger than an item, through a typed client.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::models::registry::*;
use crate::remote::beside_a_server;
use crate::support::{Counted, embedded, plain};
use trestle::api::Scan;
use trestle::typed::{self, Error, Held, LargeValue, Version as Semver};
use trestle::{Clock, Database, Embedded, MemoryStore, Options, VirtualClock, Wait};

const PARTS: &str = "_trestle.value_parts";
const LOOSE: &str = "_trestle.loose_values";
const NAMED: &str = "_trestle.values";

/// Bytes without repetition.
fn bytes(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut bytes: Vec<u8> = (0..size.div_ceil(8)).flat_map(next).collect();
    bytes.truncate(size);
    bytes
}

fn version(minor: u64, payload: LargeValue) -> Version {
    Version::from(NewVersion {
        name: "left-pad".into(),
        version: Semver::new(1, minor, 0),
        payload,
    })
}

fn story<D: Database>(db: &Registry<D>) {
    let whole = bytes(1, 3_000_000);
    let payload = db.write_large(&whole).wait().unwrap();
    assert_eq!((payload.size, payload.parts), (3_000_000, 8));
    db.put(&version(1, payload)).wait().unwrap();
    let found = db
        .version("left-pad", Semver::new(1, 1, 0))
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(db.read_large(&found.payload).wait().unwrap(), whole);
    let head = db.newest("left-pad").wait().unwrap().unwrap();
    assert_eq!(db.read_large(&head.payload).wait().unwrap(), whole);
}

/// How many rows a table of Trestle's own has.
fn count(db: &Embedded, table: &str) -> usize {
    let (mut rows, mut after) = (0, None);
    loop {
        let page = db.run(Scan {
            table_name: table.to_owned(),
            exclusive_start_key: after,
            ..Scan::default()
        });
        let page = page.unwrap();
        rows += usize::try_from(page.count).unwrap();
        after = page.last_evaluated_key;
        if after.is_none() {
            return rows;
        }
    }
}

/// A database whose clock stands still until it is advanced.
fn at_a_time() -> (Embedded, Arc<VirtualClock>, Registry<Embedded>) {
    let clock = Arc::new(VirtualClock::new());
    let embedded = Embedded::on(Arc::new(MemoryStore::new()), clock.clone(), Options::default()).unwrap();
    let db = Registry::apply_to(&embedded).unwrap();
    (embedded, clock, db)
}

fn until(clock: &VirtualClock, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        clock.signal().ring();
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn refusal(outcome: Result<(), Error>) -> String {
    outcome.unwrap_err().to_string()
}

/// The code in `docs/model/typed-client.md`.
async fn guide(db: &Registry<Embedded>) -> Result<(), Box<dyn std::error::Error>> {
    let (tarball, fixed) = (bytes(1, 1_000_000), bytes(2, 1_000_000));
    let payload = db.write_large(&tarball).await?;
    let version = Version::from(NewVersion {
        name: "left-pad".into(),
        version: Semver::new(1, 3, 0),
        payload,
    });
    db.put(&version).if_not_exists().await?;

    let found = db.version("left-pad", Semver::new(1, 3, 0)).await?;
    let found = found.ok_or("no such version")?;
    assert_eq!(db.read_large(&found.payload).await?, tarball);

    let payload = db.replace_large(Some(&found.payload), &fixed).await?;
    db.update_version(&found)
        .set_payload(payload)
        .only_if(Version::PAYLOAD.equals(found.payload.clone()))
        .await?;

    let mut writer = db.large_writer();
    for piece in tarball.chunks(64 * 1024) {
        writer.write(piece).await?;
    }
    let again = writer.finish().await?;
    let mut reader = db.large_reader(&again);
    let mut size = 0;
    while let Some(bytes) = reader.next().await? {
        size += bytes.len();
    }
    assert_eq!(size, tarball.len());
    Ok(())
}

#[test]
fn the_guide_does_what_it_says() {
    let db = Registry::apply_to(&embedded()).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(guide(&db)).unwrap();
}

#[test]
fn a_value_of_megabytes_is_written_and_read() {
    story(&Registry::apply_to(&embedded()).unwrap());
}

#[test]
fn a_value_of_megabytes_is_written_and_read_through_a_server() {
    let embedded = embedded();
    Registry::apply_to(&embedded).unwrap();
    beside_a_server(embedded, |remote| story(&Registry::on(remote).model_applied()));
}

#[test]
fn values_of_every_size_come_back_as_they_were() {
    let db = Registry::apply_to(&embedded()).unwrap();
    const PART: usize = 384 * 1024;
    for (minor, size) in [0, 1, PART - 1, PART, PART + 1, 2 * PART].into_iter().enumerate() {
        let whole = bytes(7, size);
        let payload = db.write_large(&whole).wait().unwrap();
        assert_eq!(payload.parts, size.div_ceil(PART).max(1) as u64, "{size}");
        let version = version(minor as u64, payload);
        db.put(&version).wait().unwrap();
        assert_eq!(db.read_large(&version.payload).wait().unwrap(), whole, "{size}");
    }
}

#[test]
fn a_value_is_written_and_read_in_pieces() {
    let db = Registry::apply_to(&embedded()).unwrap();
    let whole = bytes(3, 1_500_000);
    let mut writer = db.large_writer();
    for piece in whole.chunks(70_001) {
        writer.write(piece).wait().unwrap();
    }
    let payload = writer.finish().wait().unwrap();
    let mut reader = db.large_reader(&payload);
    let mut read = Vec::new();
    while let Some(part) = reader.next().wait().unwrap() {
        assert!(part.len() <= 400_000);
        read.extend(part);
    }
    assert_eq!(read, whole);
}

#[test]
fn a_row_names_only_a_value_that_is_complete_and_its_own() {
    let db = Registry::apply_to(&embedded()).unwrap();
    let put = |minor, payload: LargeValue| db.put(&version(minor, payload)).wait();
    let payload = db.write_large(&bytes(1, 500_000)).wait().unwrap();

    let unknown = LargeValue {
        id: "0123456789abcdef".into(),
        ..payload.clone()
    };
    assert!(
        refusal(put(1, unknown))
            .contains("which is not there; put its parts into _trestle.value_parts first")
    );
    let longer = LargeValue {
        size: 500_001,
        ..payload.clone()
    };
    assert!(
        refusal(put(1, longer)).contains("of 500001 bytes in 2 parts; 500000 bytes in 2 parts are there")
    );
    let fewer = LargeValue {
        parts: 1,
        ..payload.clone()
    };
    assert!(refusal(put(1, fewer)).contains("in 1 parts"));

    put(1, payload.clone()).unwrap();
    assert!(refusal(put(2, payload.clone())).contains("which another row names"));
    let other_hash = LargeValue {
        sha256: "0".repeat(64),
        ..payload.clone()
    };
    assert!(refusal(put(1, other_hash)).contains("a value never changes"));
    // The same row may be written again; two rows may not refer to the same value.
    put(1, payload.clone()).unwrap();
    let mut twice = version(1, payload.clone());
    twice.readme = Some(payload);
    assert!(refusal(db.put(&twice).wait()).contains("which another row names"));
}

#[test]
fn the_same_bytes_are_not_written_again() {
    let counted = Counted::new(embedded());
    Registry::apply_to(counted.embedded()).unwrap();
    let db = Registry::on(counted.clone()).model_applied();
    let payload = db.write_large(&bytes(1, 900_000)).wait().unwrap();
    counted.take();
    let same = db
        .replace_large(Some(&payload), &bytes(1, 900_000))
        .wait()
        .unwrap();
    assert_eq!((same, counted.take()), (payload.clone(), 0));
    let other = db
        .replace_large(Some(&payload), &bytes(2, 900_000))
        .wait()
        .unwrap();
    assert_ne!(other.id, payload.id);
    assert_eq!(counted.take(), 3);
}

#[test]
fn a_replaced_value_is_readable_for_a_while_and_then_removed() {
    let (embedded, clock, db) = at_a_time();
    let old = db.write_large(&bytes(1, 1_000_000)).wait().unwrap();
    db.put(&version(1, old.clone())).wait().unwrap();
    let new = db.write_large(&bytes(2, 500_000)).wait().unwrap();
    db.put(&version(1, new.clone())).wait().unwrap();
    clock.advance(Duration::from_secs(9 * 60));
    assert_eq!(db.read_large(&old).wait().unwrap(), bytes(1, 1_000_000));
    clock.advance(Duration::from_secs(61));
    until(&clock, "the old parts stay", || count(&embedded, PARTS) == 2);
    assert_eq!(
        db.read_large(&old).wait(),
        Err(Error::ValueGone { id: old.id.clone() })
    );
    assert_eq!(db.read_large(&new).wait().unwrap(), bytes(2, 500_000));
    until(&clock, "the note stays", || count(&embedded, LOOSE) == 0);
    assert!(refusal(db.put(&version(2, old)).wait()).contains("which is not there"));
}

#[test]
fn values_go_with_rows_that_are_deleted_or_expire_and_with_uploads_that_are_given_up() {
    let (embedded, clock, db) = at_a_time();
    let deleted = version(1, db.write_large(&bytes(1, 100)).wait().unwrap());
    db.put(&deleted).wait().unwrap();
    let mut expiring = version(2, db.write_large(&bytes(2, 100)).wait().unwrap());
    expiring.expires = Some(typed::EpochSeconds(clock.now().as_secs() + 60));
    db.put(&expiring).wait().unwrap();
    let mut without = version(3, db.write_large(&bytes(3, 100)).wait().unwrap());
    without.readme = Some(db.write_large(&bytes(4, 100)).wait().unwrap());
    db.put(&without).wait().unwrap();
    let _given_up = db.write_large(&bytes(5, 100)).wait().unwrap();
    assert_eq!((count(&embedded, PARTS), count(&embedded, NAMED)), (5, 4));

    db.delete(&deleted).wait().unwrap();
    db.update_version(&without).remove_readme().wait().unwrap();
    clock.advance(Duration::from_secs(61));
    until(&clock, "the row stays", || count(&embedded, NAMED) == 1);
    assert_eq!(count(&embedded, PARTS), 5);
    clock.advance(Duration::from_secs(10 * 60));
    until(&clock, "parts stay", || count(&embedded, PARTS) == 2);
    clock.advance(Duration::from_secs(3600));
    until(&clock, "the upload stays", || count(&embedded, PARTS) == 1);
    assert_eq!(db.read_large(&without.payload).wait().unwrap(), bytes(3, 100));
}

#[test]
fn a_transaction_hands_a_value_from_one_row_to_another() {
    let (embedded, _, db) = at_a_time();
    let payload = db.write_large(&bytes(1, 500_000)).wait().unwrap();
    let (from, to) = (version(1, payload.clone()), version(2, payload.clone()));
    db.put(&from).wait().unwrap();
    // The order of the parts makes no difference.
    db.transaction().put(&to).delete(&from).commit().wait().unwrap();
    db.transaction().delete(&to).put(&from).commit().wait().unwrap();
    assert_eq!((count(&embedded, NAMED), count(&embedded, LOOSE)), (1, 0));
    assert_eq!(db.read_large(&payload).wait().unwrap(), bytes(1, 500_000));
    // A cancelled transaction neither claims nor releases values.
    let refused = db.transaction().put(&to).commit().wait();
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("which another row names")
    );
    assert_eq!((count(&embedded, NAMED), count(&embedded, LOOSE)), (1, 0));
}

#[test]
fn readers_of_a_value_that_is_replaced_get_all_of_one_value() {
    let db = Registry::apply_to(&embedded()).unwrap();
    let content = |seed: u64| bytes(seed, 400_000 + 100_000 * usize::try_from(seed % 5).unwrap());
    let write = |seed: u64| {
        let payload = db.write_large(&content(seed)).wait().unwrap();
        db.put(&version(1, payload)).wait().unwrap();
    };
    write(0);
    let done = AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        let reader = || {
            let mut reads = 0;
            while !done.load(Ordering::SeqCst) || reads == 0 {
                let found = db.version("left-pad", Semver::new(1, 1, 0)).wait().unwrap();
                // Bytes with another digest than the row's are an error.
                db.read_large(&found.unwrap().payload).wait().unwrap();
                reads += 1;
            }
            reads
        };
        let readers: Vec<_> = (0..3).map(|_| scope.spawn(reader)).collect();
        (1..12).for_each(write);
        done.store(true, Ordering::SeqCst);
        readers
            .into_iter()
            .map(|reader| reader.join().unwrap())
            .sum::<u32>()
    });
    assert!(reads >= 3, "{reads}");
    let found = db
        .version("left-pad", Semver::new(1, 1, 0))
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(db.read_large(&found.payload).wait().unwrap(), content(11));
}

#[test]
fn of_two_clients_that_replace_a_value_on_condition_one_wins() {
    let db = Registry::apply_to(&embedded()).unwrap();
    let first = version(1, db.write_large(&bytes(0, 1000)).wait().unwrap());
    db.put(&first).wait().unwrap();
    let replace = |seed: u64| {
        let payload = db.write_large(&bytes(seed, 500_000)).wait().unwrap();
        let update = db.update_version(&first).set_payload(payload);
        let update = update.only_if(Version::PAYLOAD.equals(first.payload.clone()));
        update.wait().held().unwrap()
    };
    let outcomes = std::thread::scope(|scope| {
        let clients = [1, 2, 3, 4].map(|seed| scope.spawn(move || replace(seed)));
        clients.map(|client| client.join().unwrap())
    });
    let won: Vec<_> = outcomes.into_iter().flatten().collect();
    assert_eq!(won.len(), 1);
    let found = db
        .version("left-pad", Semver::new(1, 1, 0))
        .wait()
        .unwrap()
        .unwrap();
    assert_eq!(found.payload, won[0].payload);
    db.read_large(&found.payload).wait().unwrap();
}

#[test]
fn a_database_without_the_model_keeps_no_large_values() {
    let db = Registry::on(plain::<RegistryModel>());
    assert!(matches!(
        db.write_large(b"x").wait(),
        Err(Error::NotApplied { .. })
    ));
    let payload = LargeValue {
        id: "0123456789abcdef".into(),
        size: 1,
        parts: 1,
        sha256: "0".repeat(64),
    };
    assert!(matches!(
        db.put(&version(1, payload)).wait(),
        Err(Error::NotApplied { .. })
    ));
}

#[test]
fn a_value_larger_than_the_most_is_refused_as_it_comes() {
    let db = Registry::apply_to(&embedded()).unwrap();
    let mut writer = db.large_writer();
    let piece = vec![0; 8 * 1024 * 1024];
    for _ in 0..8 {
        writer.write(&piece).wait().unwrap();
    }
    assert_eq!(writer.write(b"x").wait(), Err(Error::ValueTooLarge));
}
