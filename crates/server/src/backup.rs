//! `/_trestle/backup`: the whole database as one archive, sent while it is read.

use crate::administration::refusal;
use crate::reply::Reply;
use crate::reply_body::Chunks;
use bytes::Bytes;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use trestle_admin::{AdminError, AdminErrorCode};

/// Pieces that may wait for a slow client.
const CHUNKS_WAITING_MAX: usize = 4;

/// A database that can write a backup of itself.
pub trait BackupSource: Send + Sync + fmt::Debug {
    /// Writes all data as of one moment to `out`. Called on a thread that may block.
    fn backup(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// Backups of one database, one at a time, because each holds a snapshot and thereby disk space.
#[derive(Debug)]
pub(crate) struct Backups {
    source: Arc<dyn BackupSource>,
    seat: Arc<Semaphore>,
    /// How long the server waits for a client to read.
    patience: Duration,
}

impl Backups {
    pub(crate) fn new(source: Arc<dyn BackupSource>, patience: Duration) -> Self {
        Backups {
            source,
            seat: Arc::new(Semaphore::new(1)),
            patience,
        }
    }

    /// Begins a backup.
    pub(crate) fn answer(&self) -> Reply {
        let Ok(seat) = Arc::clone(&self.seat).try_acquire_owned() else {
            return refusal(&AdminError::new(
                AdminErrorCode::Refused,
                "another backup is running; wait until it is over",
            ));
        };
        Reply::download(self.start(seat))
    }

    fn start(&self, seat: OwnedSemaphorePermit) -> Chunks {
        let (sender, chunks) = channel(CHUNKS_WAITING_MAX);
        let source = Arc::clone(&self.source);
        let mut out = ChunkWriter {
            sender,
            patience: self.patience,
            runtime: Handle::current(),
        };
        tokio::task::spawn_blocking(move || {
            let _seat = seat;
            match source.backup(&mut out) {
                Ok(()) => tracing::info!("a backup was taken"),
                Err(error) => {
                    tracing::error!(%error, "a backup failed");
                    // The client may be gone, which is then the reason.
                    let _ = out.send(Err(error));
                }
            }
        });
        chunks
    }
}

/// The answer if the program around the server offers no backups.
pub(crate) fn no_backups() -> Reply {
    refusal(&AdminError::not_found("this server offers no backups"))
}

/// Passes written bytes to the connection.
struct ChunkWriter {
    sender: Sender<io::Result<Bytes>>,
    patience: Duration,
    runtime: Handle,
}

impl ChunkWriter {
    fn send(&self, chunk: io::Result<Bytes>) -> io::Result<()> {
        let sent = self
            .runtime
            .block_on(async { tokio::time::timeout(self.patience, self.sender.send(chunk)).await });
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client is gone")),
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the client takes no more",
            )),
        }
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(Ok(Bytes::copy_from_slice(bytes)))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
