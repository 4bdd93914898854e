//! `trestle restore`: a data directory from a backup.

use crate::args::{LogFormat, RestoreFlags};
use crate::exit::{Code, Failure};
use crate::{logging, verify};
use std::fs::File;
use std::io::{self, BufReader, Write};
use trestle_binding::counted;
use trestle_embedded::{ArchiveError, BlockSize, RestoreError, VerifyOptions, restore_directory};

/// Makes the directory, then verifies it.
pub(crate) fn restore(flags: &RestoreFlags) -> Result<(), Failure> {
    logging::start("warn", LogFormat::Text)?;
    let block_size = flags.block_kb.map(BlockSize::from_kib).transpose();
    let block_size = block_size.map_err(Failure::usage)?;
    let from = flags.from.display();
    let file = File::open(&flags.from)
        .map_err(|error| Failure::failed(format!("cannot open the backup {from}: {error}")))?;
    let totals =
        restore_directory(BufReader::new(file), &flags.data, block_size).map_err(|error| match error {
            RestoreError::NotEmpty(_) => Failure::usage(error),
            RestoreError::Archive(ArchiveError::Damaged { .. } | ArchiveError::Version { .. }) => {
                Failure::new(
                    Code::BadBackup,
                    format!("cannot restore {from}: {error}. Nothing was restored."),
                )
            }
            other => Failure::failed(format!("cannot restore {from}: {other}. Nothing was restored.")),
        })?;
    let _ = writeln!(
        io::stdout(),
        "{}: {} restored",
        flags.data.display(),
        counted(totals.all_rows(), "row", "rows")
    );
    verify::check(&flags.data, false, VerifyOptions::default())
}
