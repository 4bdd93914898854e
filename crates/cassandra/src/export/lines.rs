//! Reads a file line by line, with a limit on the length of a line.

use std::io::{self, BufRead, Read};

/// The maximum size of a record. An item has 400 KB; its text in an export can be a few times as long.
pub(super) const RECORD_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Reads a line with its end into `line`; `false` at the end of the file.
pub(super) fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    let room = RECORD_BYTES_MAX.saturating_sub(line.len()) as u64 + 1;
    let read = input.take(room).read_until(b'\n', line)?;
    if line.len() > RECORD_BYTES_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a record is longer than 16 MB; if it is CSV, a quote before it is never closed",
        ));
    }
    Ok(read > 0)
}
