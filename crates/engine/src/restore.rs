//! Restores a backup into a data directory. It is built under a temporary name and renamed when it is
//! complete.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use trestle_store::archive::{self, ArchiveError, ArchiveReader, Totals};
use trestle_store::{BlockSize, Durability, FjallStore, Settings};

/// Why a directory could not be restored. Nothing is left at its path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// Something is there already.
    #[error("{0} is not empty; restore into a directory that is new or empty")]
    NotEmpty(PathBuf),
    /// The backup cannot be read, or the new directory cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// An operation on a file failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation.
        doing: &'static str,
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Restores a backup into a data directory, which must be new or empty; it gets its name when everything is
/// written and synced. Its blocks have this size or the default one.
/// [`verify_directory`](crate::verify_directory) checks the restored data.
pub fn restore(
    backup: impl Read,
    directory: &Path,
    block_size: Option<BlockSize>,
) -> Result<Totals, RestoreError> {
    // A file that is not a backup is refused before anything is created.
    let mut reader = ArchiveReader::open(backup)?;
    let target = Target::prepare(directory)?;
    let built = build(&mut reader, &target.building, block_size);
    let renamed = built.and_then(|totals| target.rename().map(|()| totals));
    if renamed.is_err()
        && let Err(error) = fs::remove_dir_all(&target.building)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %target.building.display(), %error, "could not remove a half restored directory");
    }
    renamed
}

fn build<R: Read>(
    reader: &mut ArchiveReader<R>,
    directory: &Path,
    block_size: Option<BlockSize>,
) -> Result<Totals, RestoreError> {
    let settings = Settings {
        // Synced once at the end: nothing depends on it before that.
        durability: Durability::Buffered,
        block_size,
        ..Settings::default()
    };
    let store = FjallStore::open(directory, settings).map_err(ArchiveError::from)?;
    Ok(archive::read_into(reader, &store)?)
}

/// The path of the new directory, and the path at which it is built.
struct Target {
    directory: PathBuf,
    building: PathBuf,
}

impl Target {
    fn prepare(directory: &Path) -> Result<Self, RestoreError> {
        let is_empty = fs::read_dir(directory).map(|mut entries| entries.next().is_none());
        let directory = match is_empty {
            Ok(false) => return Err(RestoreError::NotEmpty(directory.to_path_buf())),
            // The full path also for `.`, which cannot be renamed by that name.
            Ok(true) => fs::canonicalize(directory).map_err(failed("find", directory))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => directory.to_path_buf(),
            Err(error) => return Err(failed("use", directory)(error)),
        };
        let name = directory.file_name().ok_or_else(|| {
            failed("use", &directory)(io::Error::new(io::ErrorKind::InvalidInput, "it has no name"))
        })?;
        let name = format!(".{}.restoring-{}", name.to_string_lossy(), std::process::id());
        let parent = parent(&directory);
        fs::create_dir_all(parent).map_err(failed("create", parent))?;
        let building = parent.join(name);
        Ok(Target { directory, building })
    }

    fn rename(&self) -> Result<(), RestoreError> {
        match fs::remove_dir(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("replace", &self.directory)(error));
            }
            _ => {}
        }
        fs::rename(&self.building, &self.directory).map_err(failed("rename", &self.building))?;
        let parent = parent(&self.directory);
        // A rename is durable once the parent directory is synced, on systems that support it.
        let synced = match cfg!(unix) {
            true => fs::File::open(parent).and_then(|folder| folder.sync_all()),
            false => Ok(()),
        };
        synced.map_err(failed("sync", parent))
    }
}

fn parent(directory: &Path) -> &Path {
    match directory.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RestoreError {
    let path = path.to_path_buf();
    move |source| RestoreError::Io { doing, path, source }
}
