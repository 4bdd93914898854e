//! The bytes of an archive. All numbers are big-endian.

use crate::{KEY_BYTES_MAX, Space, VALUE_BYTES_MAX};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The version of the archive's own layout.
pub const ARCHIVE_VERSION: u32 = 1;

/// The version of the rows inside: that of the data directory they come from, as its file `FORMAT` gives it.
pub const ROWS_VERSION: u32 = 1;

/// The line ending shows at once when a transfer translated line ends.
pub(super) const MAGIC: [u8; 16] = *b"trestle backup\r\n";

pub(super) const HEADER_LEN: usize = 40;
pub(super) const BLOCK_HEAD_LEN: usize = 12;
pub(super) const CHECKSUM_LEN: usize = 8;
pub(super) const TOTALS_LEN: usize = 8 * (Space::COUNT + 1);

/// Bytes of rows after which a block is full.
pub(super) const BLOCK_BYTES: usize = 256 * 1024;
/// A block that lacks one byte to be full, and the largest row.
pub(super) const BLOCK_BYTES_MAX: usize = BLOCK_BYTES + ROW_HEAD_LEN + KEY_BYTES_MAX + VALUE_BYTES_MAX;
pub(super) const ROW_HEAD_LEN: usize = 6;

/// What an archive says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// When the snapshot was taken, in milliseconds since 1970.
    pub taken_ms: u64,
}

impl Header {
    /// `magic(16) archive-version(4) rows-version(4) taken(8) checksum(8)`.
    pub(super) fn encode(self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        let versions = [ARCHIVE_VERSION.to_be_bytes(), ROWS_VERSION.to_be_bytes()].concat();
        let taken = self.taken_ms.to_be_bytes();
        let plain = [&MAGIC[..], &versions, &taken].concat();
        let checksum = checksum(0, &plain).to_be_bytes();
        let bytes = plain.iter().chain(&checksum);
        out.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        out
    }
}

/// The size of an archive's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Rows of each space, in the order of [`Space::ALL`].
    pub rows: [u64; Space::COUNT],
    /// Bytes of all keys and values.
    pub bytes: u64,
}

impl Totals {
    pub(super) fn add(&mut self, space: Space, key: &[u8], value: &[u8]) {
        if let Some(rows) = self.rows.get_mut(space.index()) {
            *rows += 1;
        }
        self.bytes += (key.len() + value.len()) as u64;
    }

    /// `rows(8)` of each space, then `bytes(8)`.
    pub(super) fn encode(self) -> Vec<u8> {
        let numbers = self.rows.iter().chain([&self.bytes]);
        numbers.flat_map(|number| number.to_be_bytes()).collect()
    }

    /// Rows of all spaces.
    pub fn all_rows(&self) -> u64 {
        self.rows.iter().sum()
    }
}

/// The head of a block: `kind(1) space(1) zero(2) rows(4) length(4)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockHead {
    Rows {
        space: Space,
        rows: u32,
        length: u32,
    },
    /// The last block, which has the totals.
    End,
}

const ROWS: u8 = 1;
const END: u8 = 2;

impl BlockHead {
    pub(super) fn encode(self) -> Vec<u8> {
        let (kind, space, rows, length) = match self {
            BlockHead::Rows { space, rows, length } => (ROWS, space.index() as u8, rows, length),
            BlockHead::End => (END, 0, 0, TOTALS_LEN as u32),
        };
        let mut out = vec![kind, space, 0, 0];
        out.extend_from_slice(&rows.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out
    }

    /// The head, if it is one that [`BlockHead::encode`] writes.
    pub(super) fn decode(bytes: &[u8; BLOCK_HEAD_LEN]) -> Option<Self> {
        let (&[kind, space, _, _], numbers) = bytes.split_first_chunk()?;
        let (rows, length) = numbers.split_first_chunk::<4>()?;
        let rows = u32::from_be_bytes(*rows);
        let length = u32::from_be_bytes(length.try_into().ok()?);
        let head = match kind {
            ROWS => BlockHead::Rows {
                space: *Space::ALL.get(usize::from(space))?,
                rows,
                length,
            },
            END => BlockHead::End,
            _ => return None,
        };
        let is_possible = length as usize <= BLOCK_BYTES_MAX && head.encode() == bytes;
        is_possible.then_some(head)
    }

    pub(super) fn length(self) -> usize {
        match self {
            BlockHead::Rows { length, .. } => length as usize,
            BlockHead::End => TOTALS_LEN,
        }
    }
}

/// The checksum of the part at this position: the header is 0, the blocks follow.
pub(super) fn checksum(position: u64, bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, position)
}
