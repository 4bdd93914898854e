//! The archive from a running server. Whether it is whole, the archive itself tells.

use crate::admin_call::{Caller, Reader, USE_DATA};
use crate::args::BackupFlags;
use crate::exit::Failure;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::time::Duration;

const PATH: &str = "/_trestle/backup";
const TIMEOUT: Duration = Duration::from_secs(60);

/// More than the text of any refusal.
const WHY_BYTES_MAX: u64 = 64 * 1024;

/// Passes on what arrives and keeps a copy in the file.
pub(super) struct Download {
    stream: Reader,
    file: BufWriter<File>,
}

impl Download {
    /// Asks for a backup; everything but an archive becomes a failure.
    pub(super) fn start(flags: &BackupFlags, file: File) -> Result<Self, Failure> {
        let endpoint = &flags.server.endpoint;
        let caller = Caller::with_patience(&flags.server, USE_DATA, Some(TIMEOUT))?;
        let stream = caller.download(PATH)?;
        let status = stream.status();
        if status != 200 {
            let mut why = String::new();
            let _ = stream.take(WHY_BYTES_MAX).read_to_string(&mut why);
            let why = why.trim();
            return Err(Failure::failed(format!(
                "{endpoint} gives no backup: it answered {status} {why}"
            )));
        }
        Ok(Download {
            stream,
            file: BufWriter::new(file),
        })
    }

    /// Makes the copy durable.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}

impl Read for Download {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = self.stream.read(into)?;
        self.file.write_all(into.get(..length).unwrap_or_default())?;
        Ok(length)
    }
}
