//! Files and folders that only their owner can read.
//!
//! The data directory and the engine's folder are made with mode 0700, which protects everything below them. Files that the
//! store makes itself get 0600. Those of the engine follow the umask of the process; the `trestle` binary sets it to 077.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Options to open a file with, which make it private where they create it.
pub(crate) fn file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a file, or empties it.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    file_options().write(true).create(true).truncate(true).open(path)
}

/// Makes a folder, and those above it, unless they exist.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Takes all rights from group and others.
#[cfg(unix)]
pub(crate) fn close_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
pub(crate) fn close_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether group or others have any right to a folder.
#[cfg(unix)]
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|folder| folder.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub(crate) fn is_open_to_others(_path: &Path) -> bool {
    false
}
