//! A running application.

use std::sync::Arc;

use crate::events::Router;
use crate::queue::Workers;

/// The state of requests, and the background work.
#[derive(Debug)]
pub struct Running<S> {
    /// The state of requests and jobs.
    pub service: Arc<S>,
    /// Delivers changes to handlers and queues.
    pub router: Router,
    /// Process messages of queues.
    pub workers: Workers,
}

impl<S> Running<S> {
    /// Stops the background work, routes first; running work is finished.
    pub async fn stop(&self) {
        self.router.stop().await;
        self.workers.stop().await;
    }
}
