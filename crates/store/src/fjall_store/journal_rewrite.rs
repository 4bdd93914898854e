//! Leaves a batch out of the journal that failed to be written.

use super::directory::{Directory, sync_folder};
use super::journal::read_batch;
use super::second_names;
use crate::{Result, StoreError};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Removes every batch after number `last`, and half batches, from the end of the journals.
///
/// What stays is copied to a new file that takes the old one's place, for two reasons. A part of the closed engine may
/// still write to the old file once more, for it keeps bytes that it could not write. And where the disk refused to
/// confirm bytes, the system may take them for written although they are not.
pub(super) fn keep_up_to(directory: &Directory, last: u64) -> Result<()> {
    for path in directory.journals()?.iter().rev() {
        let kept = replace(directory, path, last)
            .map_err(|error| StoreError::io("cannot write the journal anew:", path, error))?;
        if kept > 0 {
            break;
        }
    }
    Ok(())
}

/// Returns how many bytes of the journal were kept.
fn replace(directory: &Directory, path: &Path, last: u64) -> io::Result<u64> {
    let kept = bytes_up_to(path, last)?;
    let new = directory.new_journal();
    let mut file = File::create(&new)?;
    io::copy(&mut File::open(path)?.take(kept), &mut file)?;
    file.sync_all()?;
    second_names::forget(directory, path)?;
    fs::rename(&new, path)?;
    sync_folder(&directory.engine())?;
    sync_folder(directory.root())?;
    Ok(kept)
}

fn bytes_up_to(path: &Path, last: u64) -> io::Result<u64> {
    let mut reader = BufReader::with_capacity(64 * 1024, File::open(path)?);
    let mut kept = 0;
    while let Ok(batch) = read_batch(&mut reader) {
        if batch.commit.number > last {
            break;
        }
        kept += batch.len;
    }
    Ok(kept)
}
