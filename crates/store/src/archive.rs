//! Everything a snapshot holds, as one stream of bytes that knows its own end: for backups.
//!
//! `docs/internals/format.md` has the layout. In short: a header, blocks of rows, an end. Every part carries a checksum that
//! also covers its position, so that parts that are damaged, missing, repeated or exchanged are noticed; the end
//! carries totals, so that a copy that was cut short is noticed, too.

mod error;
mod layout;
mod read;
mod write;

pub use error::{ArchiveError, Problem};
pub use layout::{ARCHIVE_VERSION, Header, ROWS_VERSION, Totals};
pub use read::{ArchiveReader, Row};
pub use write::write;

use crate::{Batch, Store};
use std::io::Read;

/// Bytes that one commit of a restore carries.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Reads the rest of an archive into a store, which should be empty.
pub fn read_into<R: Read>(reader: &mut ArchiveReader<R>, store: &dyn Store) -> Result<Totals, ArchiveError> {
    let mut batch = Batch::new();
    let mut bytes = 0;
    while let Some(row) = reader.next_row()? {
        bytes += row.key.len() + row.value.len();
        batch.put(row.space, row.key, row.value);
        if bytes >= BATCH_BYTES {
            store.commit(std::mem::take(&mut batch))?;
            bytes = 0;
        }
    }
    store.commit(batch)?;
    store.sync()?;
    Ok(reader.totals())
}

/// Reads an archive to its end and keeps nothing: whether it is whole.
pub fn check(archive: impl Read) -> Result<Totals, ArchiveError> {
    let mut reader = ArchiveReader::open(archive)?;
    while reader.next_row()?.is_some() {}
    Ok(reader.totals())
}
