//! Any bytes are an archive or damage. Parts with any content and matching checksums are rows or damage, too;
//! what is read can be written again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use trestle_fuzz::{Edits, damage};
use trestle_store::archive::{ArchiveReader, Header, check, read_into, write};
use trestle_store::{Batch, MemoryStore, Space, Store as _};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// As in docs/internals/format.md.
const HEADER_BYTES: usize = 32;
const BLOCK_HEAD_BYTES: usize = 12;
const CHECKSUM_BYTES: usize = 8;

/// An archive with rows in each space, in parts: the header, the blocks and the end, each without its checksum.
static PARTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let store = MemoryStore::new();
    let mut batch = Batch::new();
    for (number, space) in (1..).zip(Space::ALL) {
        batch.put(space, vec![number], vec![number; 3]);
        batch.put(space, vec![number, 0], Vec::new());
    }
    store.commit(batch).expect("memory takes rows");
    let mut archive = Vec::new();
    write(&*store.snapshot(), Header { taken_ms: 1 }, &mut archive).expect("an archive is written");
    parts(&archive)
});

fn parts(archive: &[u8]) -> Vec<Vec<u8>> {
    let (header, mut rest) = archive.split_at(HEADER_BYTES);
    let mut parts = vec![header.to_vec()];
    while let Some((_, blocks)) = rest.split_at_checked(CHECKSUM_BYTES)
        && let Some((_, length)) = blocks.get(..BLOCK_HEAD_BYTES).and_then(|head| head.split_last_chunk::<4>())
    {
        let (block, after) = blocks.split_at(BLOCK_HEAD_BYTES + u32::from_be_bytes(*length) as usize);
        parts.push(block.to_vec());
        rest = after;
    }
    parts
}

fuzz_target!(|input: (bool, Edits<'_>)| {
    let (is_sealed, edits) = input;
    let mut parts = PARTS.clone();
    if is_sealed {
        damage(&mut parts, &edits);
    }
    let mut archive = sealed(&parts);
    if !is_sealed {
        damage(std::slice::from_mut(&mut archive), &edits);
    }
    let is_whole = archive == sealed(&PARTS);
    let read = read(&archive);
    assert!(!is_whole || read.is_some(), "an archive that is whole is read");
    assert!(is_whole || is_sealed || read.is_none(), "damage is noticed");
});

/// Reads an archive, and writes what it holds again. `None` if it is damaged.
fn read(archive: &[u8]) -> Option<()> {
    let store = MemoryStore::new();
    let mut reader = ArchiveReader::open(archive).ok()?;
    let header = reader.header();
    let totals = read_into(&mut reader, &store).ok()?;
    assert_eq!(check(archive).ok(), Some(totals), "reading twice gives the same");
    let mut again = Vec::new();
    assert_eq!(write(&*store.snapshot(), header, &mut again).ok(), Some(totals), "what was read is written again");
    assert_eq!(check(&*again).ok(), Some(totals));
    Some(())
}

/// The parts, each with its checksum, which covers its position.
fn sealed(parts: &[Vec<u8>]) -> Vec<u8> {
    let sealed = (0..).zip(parts).flat_map(|(position, part)| {
        let checksum = xxh3_64_with_seed(part, position).to_be_bytes();
        part.iter().copied().chain(checksum)
    });
    sealed.collect()
}
