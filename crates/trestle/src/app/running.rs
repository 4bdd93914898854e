//! An application while it runs.

use std::sync::Arc;

use crate::events::Router;
use crate::queue::Workers;

/// What requests work with, and what works in the background.
#[derive(Debug)]
pub struct Running<S> {
    /// What requests and jobs work with.
    pub service: Arc<S>,
    /// Brings changes to handlers and queues.
    pub router: Router,
    /// Take messages from queues.
    pub workers: Workers,
}

impl<S> Running<S> {
    /// Stops the background work, routes first; what is under way is finished.
    pub async fn stop(&self) {
        self.router.stop().await;
        self.workers.stop().await;
    }
}
