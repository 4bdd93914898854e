//! The last commit that is known to survive a power cut, noted beside the journal.
//!
//! A journal whose last batch is damaged or gone looks as if a crash had interrupted that batch. The note
//! distinguishes the two: a commit that it names was acknowledged. It is written in place and never synced,
//! so after a power cut it may be older than the journal. It is never newer, because a commit is noted after
//! it was synced.
//!
//! ```text
//! "synced\r\n"  number u64  checksum of both u64
//! ```
//!
//! The number is big-endian, like all numbers of the store. Zeros, or nothing, are what a power cut leaves of
//! a note that never reached the disk.

use super::directory::Directory;
use super::guard::WAY_OUT;
use crate::{ErrorKind, Result, StoreError, private};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

const LEN: usize = 24;
const MAGIC: [u8; 8] = *b"synced\r\n";

/// The open note.
pub(super) struct SyncedNote {
    file: File,
}

impl SyncedNote {
    /// The number that was noted; 0 if there is none.
    pub(super) fn read(directory: &Directory) -> Result<u64> {
        let path = directory.synced_note();
        match fs::read(&path) {
            Ok(bytes) => decode(&bytes).ok_or_else(|| unreadable(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(StoreError::io("cannot read", &path, error)),
        }
    }

    /// Opens the note, and writes the number of the last commit.
    pub(super) fn begin(directory: &Directory, number: u64) -> Result<Self> {
        let path = directory.synced_note();
        let mut options = private::file_options();
        let opened = options.write(true).create(true).truncate(false).open(&path);
        let note = opened.map(|file| SyncedNote { file });
        note.and_then(|note| note.try_write(number).map(|()| note))
            .map_err(|error| StoreError::io("cannot write", &path, error))
    }

    /// Notes that commits up to `number` are on the disk.
    pub(super) fn write(&self, number: u64) {
        // The commit is durable all the same; an older note only covers fewer commits.
        if let Err(error) = self.try_write(number) {
            tracing::debug!(%error, number, "the last commit could not be noted");
        }
    }

    fn try_write(&self, number: u64) -> io::Result<()> {
        write_at_start(&self.file, &encode(number))
    }
}

/// In one system call, because it is made for every group of commits.
#[cfg(unix)]
fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn write_at_start(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    io::Seek::rewind(&mut file)?;
    io::Write::write_all(&mut file, bytes)
}

fn encode(number: u64) -> Vec<u8> {
    let mut bytes = [MAGIC, number.to_be_bytes()].concat();
    bytes.extend(xxh3_64(&bytes).to_be_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<u64> {
    if bytes.iter().all(|byte| *byte == 0) && (bytes.is_empty() || bytes.len() == LEN) {
        return Some(0);
    }
    let number = u64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
    (encode(number) == bytes).then_some(number)
}

fn unreadable(path: &Path) -> StoreError {
    let path = path.display();
    let message = format!(
        "{path} is damaged at byte 0: it does not match its checksum. Affected: whether the newest writes are complete is \
         not known. {WAY_OUT}. If neither is possible, delete the file and run `trestle verify`"
    );
    StoreError::new(ErrorKind::Damaged, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_survives_its_encoding_and_no_flipped_bit() {
        let bytes = encode(7_000_000);
        assert_eq!(bytes.len(), LEN);
        assert_eq!(decode(&bytes), Some(7_000_000));
        for bit in 0..LEN * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&flipped), None);
        }
        for len in 1..LEN {
            assert_eq!(decode(&bytes[..len]), None);
        }
        assert_eq!(decode(&[]), Some(0));
        assert_eq!(decode(&[0; LEN]), Some(0));
    }
}
