//! An HTTP server with a constant response: the cost of a request without a database.
//!
//! It uses the same HTTP library as the real server, on Tokio's usual runtime; it reads the request's body,
//! as every server must, and sends the same headers.

use crate::dataset;
use crate::error::{BenchError, Doing};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

const IDLE: Duration = Duration::from_secs(60);

/// Bytes of the answer to a GetItem of the benchmark.
pub(crate) fn item_answer_bytes() -> usize {
    r#"{"Item":}"#.len() + dataset::item_json(0, 0).len()
}

/// Answers every request with this many bytes, until the process is killed.
pub fn serve(port: u16, bytes: usize) -> Result<(), BenchError> {
    let runtime = Runtime::new().doing("cannot start threads")?;
    runtime.block_on(accept(port, Bytes::from(vec![b'x'; bytes])))
}

async fn accept(port: u16, body: Bytes) -> Result<(), BenchError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let listener = listener.doing(format!("cannot listen on port {port}"))?;
    let mut protocol = Builder::new(TokioExecutor::new());
    protocol
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .pipeline_flush(true);
    let protocol = Arc::new(protocol);
    loop {
        let (stream, _) = listener.accept().await.doing("cannot accept a connection")?;
        tokio::spawn(converse(stream, Arc::clone(&protocol), body.clone()));
    }
}

async fn converse(stream: TcpStream, protocol: Arc<Builder<TokioExecutor>>, body: Bytes) {
    // Errors are ignored: the load generator notices a closed connection.
    let _ = stream.set_nodelay(true);
    let handler = service_fn(|request| answer(request, body.clone()));
    let _ = protocol.serve_connection(TokioIo::new(stream), handler).await;
}

async fn answer(request: Request<Incoming>, body: Bytes) -> Result<Response<Full<Bytes>>, Infallible> {
    // The response to an interrupted request is not read.
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(body));
    for (name, value) in [
        ("server", "constant"),
        ("x-amz-crc32", "2745614147"),
        (
            "x-amzn-requestid",
            "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF",
        ),
        ("content-type", "application/x-amz-json-1.0"),
    ] {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
