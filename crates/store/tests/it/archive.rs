//! Archives: exactly what was written is read back.

use proptest::prelude::*;
use std::sync::OnceLock;
use trestle_store::archive::{self, ARCHIVE_VERSION, ArchiveError, ArchiveReader, Header, Problem};
use trestle_store::{Batch, MemoryStore, Space, Store};

const HEADER: Header = Header {
    taken_ms: 1_800_000_000_000,
};
const HEADER_LEN: usize = 40;

fn store(rows: &[(Space, Vec<u8>, Vec<u8>)]) -> MemoryStore {
    let store = MemoryStore::new();
    let mut batch = Batch::new();
    for (space, key, value) in rows {
        batch.put(*space, key.clone(), value.clone());
    }
    store.commit(batch).unwrap();
    store
}

fn archived(store: &dyn Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    archive::write(&*store.snapshot(), HEADER, &mut bytes).unwrap();
    bytes
}

/// Several blocks in several spaces.
fn sample() -> &'static [u8] {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let mut rows = vec![
            (Space::Meta, b"a".to_vec(), Vec::new()),
            (Space::Expiry, vec![0xff; 65_535], b"long key".to_vec()),
            (Space::Items, b"large".to_vec(), vec![7; 300_000]),
        ];
        for at in 0..1000u32 {
            rows.push((Space::Index, at.to_be_bytes().to_vec(), vec![at as u8; 300]));
        }
        archived(&store(&rows))
    })
}

fn problem(bytes: &[u8]) -> (u64, Problem) {
    match archive::check(bytes) {
        Err(ArchiveError::Damaged { offset, problem }) => (offset, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_written_is_read_back() {
    let mut reader = ArchiveReader::open(sample()).unwrap();
    assert_eq!(reader.header(), HEADER);
    let copy = MemoryStore::new();
    let totals = archive::read_into(&mut reader, &copy).unwrap();
    assert_eq!(totals.rows, [1, 1, 1000, 0, 1]);
    assert_eq!(totals.all_rows(), 1003);
    assert_eq!(archived(&copy), sample());
}

#[test]
fn an_archive_that_stops_anywhere_is_cut_short() {
    let bytes = sample();
    for length in (0..200)
        .chain((200..bytes.len()).step_by(9_973))
        .chain(bytes.len() - 100..bytes.len())
    {
        let (offset, problem) = problem(&bytes[..length]);
        assert_eq!((offset, problem), (length as u64, Problem::CutShort));
    }
}

#[test]
fn what_follows_the_end_is_refused() {
    let longer = [sample(), b"\0"].concat();
    assert_eq!(problem(&longer), (sample().len() as u64, Problem::Trailing));
    let twice = [sample(), sample()].concat();
    assert_eq!(problem(&twice).1, Problem::Trailing);
}

#[test]
fn what_is_no_backup_is_refused_at_once() {
    for other in [
        &b"PK\x03\x04"[..],
        b"{}",
        b"trestle backup\n",
        b"SQLite format 3\0",
    ] {
        assert_eq!(problem(other), (0, Problem::NotABackup), "{other:?}");
    }
    assert_eq!(problem(b"").1, Problem::CutShort);
}

#[test]
fn a_later_version_is_named() {
    for at in [19, 23] {
        let mut bytes = sample().to_vec();
        bytes[at] = 9;
        assert_eq!(problem(&bytes).1, Problem::Checksum);
        let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..HEADER_LEN - 8]);
        bytes[HEADER_LEN - 8..HEADER_LEN].copy_from_slice(&sum.to_be_bytes());
        let refused = archive::check(bytes.as_slice()).unwrap_err();
        assert!(matches!(refused, ArchiveError::Version { .. }), "{refused:?}");
        assert!(
            refused
                .to_string()
                .contains(&format!("reads version {ARCHIVE_VERSION}"))
        );
    }
}

/// The archive's blocks, each from its head to its checksum.
fn blocks() -> Vec<Vec<u8>> {
    let mut rest = &sample()[HEADER_LEN..];
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let length = u32::from_be_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (block, after) = rest.split_at(12 + length + 8);
        blocks.push(block.to_vec());
        rest = after;
    }
    blocks
}

fn joined(blocks: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = sample()[..HEADER_LEN].to_vec();
    blocks.iter().for_each(|block| bytes.extend(block));
    bytes
}

#[test]
fn blocks_that_are_missing_repeated_or_exchanged_are_noticed() {
    let all = blocks();
    assert!(all.len() >= 6);
    assert_eq!(joined(&all), sample());
    for at in 0..all.len() - 1 {
        let mut missing = all.clone();
        missing.remove(at);
        assert_eq!(problem(&joined(&missing)).1, Problem::Checksum);
        let mut repeated = all.clone();
        repeated.insert(at, all[at].clone());
        assert_eq!(problem(&joined(&repeated)).1, Problem::Checksum);
        let mut exchanged = all.clone();
        exchanged.swap(at, at + 1);
        assert_eq!(problem(&joined(&exchanged)).1, Problem::Checksum);
    }
}

fn space() -> impl Strategy<Value = Space> {
    (0..Space::COUNT).prop_map(|at| Space::ALL[at])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_rows_survive_the_round_trip(
        rows in prop::collection::vec((space(), prop::collection::vec(any::<u8>(), 1..40), prop::collection::vec(any::<u8>(), 0..400)), 0..60)
    ) {
        let bytes = archived(&store(&rows));
        let copy = MemoryStore::new();
        archive::read_into(&mut ArchiveReader::open(bytes.as_slice()).unwrap(), &copy).unwrap();
        prop_assert_eq!(archived(&copy), bytes);
    }

    #[test]
    fn a_flipped_bit_anywhere_is_noticed(at in any::<prop::sample::Index>(), bit in 0..8u32) {
        let mut bytes = sample().to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        prop_assert!(archive::check(bytes.as_slice()).is_err());
    }

    #[test]
    fn damaged_stretches_never_panic(
        at in any::<prop::sample::Index>(),
        noise in prop::collection::vec(any::<u8>(), 1..200),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = sample().to_vec();
        let at = at.index(bytes.len());
        let noise = &noise[..noise.len().min(bytes.len() - at)];
        bytes[at..at + noise.len()].copy_from_slice(noise);
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = archive::check(bytes.as_slice());
    }

    #[test]
    fn bytes_that_never_were_an_archive_never_panic(
        body in prop::collection::vec(any::<u8>(), 0..300)
    ) {
        let _ = archive::check(body.as_slice());
        let with_head = [&sample()[..HEADER_LEN], &body].concat();
        prop_assert!(archive::check(with_head.as_slice()).is_err());
    }
}
