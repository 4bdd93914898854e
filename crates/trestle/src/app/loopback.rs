//! A port of this machine, served until the program is asked to end.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How long running requests have to be answered once the program is asked to end.
pub const GRACE: Duration = Duration::from_secs(2);

/// A port that only this machine can reach.
#[derive(Debug)]
pub struct Loopback {
    listener: TcpListener,
    address: SocketAddr,
}

impl Loopback {
    /// Takes a port; 0 takes a free one. Connections wait from now on until they are served.
    pub async fn listen(port: u16) -> io::Result<Self> {
        let in_vain = |error: io::Error| {
            let said = format!("cannot listen on port {port}: {error}");
            io::Error::new(
                error.kind(),
                format!("{said}; --port chooses another, and 0 takes a free one"),
            )
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(in_vain)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    /// Its URL: `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until Ctrl-C or SIGTERM, as [`serve_until`](Self::serve_until) does.
    pub async fn serve(self, router: Router) -> io::Result<()> {
        self.serve_until(interrupted()?, router).await
    }

    /// Like [`serve`](Self::serve), and runs `first` meanwhile: work that needs this server. If it fails, so
    /// does this.
    pub async fn serve_while<E: From<io::Error>>(
        self,
        first: impl Future<Output = Result<(), E>>,
        router: Router,
    ) -> Result<(), E> {
        let first = async {
            match first.await {
                Ok(()) => std::future::pending().await,
                Err(error) => error,
            }
        };
        tokio::select! {
            served = self.serve(router) => Ok(served?),
            error = first => Err(error),
        }
    }

    /// Serves until `end` is ready. Then no connection is accepted any more, and running requests have
    /// [`GRACE`] to be answered: a client that never finishes its request does not delay the end.
    pub async fn serve_until(self, end: impl Future<Output = ()>, router: Router) -> io::Result<()> {
        let (stop, stopped) = oneshot::channel::<()>();
        let served = axum::serve(self.listener, router).with_graceful_shutdown(async {
            // It is never sent: the sender is dropped.
            let _ = stopped.await;
        });
        let mut served = pin!(served.into_future());
        tokio::select! {
            biased; // A server that is busy can be interrupted.
            () = end => drop(stop),
            ended = &mut served => return ended,
        }
        let Ok(ended) = tokio::time::timeout(GRACE, served).await else {
            tracing::warn!("requests were cut off: they took longer than {GRACE:?} after the interrupt");
            return Ok(());
        };
        ended
    }
}

/// Ready at Ctrl-C or SIGTERM, from the moment of the call on.
#[cfg(unix)]
fn interrupted() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn interrupted() -> io::Result<impl Future<Output = ()>> {
    Ok(async { drop(tokio::signal::ctrl_c().await) })
}
