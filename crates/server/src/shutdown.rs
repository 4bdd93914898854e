//! Stopping without losing accepted requests.

use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// Tells every connection to finish, and waits for them.
pub(crate) struct Shutdown {
    stop: watch::Sender<bool>,
    open: mpsc::Sender<()>,
    all_closed: mpsc::Receiver<()>,
}

/// Held by a connection: receives the signal to stop, and is dropped when the connection has ended.
pub(crate) struct Guest {
    stop: watch::Receiver<bool>,
    _open: mpsc::Sender<()>,
}

impl Shutdown {
    pub(crate) fn new() -> Self {
        let (open, all_closed) = mpsc::channel(1);
        Shutdown {
            stop: watch::Sender::new(false),
            open,
            all_closed,
        }
    }

    /// A new connection.
    pub(crate) fn guest(&self) -> Guest {
        Guest {
            stop: self.stop.subscribe(),
            _open: self.open.clone(),
        }
    }

    /// Asks all connections to finish and waits for them; false if some had not by the deadline.
    pub(crate) async fn finish(self, within: Duration) -> bool {
        let Shutdown {
            stop,
            open,
            mut all_closed,
        } = self;
        stop.send_replace(true);
        // Nothing is ever sent: the channel closes when the last guest has dropped its sender.
        drop(open);
        timeout(within, all_closed.recv()).await.is_ok()
    }
}

impl Guest {
    /// Returns when the server stops.
    pub(crate) fn stopping(&self) -> impl Future<Output = ()> + use<> {
        let mut stop = self.stop.clone();
        async move {
            // An error means that the server is gone, which means stop as well.
            let _ = stop.wait_for(|stop| *stop).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn finish_waits_for_every_guest() {
        let shutdown = Shutdown::new();
        let guest = shutdown.guest();
        let worker = tokio::spawn(async move {
            guest.stopping().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        });
        assert!(shutdown.finish(Duration::from_secs(10)).await);
        assert!(worker.is_finished() || worker.await.is_ok());
    }

    #[tokio::test]
    async fn finish_gives_up_on_a_guest_who_stays() {
        let shutdown = Shutdown::new();
        let _guest = shutdown.guest();
        assert!(!shutdown.finish(Duration::from_millis(10)).await);
    }
}
