//! Reads the engine's journal: batch by batch, each with its checksum.
//!
//! The engine's own reader is made for replay: it treats any unreadable record as the end and truncates the
//! file there. This one changes nothing and distinguishes the ways in which a journal can end.
//!
//! A batch is `start items… end`, all numbers little-endian:
//!
//! ```text
//! start  01  count u32  sequence u64
//! item   02  type u8  compression u8  keyspace u64  key length u16  value length u32  stored length u32  key  value
//! clear  04  keyspace u64
//! end    03  checksum u64  46 4A 4C 03
//! ```
//!
//! The checksum is XXH3-64 over the bytes of all items.

use super::commit_row::CommitRow;
use super::keyspaces::{FOLDERS, SYSTEM_ID};
use std::io::{self, Read};
use xxhash_rust::xxh3::Xxh3;

/// The first byte of every batch.
pub(super) const TAG_START: u8 = 1;
const TAG_ITEM: u8 = 2;
const TAG_END: u8 = 3;
const TAG_CLEAR: u8 = 4;
/// Value, deletion, weak deletion.
const TYPE_MAX: u8 = 2;
/// None, LZ4.
const COMPRESSION_MAX: u8 = 1;
const TRAILER: [u8; 4] = *b"FJL\x03";

/// Where the number of the commit ends in a batch: its row is the first item.
pub(super) const COMMIT_NUMBER_END: usize = START_LEN + ITEM_HEAD_LEN + CommitRow::KEY.len() + 8;
const START_LEN: usize = 13;
const ITEM_HEAD_LEN: usize = 21;

/// A complete batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalBatch {
    /// The commit row inside.
    pub(super) commit: CommitRow,
    /// The engine's own number of the batch: larger than that of every earlier one. Not covered by the checksum.
    pub(super) sequence: u64,
    /// Bytes from the start to the end of the batch.
    pub(super) len: u64,
}

/// Why there is no complete batch here.
#[derive(Debug)]
pub(super) enum NoBatch {
    /// The file ends exactly here.
    End,
    /// A zero where a batch would start: the unused rest of a preallocated file, if only zeros follow.
    Unused,
    /// A batch starts here but is not complete, or there are other bytes.
    Broken(&'static str),
    /// The file cannot be read.
    Io(io::Error),
}

/// Reads the batch at the reader's position.
pub(super) fn read_batch(reader: &mut impl Read) -> Result<JournalBatch, NoBatch> {
    let mut source = Source {
        reader,
        len: 0,
        hash: Xxh3::new(),
        key: Vec::new(),
        chunk: Vec::new(),
    };
    let (count, sequence) = source.start()?;
    let mut commit = None;
    for _ in 0..count {
        commit = source.item()?.or(commit);
    }
    source.end()?;
    let commit = commit.ok_or(NoBatch::Broken("a batch has no commit number"))?;
    Ok(JournalBatch {
        commit,
        sequence,
        len: source.len,
    })
}

/// Reads fields, counting bytes and hashing those of items.
struct Source<'a, R> {
    reader: &'a mut R,
    len: u64,
    hash: Xxh3,
    key: Vec<u8>,
    chunk: Vec<u8>,
}

impl<R: Read> Source<'_, R> {
    /// How many items follow, and the engine's number of the batch.
    fn start(&mut self) -> Result<(u32, u64), NoBatch> {
        let mut tag = [0];
        match self.reader.read_exact(&mut tag) {
            Ok(()) => self.len += 1,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(NoBatch::End),
            Err(error) => return Err(NoBatch::Io(error)),
        }
        match tag {
            [TAG_START] => {
                let count = u32::from_le_bytes(self.bytes()?);
                let sequence = u64::from_le_bytes(self.bytes()?);
                Ok((count, sequence))
            }
            [0] => Err(NoBatch::Unused),
            _ => Err(NoBatch::Broken("no batch starts here")),
        }
    }

    /// The commit row, if this item is one.
    fn item(&mut self) -> Result<Option<CommitRow>, NoBatch> {
        match self.hashed()? {
            [TAG_ITEM] => {}
            [TAG_CLEAR] => return self.hashed::<8>().map(|_| None),
            _ => return Err(NoBatch::Broken("an item of the batch is unreadable")),
        }
        let [value_type, compression] = self.hashed()?;
        let keyspace = u64::from_le_bytes(self.hashed()?);
        // Checked before the lengths, which makes the search for batches among other bytes cheap.
        if !FOLDERS.contains(&keyspace) || value_type > TYPE_MAX || compression > COMPRESSION_MAX {
            return Err(NoBatch::Broken("an item of the batch is unreadable"));
        }
        let key_len = u16::from_le_bytes(self.hashed()?);
        let _value_len: [u8; 4] = self.hashed()?;
        let stored_len = u32::from_le_bytes(self.hashed()?);
        self.read_key(key_len)?;
        let is_commit = keyspace == SYSTEM_ID && compression == 0 && self.key == CommitRow::KEY;
        if is_commit && stored_len as usize == CommitRow::LEN {
            let value: [u8; CommitRow::LEN] = self.hashed()?;
            return Ok(CommitRow::decode(&value));
        }
        self.skip_value(stored_len)?;
        Ok(None)
    }

    fn end(&mut self) -> Result<(), NoBatch> {
        if self.bytes()? != [TAG_END] {
            return Err(NoBatch::Broken("the batch does not end after its last item"));
        }
        let checksum = u64::from_le_bytes(self.bytes()?);
        if self.bytes()? != TRAILER {
            return Err(NoBatch::Broken("the end of the batch is unreadable"));
        }
        if checksum != self.hash.digest() {
            return Err(NoBatch::Broken("the batch does not match its checksum"));
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], NoBatch> {
        let mut bytes = [0; N];
        self.reader.read_exact(&mut bytes).map_err(cut_short)?;
        self.len += N as u64;
        Ok(bytes)
    }

    fn hashed<const N: usize>(&mut self) -> Result<[u8; N], NoBatch> {
        let bytes = self.bytes()?;
        self.hash.update(&bytes);
        Ok(bytes)
    }

    fn read_key(&mut self, len: u16) -> Result<(), NoBatch> {
        self.key.resize(usize::from(len), 0);
        self.reader.read_exact(&mut self.key).map_err(cut_short)?;
        self.len += u64::from(len);
        self.hash.update(&self.key);
        Ok(())
    }

    /// In pieces, so that a wrong length costs no memory.
    fn skip_value(&mut self, len: u32) -> Result<(), NoBatch> {
        const PIECE_BYTES: usize = 64 * 1024;
        let mut left = len as usize;
        while left > 0 {
            let piece = left.min(PIECE_BYTES);
            self.chunk.resize(piece, 0);
            self.reader.read_exact(&mut self.chunk).map_err(cut_short)?;
            self.hash.update(&self.chunk);
            left -= piece;
        }
        self.len += u64::from(len);
        Ok(())
    }
}

fn cut_short(error: io::Error) -> NoBatch {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => NoBatch::Broken("the file ends inside the batch"),
        _ => NoBatch::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A batch of one commit row and one item, in the engine's format.
    fn batch(number: u64, value: &[u8]) -> Vec<u8> {
        let row = CommitRow {
            number,
            synced: number - 1,
        };
        let items = [
            item(SYSTEM_ID, CommitRow::KEY, &row.encode()),
            item(3, b"key", value),
        ]
        .concat();
        let mut bytes = vec![TAG_START];
        bytes.extend(2u32.to_le_bytes());
        bytes.extend((number * 10).to_le_bytes());
        bytes.extend(&items);
        bytes.push(TAG_END);
        bytes.extend(xxhash_rust::xxh3::xxh3_64(&items).to_le_bytes());
        bytes.extend(TRAILER);
        bytes
    }

    fn item(keyspace: u64, key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![TAG_ITEM, 0, 0];
        bytes.extend(keyspace.to_le_bytes());
        bytes.extend((key.len() as u16).to_le_bytes());
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend(key);
        bytes.extend(value);
        bytes
    }

    #[test]
    fn the_number_of_a_commit_stands_at_the_beginning_of_its_batch() {
        let bytes = batch(0x0102_0304_0506, b"value");
        assert_eq!(
            bytes[..COMMIT_NUMBER_END][COMMIT_NUMBER_END - 8..],
            [0, 0, 1, 2, 3, 4, 5, 6]
        );
    }

    #[test]
    fn a_whole_batch_tells_its_numbers_and_its_length() {
        let bytes = batch(7, &[9; 100_000]);
        let mut unread = [bytes.clone(), batch(8, b"")].concat();
        unread.push(0);
        let mut unread = unread.as_slice();
        let first = read_batch(&mut unread).unwrap();
        let commit = CommitRow { number: 7, synced: 6 };
        assert_eq!(
            first,
            JournalBatch {
                commit,
                sequence: 70,
                len: bytes.len() as u64
            }
        );
        assert_eq!(read_batch(&mut unread).unwrap().commit.number, 8);
        assert!(matches!(read_batch(&mut unread), Err(NoBatch::Unused)));
        assert!(matches!(read_batch(&mut unread), Err(NoBatch::End)));
    }

    proptest! {
        #[test]
        fn any_change_within_the_checksum_breaks_a_batch(place in 0usize..10_000, flip in 1u8..) {
            let mut bytes = batch(7, &[9; 50]);
            let place = place % bytes.len();
            bytes[place] ^= flip;
            let in_sequence = (5..13).contains(&place);
            prop_assert_eq!(read_batch(&mut bytes.as_slice()).is_ok(), in_sequence);
        }

        #[test]
        fn arbitrary_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read_batch(&mut bytes.as_slice()).is_err());
        }
    }
}
