//! Messages sent, received and deleted over HTTP: on this server with a standard and with a FIFO queue, and
//! on moto's SQS server if it is found.

use super::Run;
use crate::client::receive;
use crate::error::{BenchError, Doing};
use crate::http::queue_request;
use crate::process::Process;
use crate::report::AloneFigure;
use crate::target::free_port;
use crate::{Progress, thousands};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const CLIENTS: usize = 16;
const BODY_BYTES: usize = 1024;
/// Groups of the FIFO queue.
const GROUPS: usize = 64;
/// Python starts slowly, and slow responses are accepted.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn measure(run: &Run<'_>, progress: &mut dyn Progress) -> Result<Vec<AloneFigure>, BenchError> {
    progress.doing("messages: trestle");
    let server = run
        .trestle
        .start(&run.directory.join("data"), &run.directory.join("log"))?;
    let ours = lives(server.address, Kind::Standard, run.settings.measured)?;
    progress.done(&format!(
        "messages sent, received and deleted: {} per second",
        thousands(ours)
    ));
    progress.doing("messages: trestle, FIFO");
    let fifo = lives(server.address, Kind::Fifo, run.settings.measured)?;
    progress.done(&format!(
        "the same with a FIFO queue and {GROUPS} groups: {} per second",
        thousands(fifo)
    ));
    let mut figures = vec![
        AloneFigure::new("messages per second, sent, received and deleted", ours, ""),
        AloneFigure::new("the same with a FIFO queue and 64 groups", fifo, ""),
        AloneFigure::new("of the standard queue's", 100.0 * fifo / ours.max(1e-9), "%"),
    ];
    drop(server);
    match run.settings.places.moto() {
        Err(why) => progress.done(&format!("moto is left out: {why}")),
        Ok(program) => {
            progress.doing("messages: moto");
            let port = free_port()?;
            let mut command = Command::new(program);
            command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
            let process = Process::start(&mut command, &run.directory.join("moto.log"))?;
            let theirs = lives(
                SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
                Kind::Standard,
                run.settings.measured,
            )?;
            process.stop()?;
            progress.done(&format!("the same at moto: {} per second", thousands(theirs)));
            figures.push(AloneFigure::new(
                "the same at moto's server, in memory",
                theirs,
                "",
            ));
            figures.push(AloneFigure::new("of which we do", ours / theirs.max(1e-9), "×"));
        }
    }
    Ok(figures)
}

#[derive(Clone, Copy)]
enum Kind {
    Standard,
    Fifo,
}

/// Messages per second that were sent, received and deleted, by all clients together.
fn lives(address: SocketAddr, kind: Kind, measured: Duration) -> Result<f64, BenchError> {
    let mut first = Client::new(address);
    let queue = first.make_queue(kind)?;
    let (over, counting, done) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
    let sent = AtomicUsize::new(0);
    let live = || -> Result<(), BenchError> {
        let mut client = Client::new(address);
        while !over.load(Ordering::Relaxed) {
            let extra = match kind {
                Kind::Standard => String::new(),
                Kind::Fifo => group_of(sent.fetch_add(1, Ordering::Relaxed)),
            };
            if client.life(&queue, &extra)? && counting.load(Ordering::Relaxed) {
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(live)).collect();
        thread::sleep(measured / 4);
        counting.store(true, Ordering::Relaxed);
        let began = Instant::now();
        thread::sleep(measured);
        over.store(true, Ordering::Relaxed);
        let rate = done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
        for client in clients {
            client
                .join()
                .map_err(|_| BenchError::new("a client panicked"))??;
        }
        Ok(rate)
    })
}

/// One connection, reopened when the server has closed it.
struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
    body: String,
}

impl Client {
    fn new(address: SocketAddr) -> Self {
        Client {
            address,
            stream: None,
            body: "x".repeat(BODY_BYTES),
        }
    }

    /// The address of a new queue, from a server that may still be starting.
    fn make_queue(&mut self, kind: Kind) -> Result<String, BenchError> {
        let began = Instant::now();
        let create = match kind {
            Kind::Standard => r#"{"QueueName":"bench"}"#,
            Kind::Fifo => r#"{"QueueName":"bench.fifo","Attributes":{"FifoQueue":"true"}}"#,
        };
        loop {
            match self.call("CreateQueue", create) {
                Ok(answer) => return text_in(&answer, &["QueueUrl"]).ok_or_else(|| strange("CreateQueue")),
                Err(error) if began.elapsed() > PATIENCE => return Err(error),
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Sends a message, receives one, and deletes that; returns whether there was one.
    fn life(&mut self, queue: &str, extra: &str) -> Result<bool, BenchError> {
        let send = format!(r#"{{"QueueUrl":"{queue}","MessageBody":"{}"{extra}}}"#, self.body);
        self.call("SendMessage", &send)?;
        let received = self.call("ReceiveMessage", &format!(r#"{{"QueueUrl":"{queue}"}}"#))?;
        let Some(handle) = text_in(&received, &["Messages", "0", "ReceiptHandle"]) else {
            return Ok(false);
        };
        let delete = format!(r#"{{"QueueUrl":"{queue}","ReceiptHandle":"{handle}"}}"#);
        self.call("DeleteMessage", &delete)?;
        Ok(true)
    }

    fn call(&mut self, operation: &str, body: &str) -> Result<Vec<u8>, BenchError> {
        let answered = self.exchange(operation, body);
        // A connection that failed or that the server wants closed is not used again.
        match answered {
            Ok((200, answer, closes)) => {
                if closes {
                    self.stream = None;
                }
                Ok(answer)
            }
            Ok((status, answer, _)) => {
                let said = String::from_utf8_lossy(&answer).into_owned();
                Err(BenchError::new(format!(
                    "{operation} failed with status {status}: {said}"
                )))
            }
            Err(error) => {
                self.stream = None;
                Err(error)
            }
        }
    }

    fn exchange(&mut self, operation: &str, body: &str) -> Result<(u16, Vec<u8>, bool), BenchError> {
        let doing = format!("cannot call {operation} at {}", self.address);
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => {
                let stream = TcpStream::connect(self.address).doing(&doing)?;
                stream.set_read_timeout(Some(PATIENCE)).doing(&doing)?;
                stream.set_nodelay(true).doing(&doing)?;
                none.insert(stream)
            }
        };
        stream.write_all(&queue_request(operation, body)).doing(&doing)?;
        let (answer, body) = receive(stream, &doing)?;
        Ok((answer.status, body, answer.closes))
    }
}

/// Additional members of a message of a FIFO queue: a new id, and alternating groups.
fn group_of(number: usize) -> String {
    format!(
        r#","MessageGroupId":"{}","MessageDeduplicationId":"{number}""#,
        number % GROUPS
    )
}

/// The text at a path of names and numbers.
fn text_in(json: &[u8], path: &[&str]) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(json).ok()?;
    let pointer: String = path.iter().map(|step| format!("/{step}")).collect();
    json.pointer(&pointer)?.as_str().map(ToOwned::to_owned)
}

fn strange(operation: &str) -> BenchError {
    BenchError::new(format!("the answer to {operation} is not what it should be"))
}
