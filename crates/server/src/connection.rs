//! One connection: HTTP/1.1 or HTTP/2, until the client disconnects or is idle, or the server stops.

use crate::admission::{ConnectionMemory, CountedIo};
use crate::http::Service;
use crate::reply::Cut;
use crate::reply_body::ReplyBody;
use crate::shutdown::Guest;
use crate::upload::{Upload, is_http1};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;

/// How often the server checks whether an HTTP/2 client is still connected.
const PING_INTERVAL: Duration = Duration::from_secs(20);

/// The largest head of a request, and what a connection reads at a time.
const HTTP1_BUFFER_BYTES: usize = 32 * 1024;

/// The most requests at a time on one connection.
const HTTP2_STREAMS_MAX: u32 = 200;
/// How much of a body a client may send before it is read.
const HTTP2_STREAM_WINDOW_BYTES: u32 = 128 * 1024;
/// The same for all bodies of a connection.
const HTTP2_CONNECTION_WINDOW_BYTES: u32 = 256 * 1024;

/// HTTP/1.1 and HTTP/2. The first bytes decide which, so HTTP/2 needs no upgrade.
pub(crate) fn protocol() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // Hyper would set a timer for each request; the one below is set per connection and also ends idle
    // connections.
    builder
        .http1()
        .header_read_timeout(None)
        .max_buf_size(HTTP1_BUFFER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .max_concurrent_streams(HTTP2_STREAMS_MAX)
        .initial_stream_window_size(HTTP2_STREAM_WINDOW_BYTES)
        .initial_connection_window_size(HTTP2_CONNECTION_WINDOW_BYTES);
    builder
}

/// Serves a connection to its end.
pub(crate) async fn serve<I>(io: I, protocol: &Builder<TokioExecutor>, service: Arc<Service>, guest: Guest)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let idle = service.limits.idle;
    let activity = Arc::new(Activity::default());
    let memory = ConnectionMemory::new(Arc::clone(&service.admission));
    let mut end = End::watch(&guest, Arc::clone(&memory), Arc::clone(&activity), idle);
    let handler = service_fn(|request| {
        handle(
            Arc::clone(&service),
            Arc::clone(&activity),
            Arc::clone(&memory),
            request,
        )
    });
    let io = TokioIo::new(CountedIo::new(io, Arc::clone(&memory)));
    let mut connection = pin!(protocol.serve_connection(io, handler));
    let ended = tokio::select! {
        biased;
        ended = connection.as_mut() => ended,
        reason = &mut end => match reason {
            Ok(End::Stopping) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
            Ok(End::Idle) => {
                connection.as_mut().graceful_shutdown();
                // A client that does not accept its last answer is disconnected.
                match tokio::time::timeout(idle, connection).await {
                    Ok(ended) => ended,
                    Err(_) => Ok(()),
                }
            }
            // A client that does not read gets no answer.
            Ok(End::NotRead) | Err(_) => Ok(()),
        },
    };
    end.abort();
    drop(guest);
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

/// Why the server ends a connection.
enum End {
    /// It stops itself.
    Stopping,
    /// The client has stopped reading its answers.
    NotRead,
    /// The client sends no requests.
    Idle,
}

impl End {
    /// Waits for a reason until it is aborted. It is a separate task because a connection is woken for every
    /// request, and would check all reasons each time.
    fn watch(
        guest: &Guest,
        memory: Arc<ConnectionMemory>,
        activity: Arc<Activity>,
        idle: Duration,
    ) -> JoinHandle<Self> {
        let stopping = guest.stopping();
        tokio::spawn(async move {
            tokio::select! {
                () = stopping => End::Stopping,
                () = memory.stops_reading() => End::NotRead,
                () = activity.ceases(idle) => End::Idle,
            }
        })
    }
}

async fn handle(
    service: Arc<Service>,
    activity: Arc<Activity>,
    memory: Arc<ConnectionMemory>,
    request: Request<Incoming>,
) -> Result<Response<ReplyBody>, Cut> {
    let running = Running::begin(activity);
    // A client that does not read its answers gets no more.
    memory.reads().await;
    let is_http1 = is_http1(request.version());
    let (head, upload) = Upload::new(request, Arc::clone(&memory));
    let response = service.answer(head, upload).await?;
    Ok(response.map(|body| body.holding(running).held_by(&memory, is_http1)))
}

/// Requests begun and ended on a connection.
#[derive(Default)]
struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// A request that is being answered.
struct Running(Arc<Activity>);

impl Running {
    fn begin(activity: Arc<Activity>) -> Self {
        activity.begun.fetch_add(1, Ordering::Relaxed);
        Running(activity)
    }
}

impl Activity {
    /// Returns when no request ran for the given time, or up to twice as long: one check per period avoids a
    /// timer for each request.
    async fn ceases(&self, idle: Duration) {
        let mut seen = 0;
        loop {
            tokio::time::sleep(idle).await;
            let begun = self.begun.load(Ordering::Relaxed);
            let running = begun != self.ended.load(Ordering::Relaxed);
            if begun == seen && !running {
                return;
            }
            seen = begun;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}
