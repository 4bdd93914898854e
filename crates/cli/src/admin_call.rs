//! Calls to `/_trestle/…` of a running server.

use crate::exit::Failure;
use crate::runtime;
use crate::server_flags::ServerFlags;
use bytes::Bytes;
use std::io::{self, Read};
use std::time::Duration;
use tokio::runtime::Runtime;
use trestle_http_client::{Client, Download, Outgoing, Prepared, Repeat, request};
use trestle_remote::{FailureKind, NoAnswer, Settings};

/// For commands that can do without a server.
pub(crate) const USE_DATA: &str = "for a database that is not running, use --data";

/// For commands that cannot.
pub(crate) const START_ONE: &str = "start one with `trestle serve`, or say where it is with --endpoint";

/// A running server, and as whom it is called.
pub(crate) struct Caller {
    settings: Settings,
    client: Client,
    without_server: &'static str,
    runtime: Runtime,
}

/// An answer: its status and its text.
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Caller {
    /// A caller that waits as long as the server needs; building an index takes as long as it takes.
    pub(crate) fn new(server: &ServerFlags, without_server: &'static str) -> Result<Self, Failure> {
        Caller::with_patience(server, without_server, None)
    }

    /// A caller for whom the server may not be silent for longer than that.
    pub(crate) fn with_patience(
        server: &ServerFlags,
        without_server: &'static str,
        patience: Option<Duration>,
    ) -> Result<Self, Failure> {
        let settings = Settings {
            timeout: patience,
            ..server.settings()
        };
        Ok(Caller {
            client: settings.client().map_err(Failure::usage)?,
            settings,
            without_server,
            runtime: runtime::on_this_thread()?,
        })
    }

    /// Makes a call and reads its whole answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Result<Said, Failure> {
        let request = self.request(method, path, body)?;
        // Nobody knows whether the server did what it did not answer.
        let call = self.client.call(request, Repeat::Never);
        let answer = self.runtime.block_on(call).map_err(|error| self.lost(&error))?;
        Ok(Said {
            status: answer.status.as_u16(),
            text: String::from_utf8_lossy(&answer.body).into_owned(),
        })
    }

    /// Asks for what may be of any length.
    pub(crate) fn download(self, path: &str) -> Result<Reader, Failure> {
        let request = self.request("GET", path, "")?;
        let download = self.runtime.block_on(self.client.download(request));
        Ok(Reader {
            download: download.map_err(|error| self.lost(&error))?,
            runtime: self.runtime,
            piece: Bytes::new(),
        })
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Result<Prepared, Failure> {
        let outgoing = Outgoing {
            method,
            path,
            headers: &[],
            body: &Bytes::copy_from_slice(body.as_bytes()),
        };
        let signer = self.settings.signer();
        let now = self.settings.clock.now();
        request(self.client.endpoint(), outgoing, signer.as_ref(), now).map_err(Failure::usage)
    }

    fn lost(&self, failure: &trestle_http_client::Failure) -> Failure {
        no_answer(
            &NoAnswer::at(&self.settings.endpoint, failure),
            self.without_server,
        )
    }

    /// What the server said, in words: its own errors are JSON.
    pub(crate) fn refusal(&self, said: &Said) -> String {
        let Said { status, text } = said;
        let mut words = text.trim().to_owned();
        if words.starts_with('{') {
            let error = trestle_wire::decode_error(*status, words.as_bytes());
            words = error.to_string();
            if let Some(way_out) = self.settings.way_out(&error) {
                words += &format!("; {way_out}");
            }
        }
        format!("{} answered {status}: {words}", self.settings.endpoint)
    }
}

/// Says that there is no answer, and what to do without a server.
pub(crate) fn no_answer(lost: &NoAnswer, without_server: &str) -> Failure {
    Failure::failed(match lost.kind {
        FailureKind::NoConnection => format!("{lost}; {without_server}"),
        _ => lost.to_string(),
    })
}

/// An answer that is read while it arrives.
pub(crate) struct Reader {
    download: Download,
    runtime: Runtime,
    /// What has arrived and was not read yet.
    piece: Bytes,
}

impl Reader {
    pub(crate) fn status(&self) -> u16 {
        self.download.status.as_u16()
    }
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() {
            let next = self.runtime.block_on(self.download.next());
            match next.map_err(io::Error::other)? {
                Some(piece) => self.piece = piece,
                None => return Ok(0),
            }
        }
        let length = self.piece.len().min(into.len());
        let (read, place) = (self.piece.split_to(length), into.get_mut(..length));
        if let Some(place) = place {
            place.copy_from_slice(&read);
        }
        Ok(length)
    }
}
