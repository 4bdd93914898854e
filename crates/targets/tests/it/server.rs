//! A server that records its requests, and gives the answers of the test.

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A request as it arrived.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// The answer; `None` for no answer.
pub(crate) type Reply = Option<Response<String>>;

pub(crate) fn reply(status: u16, body: impl Into<String>) -> Reply {
    Some(Response::builder().status(status).body(body.into()).unwrap())
}

type Answer = dyn Fn(&Received) -> Reply + Send + Sync;

struct Notes {
    answer: Box<Answer>,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
}

/// A running server; it ends, with its connections, when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    notes: Arc<Notes>,
    tasks: JoinSet<()>,
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Server {
        Server::start_at("127.0.0.1:0".parse().unwrap(), None, answer).await
    }

    pub(crate) async fn start_at(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        answer: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let notes = Arc::new(Notes {
            answer: Box::new(answer),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, tls, Arc::clone(&notes)));
        Server {
            address,
            notes,
            tasks,
        }
    }

    /// Ends the server; its port is free afterwards.
    pub(crate) async fn stop(mut self) {
        self.tasks.shutdown().await;
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.notes.received.lock().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.notes.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, notes: Arc<Notes>) {
    // Connections belong to this task, so that they end with it.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        notes.connections.fetch_add(1, Ordering::SeqCst);
        connections.spawn(serve(stream, tls.clone(), Arc::clone(&notes)));
    }
}

async fn serve(stream: TcpStream, tls: Option<TlsAcceptor>, notes: Arc<Notes>) {
    match tls {
        None => speak(stream, notes).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                speak(stream, notes).await;
            }
        }
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin, notes: Arc<Notes>) {
    let service = service_fn(|request: Request<Incoming>| {
        let notes = Arc::clone(&notes);
        async move {
            let (head, body) = request.into_parts();
            let received = Received {
                path: head.uri.to_string(),
                headers: head.headers,
                body: body.collect().await.unwrap().to_bytes(),
            };
            let reply = (notes.answer)(&received);
            notes.received.lock().push(received);
            match reply {
                Some(reply) => Ok::<_, Infallible>(reply.map(Full::<Bytes>::from)),
                None => std::future::pending().await,
            }
        }
    });
    // A client that disconnects is not a fault of the test.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
