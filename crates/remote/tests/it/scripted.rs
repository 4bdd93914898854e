//! A server that follows a script for each request, and counts.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use trestle_remote::{Remote, Settings};

/// What to do with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Answer(u16, &'static str),
    /// Answers with the checksum of another body.
    AnswerOther(&'static str),
    /// Ends the connection without an answer.
    HangUp,
    /// Ends the connection in the middle of the answer.
    HangUpWithin,
    /// Sends nothing and keeps the connection open.
    Silence,
    /// Answers in another protocol.
    Babble,
}

struct Notes {
    script: Mutex<VecDeque<Act>>,
    bodies: Mutex<Vec<String>>,
    /// The access keys of the signatures.
    signers: Mutex<Vec<String>>,
    connections: AtomicUsize,
}

/// The server ends when it is dropped.
pub(crate) struct Scripted {
    pub(crate) address: SocketAddr,
    notes: Arc<Notes>,
    _tasks: JoinSet<()>,
}

impl Scripted {
    /// After the end of the script, each request is answered with `{}`.
    pub(crate) async fn start(script: &[Act]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let notes = Arc::new(Notes {
            script: Mutex::new(script.iter().copied().collect()),
            bodies: Mutex::default(),
            signers: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, Arc::clone(&notes)));
        Scripted {
            address,
            notes,
            _tasks: tasks,
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(format!("http://{}", self.address))
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::new(self.settings()).unwrap()
    }

    /// The requests so far.
    pub(crate) fn bodies(&self) -> Vec<String> {
        self.notes.bodies.lock().unwrap().clone()
    }

    /// The access key of each request, if any.
    pub(crate) fn signers(&self) -> Vec<String> {
        self.notes.signers.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.notes.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, notes: Arc<Notes>) {
    // Connections belong to this task, so that they end with it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        notes.connections.fetch_add(1, Ordering::SeqCst);
        connections.spawn(serve(BufStream::new(stream), Arc::clone(&notes)));
    }
}

async fn serve(mut stream: BufStream<TcpStream>, notes: Arc<Notes>) {
    while let Some((signer, body)) = request(&mut stream).await {
        notes.signers.lock().unwrap().push(signer);
        notes.bodies.lock().unwrap().push(body);
        let act = notes.script.lock().unwrap().pop_front();
        let answer = match act.unwrap_or(Act::Answer(200, "{}")) {
            Act::Answer(status, body) => answer(status, "", body),
            Act::AnswerOther(body) => answer(200, "x-amz-crc32: 1\r\n", body),
            Act::HangUp => return,
            Act::HangUpWithin => {
                let cut = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"Count";
                let _ = stream.write_all(cut.as_bytes()).await;
                let _ = stream.flush().await;
                return;
            }
            Act::Silence => std::future::pending().await,
            Act::Babble => "220 ready for mail\r\n".to_owned(),
        };
        let sent = stream.write_all(answer.as_bytes()).await;
        if sent.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

fn answer(status: u16, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Said\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// The access key and the body of the next request; `None` at the end of the connection.
async fn request(stream: &mut BufStream<TcpStream>) -> Option<(String, String)> {
    let mut length = 0;
    let mut signer = String::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(told) = line.strip_prefix("content-length:") {
            length = told.trim().parse().ok()?;
        }
        if let Some((_, told)) = line.split_once("credential=") {
            signer = told.split('/').next()?.to_owned();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((signer, String::from_utf8(body).ok()?))
}
