//! `trestle backup`: one file with everything, from a running server or from a directory that no process has open.

mod download;

use crate::args::{BackupFlags, LogFormat};
use crate::exit::{Code, Failure};
use crate::{logging, verify};
use download::Download;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use trestle_binding::counted;
use trestle_embedded::{ArchiveError, BackupTotals, StoreSettings, backup_directory, check_backup};
use trestle_env::{Clock, SystemClock, iso_8601_millis};

/// Takes a backup. The file has its name only when it is complete.
pub(crate) fn backup(flags: &BackupFlags) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    let target = Target::choose(&flags.to)?;
    let taken = target
        .create()
        .and_then(|file| match &flags.data {
            Some(directory) => from_directory(directory, file),
            None => from_server(flags, file),
        })
        .and_then(|totals| target.keep().map(|()| totals));
    match taken {
        Ok(totals) => {
            let _ = writeln!(
                io::stdout(),
                "{}: {}, {} of data",
                target.file.display(),
                counted(totals.all_rows(), "row", "rows"),
                counted(totals.bytes, "byte", "bytes")
            );
            Ok(())
        }
        Err(failure) => {
            let _ = fs::remove_file(&target.partial);
            Err(failure)
        }
    }
}

fn from_directory(directory: &Path, file: File) -> Result<BackupTotals, Failure> {
    let mut out = BufWriter::new(file);
    let settings = StoreSettings::default();
    let totals = backup_directory(directory, settings, &mut out).map_err(|error| match error {
        ArchiveError::Store(error) => {
            let failure = verify::cannot_open(directory, &error);
            match failure.code {
                Code::DataInUse => Failure::new(
                    Code::DataInUse,
                    format!("{error}; take the backup from the running server with --endpoint"),
                ),
                _ => failure,
            }
        }
        other => Failure::failed(format!("cannot take the backup: {other}")),
    })?;
    let synced = out.flush().and_then(|()| out.get_ref().sync_all());
    synced.map_err(|error| Failure::failed(format!("cannot write the backup: {error}")))?;
    Ok(totals)
}

/// Checks the archive while it arrives, so that an incomplete one is detected.
fn from_server(flags: &BackupFlags, file: File) -> Result<BackupTotals, Failure> {
    let mut download = Download::start(flags, file)?;
    let checked = check_backup(&mut download);
    let written = download.finish();
    let totals = checked.map_err(|error| {
        Failure::failed(format!(
            "the backup from {} did not arrive whole: {error}; see the server's log, then try again",
            flags.server.endpoint
        ))
    })?;
    written.map_err(|error| Failure::failed(format!("cannot write the backup: {error}")))?;
    Ok(totals)
}

/// The destination of the backup.
struct Target {
    file: PathBuf,
    partial: PathBuf,
}

impl Target {
    /// The file itself, or one named after the time in a directory.
    fn choose(to: &Path) -> Result<Self, Failure> {
        let file = if to.is_dir() {
            let now = iso_8601_millis(SystemClock::new().now());
            let time: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
            to.join(format!("trestle-{time}.backup"))
        } else {
            to.to_path_buf()
        };
        if file.exists() {
            return Err(Failure::usage(format!(
                "{} exists already; choose another name",
                file.display()
            )));
        }
        let mut partial = file.clone().into_os_string();
        partial.push(".partial");
        Ok(Target {
            file,
            partial: partial.into(),
        })
    }

    fn create(&self) -> Result<File, Failure> {
        File::create(&self.partial)
            .map_err(|error| Failure::failed(format!("cannot create {}: {error}", self.partial.display())))
    }

    fn keep(&self) -> Result<(), Failure> {
        fs::rename(&self.partial, &self.file).map_err(|error| {
            Failure::failed(format!("cannot name the backup {}: {error}", self.file.display()))
        })
    }
}
