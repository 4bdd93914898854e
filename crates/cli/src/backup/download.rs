//! The archive from a running server. Whether it is whole, the archive itself tells.

use crate::admin_call::{Answered, Caller, USE_DATA};
use crate::args::BackupFlags;
use crate::exit::Failure;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATH: &str = "/_trestle/backup";
const TIMEOUT: Duration = Duration::from_secs(60);

/// Passes on what arrives and keeps a copy in the file.
pub(super) struct Download {
    stream: BufReader<TcpStream>,
    file: BufWriter<File>,
}

impl Download {
    /// Asks for a backup; everything but an archive becomes a failure.
    pub(super) fn start(flags: &BackupFlags, file: File) -> Result<Self, Failure> {
        let endpoint = &flags.endpoint;
        let caller = Caller {
            endpoint,
            access_key: flags.access_key.as_deref(),
            secret_key: flags.secret_key.as_deref(),
            patience: Some(TIMEOUT),
            tls_page: "docs/backup.md",
            without_server: USE_DATA,
        };
        let answered = caller.call("GET", PATH, b"")?;
        if answered.status != "200" {
            let status = answered.status.clone();
            return Err(Failure::failed(format!(
                "{endpoint} gives no backup: it answered {status} {}",
                answered.why()
            )));
        }
        let Answered { body: stream, .. } = answered;
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
