//! Reading an archive without trusting its bytes.

use super::layout::{
    ARCHIVE_VERSION, BLOCK_HEAD_LEN, BlockHead, CHECKSUM_LEN, HEADER_LEN, Header, MAGIC, ROW_HEAD_LEN,
    ROWS_VERSION, Totals, checksum,
};
use super::{ArchiveError, Problem};
use crate::Space;
use std::io::{self, Read};

/// One row of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The space it belongs to.
    pub space: Space,
    /// Its key.
    pub key: Vec<u8>,
    /// Its value.
    pub value: Vec<u8>,
}

/// Reads an archive row by row. A row is returned only after the checksum of its block matched; the archive
/// is known to be complete when [`ArchiveReader::next_row`] has returned `None`.
pub struct ArchiveReader<R> {
    input: R,
    header: Header,
    /// Bytes read.
    offset: u64,
    /// Of the next block.
    position: u64,
    block: Block,
    /// The row before, to check the order.
    last: Option<(Space, Vec<u8>)>,
    totals: Totals,
    is_over: bool,
}

/// A block whose checksum matches.
struct Block {
    space: Space,
    /// Where its rows begin in the archive.
    offset: u64,
    bytes: Vec<u8>,
    /// Where the next row begins in `bytes`.
    at: usize,
    rows_left: u32,
}

impl<R: Read> ArchiveReader<R> {
    /// Reads and checks the header.
    pub fn open(input: R) -> Result<Self, ArchiveError> {
        let mut reader = ArchiveReader {
            input,
            header: Header { taken_ms: 0 },
            offset: 0,
            position: 1,
            block: Block {
                space: Space::Meta,
                offset: 0,
                bytes: Vec::new(),
                at: 0,
                rows_left: 0,
            },
            last: None,
            totals: Totals::default(),
            is_over: false,
        };
        reader.read_header()?;
        Ok(reader)
    }

    /// What the archive says about itself.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Rows and bytes returned so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The next row, in the order of spaces and keys; `None` at the end of a complete archive.
    pub fn next_row(&mut self) -> Result<Option<Row>, ArchiveError> {
        while self.block.rows_left == 0 {
            if self.is_over {
                return Ok(None);
            }
            self.next_block()?;
        }
        let offset = self.block.offset + self.block.at as u64;
        let damaged = |problem| ArchiveError::damaged(offset, problem);
        let (key, value) = self.block.take_row().ok_or(damaged(Problem::Malformed))?;
        let space = self.block.space;
        let this = (space.index(), &key);
        let in_order = self
            .last
            .as_ref()
            .is_none_or(|(space, last)| (space.index(), last) < this);
        if !in_order || key.is_empty() {
            return Err(damaged(Problem::Order));
        }
        self.totals.add(space, &key, &value);
        self.last = Some((space, key.clone()));
        Ok(Some(Row { space, key, value }))
    }

    fn read_header(&mut self) -> Result<(), ArchiveError> {
        let bytes = self.read(HEADER_LEN)?;
        let damaged = |problem| ArchiveError::damaged(0, problem);
        let magic_length = MAGIC.len().min(bytes.len());
        if bytes.get(..magic_length) != MAGIC.get(..magic_length) {
            return Err(damaged(Problem::NotABackup));
        }
        if bytes.len() < HEADER_LEN {
            return Err(ArchiveError::damaged(bytes.len() as u64, Problem::CutShort));
        }
        let (plain, given) = bytes.split_at(HEADER_LEN - CHECKSUM_LEN);
        if checksum(0, plain).to_be_bytes() != given {
            return Err(damaged(Problem::Checksum));
        }
        let number =
            |at: usize| -> Option<u32> { Some(u32::from_be_bytes(plain.get(at..at + 4)?.try_into().ok()?)) };
        let (archive, rows) = number(16).zip(number(20)).ok_or(damaged(Problem::Malformed))?;
        if (archive, rows) != (ARCHIVE_VERSION, ROWS_VERSION) {
            return Err(ArchiveError::Version { archive, rows });
        }
        let taken = plain.get(24..32).and_then(|taken| taken.try_into().ok());
        self.header = Header {
            taken_ms: u64::from_be_bytes(taken.ok_or(damaged(Problem::Malformed))?),
        };
        Ok(())
    }

    fn next_block(&mut self) -> Result<(), ArchiveError> {
        if self.block.at != self.block.bytes.len() {
            let offset = self.block.offset + self.block.at as u64;
            return Err(ArchiveError::damaged(offset, Problem::Malformed));
        }
        let start = self.offset;
        let damaged = |problem| ArchiveError::damaged(start, problem);
        let bytes = self.read_exactly(BLOCK_HEAD_LEN)?;
        let head_bytes: &[u8; BLOCK_HEAD_LEN] = bytes
            .as_slice()
            .try_into()
            .map_err(|_| damaged(Problem::CutShort))?;
        let head = BlockHead::decode(head_bytes).ok_or(damaged(Problem::Malformed))?;
        let mut part = bytes;
        part.extend(self.read_exactly(head.length())?);
        let given = self.read_exactly(CHECKSUM_LEN)?;
        if checksum(self.position, &part).to_be_bytes() != *given {
            return Err(damaged(Problem::Checksum));
        }
        self.position += 1;
        match head {
            BlockHead::Rows { space, rows, .. } => {
                self.block = Block {
                    space,
                    offset: start,
                    bytes: part,
                    at: BLOCK_HEAD_LEN,
                    rows_left: rows,
                };
                if rows == 0 {
                    return Err(damaged(Problem::Malformed));
                }
                Ok(())
            }
            BlockHead::End => self.end(start, part.get(BLOCK_HEAD_LEN..).unwrap_or_default()),
        }
    }

    fn end(&mut self, start: u64, totals: &[u8]) -> Result<(), ArchiveError> {
        if totals != self.totals.encode() {
            return Err(ArchiveError::damaged(start, Problem::Totals));
        }
        if !self.read(1)?.is_empty() {
            return Err(ArchiveError::damaged(self.offset - 1, Problem::Trailing));
        }
        self.block.bytes.clear();
        self.block.at = 0;
        self.is_over = true;
        Ok(())
    }

    /// The next `length` bytes, or fewer at the end of the input. Allocates only as bytes arrive, so that a
    /// wrong length costs no memory.
    fn read(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.input.by_ref().take(length as u64).read_to_end(&mut bytes)?;
        self.offset += bytes.len() as u64;
        Ok(bytes)
    }

    fn read_exactly(&mut self, length: usize) -> Result<Vec<u8>, ArchiveError> {
        let bytes = self.read(length)?;
        if bytes.len() < length {
            return Err(ArchiveError::damaged(self.offset, Problem::CutShort));
        }
        Ok(bytes)
    }
}

impl Block {
    fn take_row(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        let rest = self.bytes.get(self.at..)?;
        let (key_length, after) = rest.split_first_chunk::<2>()?;
        let (value_length, after) = after.split_first_chunk::<4>()?;
        let key_length = usize::from(u16::from_be_bytes(*key_length));
        let value_length = usize::try_from(u32::from_be_bytes(*value_length)).ok()?;
        let (key, after) = after.split_at_checked(key_length)?;
        let value = after.get(..value_length)?;
        let row = (key.to_vec(), value.to_vec());
        self.at += ROW_HEAD_LEN + key_length + value_length;
        self.rows_left -= 1;
        Some(row)
    }
}
