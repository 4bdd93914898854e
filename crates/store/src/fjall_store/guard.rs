//! Checks the engine's files before the engine opens them.
//!
//! A keyspace's file `current` names a version file and carries its checksum; the version file names the
//! tables and carries theirs. When the engine opens, it compares neither checksum and deletes every table
//! that is not named. So a single flipped bit could select an older version and lose rows permanently.
//! [`check`] compares first, and nothing is opened, cut or deleted before it has passed.
//!
//! At a start, only the parts of each table are read that the engine reads then, too; every other block is
//! checked against its own checksum when it is read. [`FileCheck::Everything`] reads all of them.

mod fault;
mod sections;
mod table_file;
mod version_file;

use super::directory::Directory;
use super::keyspaces;
use crate::{ErrorKind, FileCheck, Result, Space, StoreError};
pub(super) use fault::WAY_OUT;

use fault::Fault;
use std::path::{Path, PathBuf};
use version_file::Version;

/// The engine's own format version, as a file of the same name holds it.
const ENGINE_VERSION: [u8; 4] = *b"FJL\x03";

/// Refuses a directory whose files do not select what was written.
pub(super) fn check(directory: &Directory, file_check: FileCheck) -> Result<()> {
    let engine = directory.engine();
    check_engine_version(&engine).map_err(|fault| fault.into_error("all data"))?;
    for folder in keyspaces::FOLDERS {
        let file_check = match Owner::of(folder) {
            // Small, and read while the engine opens.
            Owner::Engine | Owner::Store => FileCheck::Everything,
            Owner::Space(_) => file_check,
        };
        check_keyspace(&engine, folder, file_check)?;
    }
    Ok(())
}

/// The engine could not open, and does not name the file that is the reason.
pub(super) fn name_file(directory: &Directory, error: StoreError) -> StoreError {
    if error.kind() != ErrorKind::Damaged {
        return error;
    }
    check(directory, FileCheck::Everything).err().unwrap_or(error)
}

/// What is wrong with the tables of a space, or of all spaces, while the engine is open.
pub(super) fn find_damage(engine: &Path, space: Option<Space>) -> Option<StoreError> {
    let folders = match space {
        Some(space) => keyspaces::folder_of(space)..=keyspaces::folder_of(space),
        None => keyspaces::FOLDERS,
    };
    let mut found = folders.filter_map(|folder| check_live_keyspace(engine, folder).err());
    found.next()
}

/// Tables disappear while the engine merges them; then a newer version no longer names them.
fn check_live_keyspace(engine: &Path, folder: u64) -> Result<()> {
    let attempt = || check_keyspace(engine, folder, FileCheck::Everything);
    attempt().or_else(|_| attempt())
}

fn check_keyspace(engine: &Path, folder: u64, file_check: FileCheck) -> Result<()> {
    let path = engine.join("keyspaces").join(folder.to_string());
    let check = || -> std::result::Result<(), Fault> {
        let version = Version::read(&path)?;
        version.tables.iter().try_for_each(|table| match file_check {
            FileCheck::Opening => table_file::check_ends(&table.path),
            FileCheck::Everything => table_file::check_all(&table.path, table.checksum),
        })
    };
    check().map_err(|fault| fault.into_error(&Owner::of(folder).to_string()))
}

fn check_engine_version(engine: &Path) -> std::result::Result<(), Fault> {
    let path: PathBuf = engine.join("version");
    let bytes = std::fs::read(&path).map_err(|error| Fault::io(&path, error))?;
    if bytes != ENGINE_VERSION {
        return Err(Fault::at(
            &path,
            0,
            "it does not hold the version of the storage engine",
        ));
    }
    Ok(())
}

/// The space whose rows a folder of the engine holds.
#[derive(Clone, Copy)]
enum Owner {
    Engine,
    Store,
    Space(Space),
}

impl Owner {
    fn of(folder: u64) -> Self {
        let space = |position: u64| Space::ALL.get(usize::try_from(position).ok()?).copied();
        match folder.checked_sub(keyspaces::SYSTEM_ID) {
            None => Owner::Engine,
            Some(0) => Owner::Store,
            Some(position) => space(position - 1).map_or(Owner::Engine, Owner::Space),
        }
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Owner::Engine => f.write_str("all data (the catalogue of the storage engine)"),
            Owner::Store => f.write_str("all data (the number of the last commit)"),
            Owner::Space(space) => write!(f, "space {space} ({})", contents(*space)),
        }
    }
}

/// The rows of a space in words for messages.
fn contents(space: Space) -> &'static str {
    match space {
        Space::Meta => "definitions of tables, models and settings",
        Space::Items => "items of all tables",
        Space::Index => "rows of secondary indexes",
        Space::Changes => "records of streams",
        Space::Expiry => "times at which items expire",
    }
}
