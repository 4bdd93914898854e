//! Stores how far a route has come.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::live::Live;
use crate::tracker::{Mark, ShardName};

/// Places are stored at most this often: what one write says, the next one would repeat. Real time, because it is about
/// the work of this machine.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Stores marks as they move, until the route is stopped; then once more.
pub(crate) async fn run(live: Arc<Live>) {
    let mut unstored = HashMap::new();
    loop {
        tokio::select! {
            () = live.moved.notified() => {}
            () = live.stopped() => break,
        }
        store(&live, &mut unstored).await;
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = live.stopped() => break,
        }
    }
    store(&live, &mut unstored).await;
}

/// Stores the marks that have moved. What cannot be stored stays in `unstored`, and the next try takes it along.
pub(crate) async fn store(live: &Live, unstored: &mut HashMap<Arc<ShardName>, Mark>) {
    unstored.extend(live.tracker.lock().take_moved());
    {
        let stored = live.stored.lock();
        unstored.retain(|shard, mark| stored.get(shard) != Some(mark));
    }
    if unstored.is_empty() {
        return;
    }
    match live.place.set_marks(unstored.iter()).await {
        Ok(()) => live.stored(unstored.drain().collect()),
        Err(error) => {
            // Without the rows, changes are delivered again after a restart; nothing is lost meanwhile.
            if live.pause(&error).await.is_ok() {
                live.moved.notify_one();
            }
        }
    }
}
