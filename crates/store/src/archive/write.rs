//! Writing an archive.

use super::layout::{BLOCK_BYTES, BlockHead, Header, Totals, checksum};
use super::{ArchiveError, Problem};
use crate::{Direction, Snapshot, Space};
use std::io::Write;
use std::ops::Bound;

/// Writes everything that `snapshot` holds. Memory use does not grow with its size.
pub fn write(snapshot: &dyn Snapshot, header: Header, out: &mut dyn Write) -> Result<Totals, ArchiveError> {
    let mut archive = Writer {
        out,
        position: 1,
        block: Vec::with_capacity(BLOCK_BYTES),
        rows: 0,
        totals: Totals::default(),
    };
    archive.out.write_all(&header.encode())?;
    for space in Space::ALL {
        for row in snapshot.range(space, Bound::Unbounded, Bound::Unbounded, Direction::Forward) {
            let (key, value) = row?;
            archive.row(space, &key, &value)?;
        }
        archive.end_block(space)?;
    }
    let totals = archive.totals;
    archive.part(BlockHead::End, &totals.encode())?;
    archive.out.flush()?;
    Ok(totals)
}

struct Writer<'w> {
    out: &'w mut dyn Write,
    /// Of the next block; part of its checksum.
    position: u64,
    /// Rows of the block that is being filled.
    block: Vec<u8>,
    rows: u32,
    totals: Totals,
}

impl Writer<'_> {
    /// `key-length(2) value-length(4) key value`.
    fn row(&mut self, space: Space, key: &[u8], value: &[u8]) -> Result<(), ArchiveError> {
        // The store's own limits make both fit.
        let unfit = |_| ArchiveError::damaged(0, Problem::Malformed);
        let key_length = u16::try_from(key.len()).map_err(unfit)?;
        let value_length = u32::try_from(value.len()).map_err(unfit)?;
        self.block.extend_from_slice(&key_length.to_be_bytes());
        self.block.extend_from_slice(&value_length.to_be_bytes());
        self.block.extend_from_slice(key);
        self.block.extend_from_slice(value);
        self.rows += 1;
        self.totals.add(space, key, value);
        if self.block.len() >= BLOCK_BYTES {
            self.end_block(space)?;
        }
        Ok(())
    }

    fn end_block(&mut self, space: Space) -> Result<(), ArchiveError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut block = std::mem::take(&mut self.block);
        let head = BlockHead::Rows {
            space,
            rows: self.rows,
            // Fits: a full block and one row are far below 4 GiB.
            length: block.len() as u32,
        };
        self.part(head, &block)?;
        block.clear();
        self.block = block;
        self.rows = 0;
        Ok(())
    }

    fn part(&mut self, head: BlockHead, bytes: &[u8]) -> Result<(), ArchiveError> {
        let mut part = head.encode();
        part.extend_from_slice(bytes);
        let checksum = checksum(self.position, &part);
        part.extend_from_slice(&checksum.to_be_bytes());
        self.out.write_all(&part)?;
        self.position += 1;
        Ok(())
    }
}
