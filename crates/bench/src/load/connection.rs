//! One connection with at most one request in flight.

use super::choice::RowChoice;
use crate::error::{BenchError, Doing};
use crate::http::{BenchResponse, NotHttp, read_answer};
use crate::workload::Script;
use memchr::memmem;
use mio::net::TcpStream;
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

/// The buffer for a response; grows for larger ones.
const ROOM: usize = 64 * 1024;
/// The first responses of a connection are all checked, later ones only at times.
const SAMPLE_ALL: u64 = 8;
const SAMPLE_EVERY: u64 = 64;
/// How much of a wrong answer is shown.
const SHOWN_BYTES: usize = 300;

/// An answer that has arrived.
pub(super) struct Answered {
    pub(super) error: Option<String>,
    pub(super) closes: bool,
    pub(super) body_bytes: usize,
}

pub(super) struct Connection {
    stream: TcpStream,
    script: Script,
    random: fastrand::Rng,
    /// The step of the operation in flight; `None` between operations.
    step: Option<usize>,
    variant: usize,
    rows: RowChoice,
    sent: usize,
    began: Instant,
    received: Vec<u8>,
    filled: usize,
    answers: u64,
    /// Whether the request in flight was repeated, because the server had closed the connection.
    resent: bool,
}

impl Connection {
    pub(super) fn open(address: SocketAddr, script: &Script, number: usize) -> Result<Self, BenchError> {
        Ok(Connection {
            stream: connect(address)?,
            script: script.clone(),
            random: fastrand::Rng::with_seed(number as u64),
            step: None,
            variant: 0,
            rows: RowChoice { first: 0, stride: 0 },
            sent: 0,
            began: Instant::now(),
            received: vec![0; ROOM],
            filled: 0,
            answers: 0,
            resent: false,
        })
    }

    pub(super) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    pub(super) fn is_idle(&self) -> bool {
        self.step.is_none()
    }

    /// When the operation in flight began.
    pub(super) fn began(&self) -> Instant {
        self.began
    }

    pub(super) fn begin(&mut self, rows: RowChoice, now: Instant) -> Result<(), BenchError> {
        self.rows = rows;
        self.began = now;
        self.send(0)
    }

    /// Sends the next request of the operation; `false` if the operation is finished.
    pub(super) fn next_step(&mut self) -> Result<bool, BenchError> {
        match self.step {
            Some(step) if step + 1 < self.script.steps.len() => self.send(step + 1).map(|()| true),
            _ => {
                self.step = None;
                Ok(false)
            }
        }
    }

    fn send(&mut self, step: usize) -> Result<(), BenchError> {
        if let Some(now) = self.script.steps.get_mut(step) {
            self.variant = self.random.usize(..now.variants.len().max(1));
            if let Some(template) = now.variants.get_mut(self.variant) {
                template.aim(self.rows.first, self.rows.stride);
            }
        }
        self.step = Some(step);
        self.sent = 0;
        self.resent = false;
        self.flush()
    }

    /// Sends as much as the socket accepts; the rest follows when it is writable again.
    pub(super) fn flush(&mut self) -> Result<(), BenchError> {
        let step = self.step.and_then(|step| self.script.steps.get(step));
        let Some(request) = step.and_then(|step| step.variants.get(self.variant)) else {
            return Ok(());
        };
        while let Some(rest) = request.bytes().get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(bytes) => self.sent += bytes,
                Err(error) if is_not_now(error.kind()) => break,
                // The reading side will find the end of the stream and open a new one.
                Err(error) if is_closed(error.kind()) => break,
                Err(error) => return Err(error).doing("cannot send a request"),
            }
        }
        Ok(())
    }

    /// Reads available bytes; `true` if the server closed the connection without a response.
    pub(super) fn receive(&mut self) -> Result<bool, BenchError> {
        loop {
            if self.filled == self.received.len() {
                self.received.resize(self.received.len() * 2, 0);
            }
            let room = self.received.get_mut(self.filled..);
            let room = room.ok_or_else(|| BenchError::new("more was received than there was room for"))?;
            let wanted = room.len();
            match self.stream.read(room) {
                Ok(0) => return self.closed(),
                Ok(bytes) => {
                    self.filled += bytes;
                    // A short read has emptied the socket: another read would only cost time.
                    if bytes < wanted {
                        return Ok(false);
                    }
                }
                Err(error) if is_not_now(error.kind()) => return Ok(false),
                Err(error) if is_closed(error.kind()) => return self.closed(),
                Err(error) => return Err(error).doing("cannot read an answer"),
            }
        }
    }

    fn closed(&self) -> Result<bool, BenchError> {
        if self.filled > 0 || self.resent {
            return Err(BenchError::new(
                "the server closed a connection in the middle of an answer",
            ));
        }
        Ok(true)
    }

    /// Opens a new connection, and repeats a request that was in flight.
    pub(super) fn reopen(&mut self, address: SocketAddr) -> Result<(), BenchError> {
        self.stream = connect(address)?;
        self.filled = 0;
        self.sent = 0;
        self.resent = self.step.is_some();
        Ok(())
    }

    /// Takes the response to the request in flight, if it is complete.
    pub(super) fn answered(&mut self) -> Result<Option<Answered>, BenchError> {
        let Some(step) = self.step else {
            return Ok(None);
        };
        let received = self.received.get(..self.filled);
        let received =
            received.ok_or_else(|| BenchError::new("more was received than there was room for"))?;
        let Some(answer) = read_answer(received).doing("cannot understand the server")? else {
            return Ok(None);
        };
        self.answers += 1;
        let expects = self.script.steps.get(step).map_or("", |step| step.expects);
        let sampled = self.answers <= SAMPLE_ALL || self.answers.is_multiple_of(SAMPLE_EVERY);
        let answered = Answered {
            error: wrong(&answer, received, expects, sampled).doing("cannot understand the server")?,
            closes: answer.closes,
            body_bytes: answer.body_bytes(),
        };
        self.received.copy_within(answer.end..self.filled, 0);
        self.filled -= answer.end;
        Ok(Some(answered))
    }
}

/// What is wrong with an answer.
fn wrong(
    answer: &BenchResponse,
    received: &[u8],
    expects: &str,
    sampled: bool,
) -> Result<Option<String>, NotHttp> {
    if answer.status == 200 && !sampled {
        return Ok(None);
    }
    let body = answer.body(received)?;
    if answer.status == 200 && memmem::find(&body, expects.as_bytes()).is_some() {
        return Ok(None);
    }
    let shown = String::from_utf8_lossy(body.get(..SHOWN_BYTES).unwrap_or(&body)).into_owned();
    Ok(Some(format!("status {}: {shown}", answer.status)))
}

fn connect(address: SocketAddr) -> Result<TcpStream, BenchError> {
    let stream = std::net::TcpStream::connect(address).doing(format!("cannot connect to {address}"))?;
    stream.set_nodelay(true).doing("cannot prepare a connection")?;
    stream
        .set_nonblocking(true)
        .doing("cannot prepare a connection")?;
    Ok(TcpStream::from_std(stream))
}

fn is_not_now(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

fn is_closed(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted
    )
}
