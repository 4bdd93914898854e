//! Leaves out of the journal a batch whose write failed.

use super::directory::{Directory, sync_folder};
use super::journal::read_batch;
use super::second_names;
use crate::{Result, StoreError, private};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Journals without the batches after a given one and without half batches, ready to replace the old ones.
///
/// They are new files for two reasons. The engine keeps bytes that it could not write, and may write them to
/// the old file while it closes. And where the disk did not confirm bytes, the system may treat them as
/// written although they are not.
///
/// They are written while the engine is open, because that needs space and may fail; reads then continue.
pub(super) struct RewrittenJournals {
    /// The newest first.
    journals: Vec<Rewritten>,
}

struct Rewritten {
    old: PathBuf,
    new: PathBuf,
    len: u64,
}

impl RewrittenJournals {
    /// Writes the part to keep of journals that end with batch `last`.
    pub(super) fn up_to(directory: &Directory, last: u64) -> Result<Self> {
        let mut journals = Vec::new();
        for old in directory.journals()?.into_iter().rev() {
            let new = directory.new_journal(journals.len());
            let mut journal = Rewritten { old, new, len: 0 };
            journal
                .write(last)
                .map_err(|error| StoreError::io("cannot write the journal anew as", &journal.new, error))?;
            let is_oldest_changed = journal.len > 0;
            journals.push(journal);
            if is_oldest_changed {
                break;
            }
        }
        Ok(RewrittenJournals { journals })
    }

    /// The size of the largest.
    pub(super) fn len(&self) -> u64 {
        let lens = self.journals.iter().map(|journal| journal.len);
        lens.max().unwrap_or_default()
    }

    /// The engine is closed.
    pub(super) fn take_their_places(&self, directory: &Directory) -> Result<()> {
        for journal in &self.journals {
            journal
                .take_its_place(directory)
                .map_err(|error| StoreError::io("cannot replace the journal", &journal.old, error))?;
        }
        Ok(())
    }
}

impl Rewritten {
    fn write(&mut self, last: u64) -> io::Result<()> {
        self.len = bytes_up_to(&self.old, last)?;
        let mut file = private::create(&self.new)?;
        io::copy(&mut File::open(&self.old)?.take(self.len), &mut file)?;
        file.sync_all()
    }

    fn take_its_place(&self, directory: &Directory) -> io::Result<()> {
        second_names::forget(directory, &self.old)?;
        fs::rename(&self.new, &self.old)?;
        sync_folder(&directory.engine())?;
        sync_folder(directory.root())
    }
}

impl Drop for Rewritten {
    /// A file that was not used takes up space, perhaps on a full disk.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.new);
    }
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
