//! The archive from a running server. The archive itself shows whether it is complete.

use crate::administration::{RunningServer, USE_DATA};
use crate::args::BackupFlags;
use crate::exit::Failure;
use bytes::Bytes;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::time::Duration;
use tokio::runtime::Runtime;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Passes received data on and writes a copy to the file.
pub(super) struct Download {
    stream: trestle_http_client::Download,
    runtime: Runtime,
    /// Received data that was not read yet.
    piece: Bytes,
    file: BufWriter<File>,
}

impl Download {
    /// Requests a backup; any answer except an archive becomes a failure.
    pub(super) fn start(flags: &BackupFlags, file: File) -> Result<Self, Failure> {
        let server = RunningServer::with_patience(&flags.server, USE_DATA, Some(TIMEOUT))?;
        let (stream, runtime) = server.backup()?;
        Ok(Download {
            stream,
            runtime,
            piece: Bytes::new(),
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
        while self.piece.is_empty() {
            let next = self.runtime.block_on(self.stream.next());
            match next.map_err(io::Error::other)? {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let length = self.piece.len().min(into.len());
        let read = self.piece.split_to(length);
        if let Some(place) = into.get_mut(..length) {
            place.copy_from_slice(&read);
        }
        self.file.write_all(&read)?;
        Ok(length)
    }
}
