//! A second name for every journal, so that the loss of a journal's name is noticed.
//!
//! The engine deletes a journal when all its rows are in tables, at a moment that it chooses. Afterwards
//! nothing in the directory shows whether a journal was deleted or lost: tables do not say which commits they
//! hold. So each journal has a second name in the folder `journals` (a hard link: it takes no space). The
//! engine removes the first name only, and [`keep_up`] removes the second one some time later.
//!
//! A start that finds only the second name restores the first one ([`restore`]). If the engine had removed
//! it, the rows are written once more, each with the number that it had; that changes nothing, because every
//! later journal is there as well.
//!
//! The second name contains the journal's first commit and the engine's number of its first batch. Nothing
//! else protects that number: the batch has no predecessor in the journal, and the number is outside its
//! checksum.

use super::directory::Directory;
use super::guard::WAY_OUT;
use super::journal::{NoBatch, read_batch};
use crate::{ErrorKind, Result, StoreError, private};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// What a journal begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Beginning {
    commit: u64,
    sequence: u64,
}

/// A second name and what it contains.
struct SecondName {
    path: PathBuf,
    beginning: Beginning,
}

/// Restores the first names of journals, from the newest on: each must be followed by all later ones.
pub(super) fn restore(directory: &Directory) -> Result<()> {
    let names = second_names(directory).map_err(|error| cannot_read(directory, error))?;
    let present = present(directory)?;
    let newest = present.last().max(names.keys().next_back()).copied();
    let oldest = names.keys().next().copied();
    for journal in oldest
        .zip(newest)
        .map_or(0..0, |(oldest, newest)| oldest..newest + 1)
        .rev()
    {
        match names.get(&journal) {
            _ if present.contains(&journal) => {}
            Some(name) => give_back(directory, journal, name)?,
            None => break,
        }
    }
    Ok(())
}

fn give_back(directory: &Directory, journal: u64, name: &SecondName) -> Result<()> {
    let path = directory.journal(journal);
    fs::hard_link(&name.path, &path)
        .map_err(|error| StoreError::io("cannot give back the name", &path, error))?;
    tracing::info!(
        journal = %path.display(), second_name = %name.path.display(),
        "a journal had only its second name and is read again"
    );
    Ok(())
}

/// Refuses a journal whose beginning differs from its second name.
pub(super) fn check(directory: &Directory) -> Result<()> {
    let names = second_names(directory).map_err(|error| cannot_read(directory, error))?;
    for (journal, name) in names {
        let path = directory.journal(journal);
        let found = match beginning(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(StoreError::io("cannot read", &path, error)),
        };
        if found != Some(name.beginning) {
            return Err(refuse(&path, name.beginning));
        }
    }
    Ok(())
}

/// Names new journals, and removes the second names of those that the engine has removed. Only journals whose
/// beginning is known to survive a power cut get one: commits up to `synced`.
pub(super) fn keep_up(directory: &Directory, synced: u64) {
    if let Err(error) = try_to_keep_up(directory, synced) {
        // The file system may have no hard links. Journals are then as safe as the engine makes them.
        tracing::debug!(%error, "second names of journals are not up to date");
    }
}

fn try_to_keep_up(directory: &Directory, synced: u64) -> Result<()> {
    let cannot = |error| cannot_read(directory, error);
    private::create_folder(&directory.second_names()).map_err(cannot)?;
    let names = second_names(directory).map_err(cannot)?;
    let present = present(directory)?;
    // From the oldest on, so that at any moment all later ones of each remaining journal are there.
    for name in names.iter().filter(|(journal, _)| !present.contains(journal)) {
        fs::remove_file(&name.1.path).map_err(cannot)?;
    }
    for journal in present {
        let path = directory.journal(journal);
        match names.get(&journal) {
            Some(name) if is_same_file(&path, &name.path) => continue,
            Some(name) => fs::remove_file(&name.path).map_err(cannot)?,
            None => {}
        }
        if let Some(first) = beginning(&path)
            .map_err(cannot)?
            .filter(|first| first.commit <= synced)
        {
            let name = format!("{journal}-{}-{}.jnl", first.commit, first.sequence);
            fs::hard_link(&path, directory.second_names().join(name)).map_err(cannot)?;
        }
    }
    Ok(())
}

/// Another file is about to replace the journal.
pub(super) fn forget(directory: &Directory, journal: &Path) -> io::Result<()> {
    let names = second_names(directory)?;
    match journal_number(journal).and_then(|number| names.get(&number)) {
        Some(name) => fs::remove_file(&name.path),
        None => Ok(()),
    }
}

/// The journals that have their first name.
fn present(directory: &Directory) -> Result<BTreeSet<u64>> {
    let journals = directory.journals()?;
    Ok(journals.iter().filter_map(|path| journal_number(path)).collect())
}

fn journal_number(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// The second names by the numbers of their journals. Other files in the folder are left alone.
fn second_names(directory: &Directory) -> io::Result<BTreeMap<u64, SecondName>> {
    let mut names = BTreeMap::new();
    let entries = match fs::read_dir(directory.second_names()) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if let Some((journal, beginning)) = parse(&path) {
            names.insert(journal, SecondName { path, beginning });
        }
    }
    Ok(names)
}

/// `<journal>-<first commit>-<number of the first batch>.jnl`.
fn parse(path: &Path) -> Option<(u64, Beginning)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jnl")?;
    let mut numbers = name.split('-').map(|number| number.parse().ok());
    let (journal, commit, sequence) = (numbers.next()??, numbers.next()??, numbers.next()??);
    numbers
        .next()
        .is_none()
        .then_some((journal, Beginning { commit, sequence }))
}

/// What a journal begins with, if a whole batch is there.
fn beginning(path: &Path) -> io::Result<Option<Beginning>> {
    match read_batch(&mut BufReader::new(File::open(path)?)) {
        Ok(batch) => Ok(Some(Beginning {
            commit: batch.commit.number,
            sequence: batch.sequence,
        })),
        Err(NoBatch::Io(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    identity(one).is_some() && identity(one) == identity(other)
}

#[cfg(not(unix))]
fn is_same_file(_one: &Path, other: &Path) -> bool {
    other.exists()
}

fn cannot_read(directory: &Directory, error: io::Error) -> StoreError {
    StoreError::io(
        "cannot keep second names of journals in",
        &directory.second_names(),
        error,
    )
}

fn refuse(path: &Path, expected: Beginning) -> StoreError {
    let (path, Beginning { commit, sequence }) = (path.display(), expected);
    let message = format!(
        "journal {path} is damaged at byte 0: it does not begin with commit {commit}, written as number {sequence}. \
         Affected: acknowledged writes from there on. {WAY_OUT}"
    );
    StoreError::new(ErrorKind::Damaged, message)
}
