//! The size of the blocks in table files.

use crate::{ErrorKind, Result, StoreError};
use std::fmt;

const KIB: u32 = 1024;

/// About how many bytes of rows lie in one block of a table, before compression. A block is what is read from the disk at once.
///
/// Chosen when a directory is created; it applies to items and indexes. Small blocks suit reads of single
/// rows. With large blocks, ranges read fewer blocks, the indexes of tables and the files are smaller, and
/// neighbouring rows are more often in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockSize {
    bytes: u32,
}

impl BlockSize {
    /// The sizes to choose from, in KiB.
    pub const CHOICES_KIB: [u32; 5] = [4, 8, 16, 32, 64];

    /// One of [`BlockSize::CHOICES_KIB`].
    pub fn from_kib(kib: u32) -> Result<Self> {
        if !Self::CHOICES_KIB.contains(&kib) {
            let message = format!("blocks cannot have {kib} KiB; choose 4, 8, 16, 32 or 64");
            return Err(StoreError::new(ErrorKind::Invalid, message));
        }
        Ok(BlockSize { bytes: kib * KIB })
    }

    /// The size as the directory has it stored.
    pub(crate) fn from_bytes(bytes: u32) -> Self {
        BlockSize { bytes }
    }

    pub(crate) fn bytes(self) -> u32 {
        self.bytes
    }

    /// The size in KiB.
    #[must_use]
    pub fn kib(self) -> u32 {
        self.bytes / KIB
    }
}

impl Default for BlockSize {
    /// See `docs/operate/benchmarks.md`, "Sizes of blocks".
    fn default() -> Self {
        BlockSize { bytes: 8 * KIB }
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} KiB", self.kib())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_no_choice_is_refused_with_those_that_are() {
        for kib in BlockSize::CHOICES_KIB {
            assert_eq!(BlockSize::from_kib(kib).unwrap().kib(), kib);
        }
        for kib in [0, 1, 12, 128, u32::MAX] {
            let refused = BlockSize::from_kib(kib).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid);
            assert!(refused.to_string().contains("4, 8, 16, 32 or 64"), "{refused}");
        }
    }
}
