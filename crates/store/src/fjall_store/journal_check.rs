//! Checks the journals before the engine replays them.
//!
//! The engine truncates a journal at the first unreadable record, wherever that is, and refuses to open when
//! a record is readable but does not match its checksum. Neither is right in general:
//!
//! - **The last batch is torn**: a crash interrupted it, and it was never acknowledged. It is cut off, its
//!   bytes are kept in a file beside the data.
//! - **Anything else is damage**: acknowledged batches follow it or are missing. The directory is not opened,
//!   unless [`OnDamage::CutJournal`] says that the loss is accepted.
//!
//! What tells them apart is the [`CommitRow`] in each batch. A complete later batch that says "everything up
//! to here was already on the disk" proves that the broken one had been written completely.

use super::commit_row::CommitRow;
use super::directory::{Directory, sync_folder};
use super::guard::WAY_OUT;
use super::journal::{COMMIT_NUMBER_END, JournalBatch, NoBatch, TAG_START, read_batch};
use super::second_names;
use crate::{ErrorKind, OnDamage, Result, StoreError, private};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Unused parts of a journal look like this.
const ZEROS: [u8; 16 * 1024] = [0; 16 * 1024];

/// The commits that the journals hold, from the first to the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct JournalledCommits {
    pub(super) first: CommitRow,
    pub(super) last: CommitRow,
}

/// Checks every journal and repairs a torn end. Returns the range of commits in them, if any. Commits up to
/// `synced` were acknowledged.
pub(super) fn check(
    directory: &Directory,
    on_damage: OnDamage,
    synced: u64,
) -> Result<Option<JournalledCommits>> {
    let journals = directory.journals()?;
    let mut seen = Seen::default();
    for (position, path) in journals.iter().enumerate() {
        let Some(fault) = find_fault(path, &mut seen)? else {
            continue;
        };
        let later_journals = journals.get(position + 1..).unwrap_or_default();
        let is_torn_end = later_journals.is_empty()
            && fault.may_be_torn
            && !is_acknowledged(path, &fault, seen.last, synced)?
            && !is_proven_whole(path, &fault, seen.last)?;
        if !is_torn_end && on_damage == OnDamage::Refuse {
            return Err(refuse(path, &fault));
        }
        // The later journals are removed first: if this is interrupted, the fault is still there to be found.
        for later in later_journals.iter().rev() {
            cut(directory, later, 0, "it follows a damaged journal")?;
        }
        cut(directory, path, fault.offset, fault.reason)?;
        break;
    }
    if let Some(path) = journals.last()
        && seen.last.is_some()
        && seen.last_number() < synced
    {
        return Err(refuse_early_end(path, seen.last_number(), synced)?);
    }
    let commits = |(first, last): (JournalBatch, JournalBatch)| JournalledCommits {
        first: first.commit,
        last: last.commit,
    };
    Ok(seen.first.zip(seen.last).map(commits))
}

/// The batches read so far, over all journals.
#[derive(Default)]
struct Seen {
    first: Option<JournalBatch>,
    last: Option<JournalBatch>,
}

impl Seen {
    fn last_number(&self) -> u64 {
        self.last.map_or(0, |last| last.commit.number)
    }
}

/// The place where a journal cannot be read on.
struct Fault {
    offset: u64,
    reason: &'static str,
    /// Whether an interrupted write can look like this.
    may_be_torn: bool,
}

/// Reads one journal and notes its batches.
fn find_fault(path: &Path, seen: &mut Seen) -> Result<Option<Fault>> {
    let cannot_read = |error| StoreError::io("cannot read", path, error);
    let mut reader = BufReader::with_capacity(64 * 1024, File::open(path).map_err(cannot_read)?);
    let mut offset = 0;
    loop {
        let fault = |reason, may_be_torn| {
            Ok(Some(Fault {
                offset,
                reason,
                may_be_torn,
            }))
        };
        match read_batch(&mut reader) {
            Ok(batch) if follows(seen.last, batch) => {
                seen.first = seen.first.or(Some(batch));
                seen.last = Some(batch);
                offset += batch.len;
            }
            Ok(_) => return fault("the batch here is not the one after its predecessor", false),
            Err(NoBatch::End) => return Ok(None),
            Err(NoBatch::Unused) => {
                let only_zeros = only_zeros(&mut reader).map_err(cannot_read)?;
                return if only_zeros {
                    Ok(None)
                } else {
                    fault("zeros where a batch should start", true)
                };
            }
            Err(NoBatch::Broken(reason)) => return fault(reason, true),
            Err(NoBatch::Io(error)) => return Err(cannot_read(error)),
        }
    }
}

/// The commit numbers have no gaps. The engine's numbers only grow, and never have the highest bit set.
fn follows(last: Option<JournalBatch>, batch: JournalBatch) -> bool {
    let is_next = |last: JournalBatch| {
        last.commit.number.checked_add(1) == Some(batch.commit.number) && last.sequence < batch.sequence
    };
    batch.sequence >> 63 == 0 && last.is_none_or(is_next)
}

/// Compares whole pieces: a new journal is 64 MB of zeros, read at every opening.
fn only_zeros(reader: &mut impl Read) -> io::Result<bool> {
    let mut piece = [0; ZEROS.len()];
    loop {
        let len = reader.read(&mut piece)?;
        if len == 0 || piece.get(..len) != ZEROS.get(..len) {
            return Ok(len == 0);
        }
    }
}

/// Whether the broken batch is one that was acknowledged.
fn is_acknowledged(path: &Path, fault: &Fault, last: Option<JournalBatch>, synced: u64) -> Result<bool> {
    if let Some(last) = last {
        return Ok(last.commit.number < synced);
    }
    // Without a batch before it, only the batch itself gives its number. A batch without its beginning counts
    // as torn; whether the tables lack acknowledged commits is checked later.
    let mut beginning = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(fault.offset))?;
        file.take(COMMIT_NUMBER_END as u64).read_to_end(&mut beginning)
    });
    read.map_err(|error| StoreError::io("cannot read", path, error))?;
    let number = beginning
        .last_chunk::<8>()
        .filter(|_| beginning.len() == COMMIT_NUMBER_END);
    let number = number.map_or(0, |number| u64::from_be_bytes(*number));
    Ok(number != 0 && number <= synced)
}

/// Whether something after the fault proves that the broken batch had been on the disk.
fn is_proven_whole(path: &Path, fault: &Fault, last: Option<JournalBatch>) -> Result<bool> {
    let rest = read_from(path, fault.offset).map_err(|error| StoreError::io("cannot read", path, error))?;
    // Without a batch before it, the broken batch may have any number: then every complete batch after it is
    // a proof.
    let broken = last.map_or(0, |last| last.commit.number.saturating_add(1));
    // A stored value can be crafted to look like thousands of batches. Beyond this limit the answer is "yes",
    // which is the safe one.
    let mut work_left = rest.len().saturating_mul(16).saturating_add(1 << 20);
    let mut later = rest.get(1..).unwrap_or_default();
    while let Some(skipped) = later.iter().position(|byte| *byte == TAG_START) {
        let candidate = later.get(skipped..).unwrap_or_default();
        let mut unread = candidate;
        let found = read_batch(&mut unread);
        let Some(left) = work_left.checked_sub(candidate.len() - unread.len()) else {
            return Ok(true);
        };
        work_left = left;
        if found.is_ok_and(|batch| batch.commit.number > broken && batch.commit.synced >= broken) {
            return Ok(true);
        }
        later = candidate.get(1..).unwrap_or_default();
    }
    Ok(false)
}

/// Everything after `offset` without the unused zeros at the end.
fn read_from(path: &Path, offset: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    while rest.ends_with(&ZEROS) {
        rest.truncate(rest.len() - ZEROS.len());
    }
    let len = rest
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    rest.truncate(len);
    Ok(rest)
}

/// Moves everything from `offset` on out of the journal, into a file beside the data.
fn cut(directory: &Directory, path: &Path, offset: u64, reason: &str) -> Result<()> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let aside = directory.set_aside_file(&name, offset);
    let bytes = copy_rest(directory, path, offset, &aside)
        .map_err(|error| StoreError::io("cannot keep the damaged bytes in", &aside, error))?;
    if offset == 0 {
        // Its second name refers to a batch that is removed.
        second_names::forget(directory, path)
            .map_err(|error| StoreError::io("cannot remove the second name of", path, error))?;
    }
    truncate(path, offset).map_err(|error| StoreError::io("cannot truncate", path, error))?;
    tracing::warn!(
        journal = %path.display(), offset, bytes, reason, kept_in = %aside.display(),
        "cut the end of the journal"
    );
    Ok(())
}

/// Returns the number of bytes.
fn copy_rest(directory: &Directory, path: &Path, offset: u64, aside: &Path) -> io::Result<usize> {
    let rest = read_from(path, offset)?;
    let mut file = private::file_options().write(true).create_new(true).open(aside)?;
    file.write_all(&rest)?;
    file.sync_all()?;
    sync_folder(directory.root())?;
    Ok(rest.len())
}

fn truncate(path: &Path, offset: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(offset)?;
    file.sync_all()
}

fn refuse(path: &Path, fault: &Fault) -> StoreError {
    let (path, Fault { offset, reason, .. }) = (path.display(), fault);
    let message = format!(
        "journal {path} is damaged at byte {offset}: {reason}. Affected: acknowledged writes from there on. {WAY_OUT}, also \
         how to give up the writes after that point"
    );
    StoreError::new(ErrorKind::Damaged, message)
}

/// The journals end with a complete batch, but not with the last acknowledged one.
fn refuse_early_end(path: &Path, last: u64, synced: u64) -> Result<StoreError> {
    let len = std::fs::metadata(path)
        .map_err(|error| StoreError::io("cannot read", path, error))?
        .len();
    let path = path.display();
    let message = format!(
        "journal {path}, {len} bytes long, ends with commit {last}, but commit {synced} was acknowledged: the end of the \
         journal or a newer journal is missing. Affected: the newest writes. {WAY_OUT}, also how to give those writes up"
    );
    Ok(StoreError::new(ErrorKind::Damaged, message))
}
