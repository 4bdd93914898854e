//! The row that every batch carries: its number, and how far the journal was safe when it was written.

/// Kept in the engine's `system` keyspace under [`CommitRow::KEY`], as two big-endian numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CommitRow {
    /// 1 for the first batch of the directory, then one more each time, without gaps.
    pub(super) number: u64,
    /// Batches up to this one were on the disk before this one was written. So a complete later batch proves
    /// that damage to an earlier one was not caused by a crash.
    pub(super) synced: u64,
}

impl CommitRow {
    pub(super) const KEY: &'static [u8] = b"commit";
    pub(super) const LEN: usize = 16;

    pub(super) fn encode(self) -> [u8; Self::LEN] {
        let joined = (u128::from(self.number) << 64) | u128::from(self.synced);
        joined.to_be_bytes()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let joined = u128::from_be_bytes(bytes.try_into().ok()?);
        Some(CommitRow {
            number: (joined >> 64) as u64,
            synced: joined as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_row_survives_its_encoding() {
        let row = CommitRow {
            number: 0x0102_0304,
            synced: u64::MAX,
        };
        assert_eq!(
            row.encode(),
            *b"\0\0\0\0\x01\x02\x03\x04\xff\xff\xff\xff\xff\xff\xff\xff"
        );
        assert_eq!(CommitRow::decode(&row.encode()), Some(row));
        assert_eq!(CommitRow::decode(b"short"), None);
    }
}
