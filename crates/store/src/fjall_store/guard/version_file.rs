//! Which tables a keyspace consists of.
//!
//! ```text
//! current   version u64  checksum of the version file u128  00
//! v<N>      sections; `tables`: levels u8 { runs u8 { tables u32 { id u64  00  checksum u128  sequence u64 }… }… }…
//! ```
//!
//! The engine writes a version file and syncs it before it renames `current` into place, so the two match at any moment
//! at which the process or the power can end.

use super::fault::Fault;
use super::sections::{Numbers, SectionFile};
use std::fs;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// XXH3.
const CHECKSUM_TYPE: u8 = 0;

/// The tables that `current` selects.
pub(super) struct Version {
    pub(super) tables: Vec<TableEntry>,
}

/// A table as its version file names it.
pub(super) struct TableEntry {
    pub(super) path: PathBuf,
    /// Over the whole file.
    pub(super) checksum: u128,
}

impl Version {
    /// Reads the version that the keyspace in `folder` selects, and compares it with its checksum.
    pub(super) fn read(folder: &Path) -> Result<Self, Fault> {
        let current = folder.join("current");
        let selected = Selection::read(&current)?;
        let path = folder.join(format!("v{}", selected.version));
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let reason = format!("it selects {}, which does not exist", path.display());
                return Err(Fault::at(&current, 0, reason));
            }
            Err(error) => return Err(Fault::io(&path, error)),
        };
        if xxh3_128(&bytes) != selected.checksum {
            let reason = format!(
                "it does not match {}: one of the two files is damaged",
                path.display()
            );
            return Err(Fault::at(&current, 0, reason));
        }
        Self::parse(&path, &folder.join("tables"))
    }

    fn parse(path: &Path, tables: &Path) -> Result<Self, Fault> {
        let file = SectionFile::open(path)?;
        let section = file.section("tables")?;
        let bytes = file.read(section.offset, section.len)?;
        let entries = parse_tables(&bytes, tables);
        let tables = entries.ok_or_else(|| file.fault(section.offset, "the list of tables is unreadable"))?;
        Ok(Version { tables })
    }
}

/// What `current` says.
struct Selection {
    version: u64,
    checksum: u128,
}

impl Selection {
    fn read(path: &Path) -> Result<Self, Fault> {
        let bytes = fs::read(path).map_err(|error| Fault::io(path, error))?;
        let mut numbers = Numbers(&bytes);
        let parsed = (|| {
            let selection = Selection {
                version: numbers.u64()?,
                checksum: numbers.u128()?,
            };
            (numbers.u8()? == CHECKSUM_TYPE && numbers.is_empty()).then_some(selection)
        })();
        parsed.ok_or_else(|| Fault::at(path, 0, "it does not hold a version and its checksum"))
    }
}

fn parse_tables(bytes: &[u8], folder: &Path) -> Option<Vec<TableEntry>> {
    let mut numbers = Numbers(bytes);
    let mut tables = Vec::new();
    for _level in 0..numbers.u8()? {
        for _run in 0..numbers.u8()? {
            for _table in 0..numbers.u32()? {
                let id = numbers.u64()?;
                let checksum_type = numbers.u8()?;
                let checksum = numbers.u128()?;
                let _sequence = numbers.u64()?;
                if checksum_type != CHECKSUM_TYPE {
                    return None;
                }
                let path = folder.join(id.to_string());
                tables.push(TableEntry { path, checksum });
            }
        }
    }
    numbers.is_empty().then_some(tables)
}
