//! The load generator: one thread, many connections, one request in flight on each.
//!
//! It shares the processors with the measured server, so it does as little as possible: requests are
//! prepared, responses are read to their length and checked only at times, and one wait serves all
//! connections.

mod choice;
mod connection;
mod phase;

use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;
use crate::workload::Script;
use connection::Connection;
use mio::{Events, Interest, Poll, Token};
use phase::Phase;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

pub(crate) use choice::Choice;

/// How long a server may take to respond.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What to send, to which address, and for how long.
pub(crate) struct Load<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) connections: usize,
    pub(crate) script: &'a Script,
    pub(crate) choice: Choice,
    /// Time before measuring begins.
    pub(crate) warm_up: Duration,
    /// Time of measuring.
    pub(crate) measured: Duration,
}

/// The two moments at which the caller may read other clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    Begin,
    End,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Latencies of the operations that ended while measuring.
    pub(crate) latencies: Histogram,
    pub(crate) elapsed: Duration,
    /// Operations with a wrong response, at any time.
    pub(crate) errors: u64,
    /// The first wrong answer.
    pub(crate) first_error: Option<String>,
    /// Bytes of the last answer's body.
    pub(crate) answer_bytes: usize,
}

impl Load<'_> {
    /// Runs to the end; `moment` is called at the start and end of measuring.
    pub(crate) fn run(&self, moment: &mut dyn FnMut(Moment)) -> Result<Measured, BenchError> {
        let mut poll = Poll::new().doing("cannot watch connections")?;
        let mut connections = Vec::with_capacity(self.connections);
        for number in 0..self.connections {
            let mut connection = Connection::open(self.address, self.script, number)?;
            register(&poll, &mut connection, number)?;
            connections.push(connection);
        }
        Running {
            load: self,
            choice: self.choice.clone(),
            phase: Phase::new(self.warm_up, self.measured, self.connections as u64),
            measured: Measured::default(),
            active: 0,
        }
        .run(&mut poll, &mut connections, moment)
    }
}

fn register(poll: &Poll, connection: &mut Connection, number: usize) -> Result<(), BenchError> {
    poll.registry()
        .register(
            connection.stream(),
            Token(number),
            Interest::READABLE | Interest::WRITABLE,
        )
        .doing("cannot watch a connection")
}

/// A run in progress.
struct Running<'a> {
    load: &'a Load<'a>,
    choice: Choice,
    phase: Phase,
    measured: Measured,
    /// Connections with an operation in flight.
    active: usize,
}

impl Running<'_> {
    fn run(
        mut self,
        poll: &mut Poll,
        connections: &mut [Connection],
        moment: &mut dyn FnMut(Moment),
    ) -> Result<Measured, BenchError> {
        let mut events = Events::with_capacity(connections.len().max(1));
        let start = Instant::now();
        self.phase.start(start);
        for (number, connection) in connections.iter_mut().enumerate() {
            self.begin(connection, number, start)?;
        }
        while self.active > 0 {
            match poll.poll(&mut events, Some(SILENCE_MAX)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled.doing("cannot wait for answers")?,
            }
            if events.is_empty() {
                return Err(BenchError::new(format!(
                    "the server has not answered for {} s",
                    SILENCE_MAX.as_secs()
                )));
            }
            for event in &events {
                let number = event.token().0;
                if let Some(connection) = connections.get_mut(number) {
                    self.attend(poll, connection, number, moment)?;
                }
            }
        }
        self.phase.finish(Instant::now(), moment);
        self.measured.elapsed = self.phase.measured_for();
        Ok(self.measured)
    }

    /// Starts the next operation, if there is one.
    fn begin(&mut self, connection: &mut Connection, number: usize, now: Instant) -> Result<(), BenchError> {
        let next = if self.phase.is_over() {
            None
        } else {
            self.choice.next(number as u64, self.load.connections as u64)
        };
        if let Some(rows) = next {
            self.active += 1;
            connection.begin(rows, now)?;
        }
        Ok(())
    }

    /// Advances a connection as far as possible without waiting.
    fn attend(
        &mut self,
        poll: &Poll,
        connection: &mut Connection,
        number: usize,
        moment: &mut dyn FnMut(Moment),
    ) -> Result<(), BenchError> {
        if connection.is_idle() {
            return Ok(());
        }
        connection.flush()?;
        if connection.receive()? {
            connection.reopen(self.load.address)?;
            register(poll, connection, number)?;
            return Ok(());
        }
        while let Some(answered) = connection.answered()? {
            if let Some(error) = answered.error {
                self.measured.errors += 1;
                self.measured.first_error.get_or_insert(error);
            }
            self.measured.answer_bytes = answered.body_bytes;
            if connection.next_step()? {
                continue;
            }
            let now = Instant::now();
            if self.phase.ended_one(now, moment) {
                self.measured.latencies.record(now - connection.began());
            }
            self.active -= 1;
            if answered.closes {
                connection.reopen(self.load.address)?;
                register(poll, connection, number)?;
            }
            self.begin(connection, number, now)?;
        }
        Ok(())
    }
}
