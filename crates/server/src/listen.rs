//! Listening: the address, the clients, and the end.

use crate::connection;
use crate::connection_threads::ConnectionThreads;
use crate::http::{Hooks, Service};
use crate::metrics::history::INTERVAL;
use crate::settings::Settings;
use crate::shutdown::{Guest, Shutdown};
use crate::tls::{self, TlsError};
use hyper_util::rt::TokioExecutor;
use hyper_util::server::conn::auto::Builder;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;
use trestle_api::Database;

/// A pause after a failed accept, so that a lack of file handles does not cause a busy loop.
const ACCEPT_RETRY: Duration = Duration::from_millis(50);

/// Clients that may wait to be accepted. The operating system refuses more of them; they try again after a
/// second.
const WAITING_MAX: u32 = 4096;

/// Why the server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The host is neither an address nor a name that can be resolved.
    #[error("cannot find the address of host `{host}`: {reason}; use an IP address such as 127.0.0.1")]
    Host {
        /// The host.
        host: String,
        /// What went wrong.
        reason: String,
    },
    /// Other machines could reach a server that checks no signatures.
    #[error(
        "refusing to listen on {address} without access keys, because everyone who can reach it could read and \
         delete all data; set an access key, or allow it with --insecure"
    )]
    Unprotected {
        /// The address.
        address: SocketAddr,
    },
    /// Another program already listens there.
    #[error("port {} on {} is already in use; stop the other server or choose another port", address.port(), address.ip())]
    PortInUse {
        /// The address.
        address: SocketAddr,
    },
    /// The system does not allow the server to listen there.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// The system provides no threads to serve connections on.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Every accepted request was answered.
    Clean,
    /// Some connections had not finished in time and were closed.
    Cut,
}

/// A server that listens and is ready to run.
pub struct Server {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    address: SocketAddr,
    service: Arc<Service>,
    protocol: Arc<Builder<TokioExecutor>>,
    threads: ConnectionThreads,
}

impl Server {
    /// Starts to listen. Clients can connect now; they are served once [`Server::run`] is called.
    pub async fn bind(
        settings: &Settings,
        database: Arc<dyn Database>,
        hooks: Hooks,
    ) -> Result<Self, StartError> {
        let wanted = resolve(&settings.host, settings.port).await?;
        if !wanted.ip().is_loopback() && settings.access_keys.is_empty() && !settings.insecure {
            return Err(StartError::Unprotected { address: wanted });
        }
        let tls = settings.tls.as_ref().map(tls::acceptor).transpose()?;
        let listener = listen(wanted).map_err(|source| listen_error(wanted, source))?;
        let address = listener
            .local_addr()
            .map_err(|source| listen_error(wanted, source))?;
        let shown = format!("{}:{}", settings.host, address.port());
        Ok(Server {
            listener,
            tls,
            address,
            service: Arc::new(Service::new(settings, (address.ip(), shown), database, hooks)),
            protocol: Arc::new(connection::protocol()),
            threads: ConnectionThreads::start().map_err(StartError::Threads)?,
        })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL to give to clients on this machine.
    pub fn endpoint(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        if self.address.ip().is_unspecified() {
            return format!("{scheme}://127.0.0.1:{}", self.address.port());
        }
        format!("{scheme}://{}", self.address)
    }

    /// Serves until `stop` returns, then finishes what was accepted.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Stopped {
        let shutdown = Shutdown::new();
        let seats = Arc::new(Semaphore::new(
            self.service.limits.connections_max.min(Semaphore::MAX_PERMITS),
        ));
        let mut stop = pin!(stop);
        let mut samples = tokio::time::interval(INTERVAL);
        samples.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                () = stop.as_mut() => break,
                _ = samples.tick() => self.service.sample(),
                Some((stream, seat)) = self.accept(&seats) => self.serve(stream, seat, shutdown.guest()),
            }
        }
        let within = self.service.limits.shutdown;
        let Server {
            listener, threads, ..
        } = self;
        // New clients are refused at once instead of waiting in the system's queue in vain.
        drop(listener);
        let finished = shutdown.finish(within).await;
        drop(threads);
        if finished { Stopped::Clean } else { Stopped::Cut }
    }

    /// The next client, once a connection is free for it.
    async fn accept(&self, seats: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
        let seat = match Arc::clone(seats).try_acquire_owned() {
            Ok(seat) => seat,
            Err(_) => {
                if let Some(left_out) = self.service.refusals.admit("connections") {
                    tracing::warn!(left_out, "as many connections as allowed are open; new ones wait");
                }
                Arc::clone(seats).acquire_owned().await.ok()?
            }
        };
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => return Some((stream, seat)),
                Err(error) => {
                    if let Some(left_out) = self.service.refusals.admit("accept") {
                        tracing::warn!(%error, left_out, "cannot accept a connection");
                    }
                    tokio::time::sleep(ACCEPT_RETRY).await;
                }
            }
        }
    }

    fn serve(&self, stream: TcpStream, seat: OwnedSemaphorePermit, guest: Guest) {
        let service = Arc::clone(&self.service);
        let protocol = Arc::clone(&self.protocol);
        let tls = self.tls.clone();
        // Answers are small; waiting to fill a packet would only add latency.
        let _ = stream.set_nodelay(true);
        let stream = match stream.into_std() {
            Ok(stream) => stream,
            Err(error) => return tracing::warn!(%error, "cannot hand over a connection"),
        };
        self.threads.run(|slot| async move {
            let _guards = (slot, seat, service.metrics.connection());
            let stream = match TcpStream::from_std(stream) {
                Ok(stream) => stream,
                Err(error) => return tracing::warn!(%error, "cannot take over a connection"),
            };
            match tls {
                None => connection::serve(stream, &protocol, Arc::clone(&service), guest).await,
                Some(tls) => serve_tls(stream, &tls, &protocol, &service, guest).await,
            }
        });
    }
}

async fn serve_tls(
    stream: TcpStream,
    tls: &TlsAcceptor,
    protocol: &Builder<TokioExecutor>,
    service: &Arc<Service>,
    guest: Guest,
) {
    match tokio::time::timeout(service.limits.idle, tls.accept(stream)).await {
        Ok(Ok(stream)) => connection::serve(stream, protocol, Arc::clone(service), guest).await,
        Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
        Err(_) => tracing::debug!("a TLS handshake took too long"),
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restarted server must not wait for the connections of the previous one. On Windows the option would
    // share the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_MAX)
}

async fn resolve(host: &str, port: u16) -> Result<SocketAddr, StartError> {
    let failed = |reason: String| StartError::Host {
        host: host.to_owned(),
        reason,
    };
    let found = lookup_host((host, port))
        .await
        .map_err(|error| failed(error.to_string()))?;
    // For a name with several addresses, the one that every client can use.
    let found = found.min_by_key(SocketAddr::is_ipv6);
    found.ok_or_else(|| failed("it has none".to_owned()))
}

fn listen_error(address: SocketAddr, source: io::Error) -> StartError {
    match source.kind() {
        io::ErrorKind::AddrInUse => StartError::PortInUse { address },
        _ => StartError::Listen { address, source },
    }
}
