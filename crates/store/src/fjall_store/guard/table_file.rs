//! A table: sections of blocks, each block with checksums of its head and of its bytes.
//!
//! ```text
//! block  "LSM" 03  type u8  checksum u128  stored length u32  length u32  checksum of the head u32  bytes
//! ```

use super::fault::Fault;
use super::sections::{Numbers, Section, SectionFile};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

const BLOCK_START: [u8; 4] = *b"LSM\x03";
const HEAD_LEN: u64 = 33;
/// The part of the head that its checksum covers.
const CHECKED_HEAD_LEN: usize = 29;

/// Read when a table is opened.
const OPENING: [&[u8]; 3] = [b"meta", b"tli", b"filter_tli"];
/// The one section that is not made of blocks.
const NO_BLOCKS: &[u8] = b"table_version";

/// Checks what is read when a table is opened: its sections, its description and the root of its index.
pub(super) fn check_ends(path: &Path) -> Result<(), Fault> {
    let file = SectionFile::open(path)?;
    file.section("meta")?;
    let opening = |section: &&Section| OPENING.contains(&section.name.as_slice());
    let mut sections = file.sections().iter().filter(opening);
    sections.try_for_each(|section| check_blocks(&file, section))
}

/// Checks every byte of a table.
pub(super) fn check_all(path: &Path, checksum: u128) -> Result<(), Fault> {
    if file_checksum(path)? == checksum {
        return Ok(());
    }
    // Reports whether the damage is in the rows, or in the parts that lead to them.
    let file = SectionFile::open(path)?;
    let mut blocks = file.sections().iter().filter(|section| section.name != NO_BLOCKS);
    blocks.try_for_each(|section| check_blocks(&file, section))?;
    Err(file.fault(0, "the file does not match its checksum"))
}

fn file_checksum(path: &Path) -> Result<u128, Fault> {
    const PIECE_BYTES: usize = 256 * 1024;
    let io = |error| Fault::io(path, error);
    let mut file = File::open(path).map_err(io)?;
    let (mut hash, mut piece) = (Xxh3::new(), vec![0; PIECE_BYTES]);
    loop {
        let len = file.read(&mut piece).map_err(io)?;
        if len == 0 {
            return Ok(hash.digest128());
        }
        hash.update(piece.get(..len).unwrap_or_default());
    }
}

fn check_blocks(file: &SectionFile, section: &Section) -> Result<(), Fault> {
    let end = section.offset.saturating_add(section.len);
    let mut offset = section.offset;
    while offset < end {
        offset = check_block(file, offset, end)?;
    }
    Ok(())
}

/// Returns the offset of the next block.
fn check_block(file: &SectionFile, offset: u64, end: u64) -> Result<u64, Fault> {
    let head = file.read(offset, HEAD_LEN)?;
    let unreadable = || file.fault(offset, "the head of a block does not match its checksum");
    let (checked, head_checksum) = head.split_at_checked(CHECKED_HEAD_LEN).ok_or_else(unreadable)?;
    let numbers = checked.strip_prefix(&BLOCK_START).ok_or_else(unreadable)?;
    let mut numbers = Numbers(numbers);
    let (_block_type, checksum, stored_len) =
        (|| Some((numbers.u8()?, numbers.u128()?, numbers.u32()?)))().ok_or_else(unreadable)?;
    // The engine stores the lower four bytes.
    let is_whole = head_checksum == (xxh3_128(checked) as u32).to_le_bytes();
    let next = offset + HEAD_LEN + u64::from(stored_len);
    if !is_whole || next > end {
        return Err(unreadable());
    }
    let bytes = file.read(offset + HEAD_LEN, u64::from(stored_len))?;
    if xxh3_128(&bytes) != checksum {
        return Err(file.fault(offset, "a block does not match its checksum"));
    }
    Ok(next)
}
