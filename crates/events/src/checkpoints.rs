//! Stores how far a route has come.

use std::sync::Arc;
use std::time::Duration;

use crate::live::Live;

/// The minimum time between two writes of checkpoints, because each write repeats most of the last one. Real
/// time, because it limits the work of this machine.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Stores checkpoints as they move, until the route is stopped, and once more after that.
pub(crate) async fn run(live: Arc<Live>) {
    loop {
        tokio::select! {
            () = live.moved.notified() => {}
            () = live.stopped() => break,
        }
        store(&live).await;
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = live.stopped() => break,
        }
    }
    store(&live).await;
}

/// Stores the checkpoints that have moved, and repeats that until it succeeds. It never leaves it open
/// whether a checkpoint is stored: a transaction that moves checkpoints must know their values.
pub(crate) async fn store(live: &Live) {
    let mut moved = live.tracker.lock().take_moved();
    {
        let stored = live.stored.lock();
        moved.retain(|(shard, checkpoint)| stored.get(shard) != Some(checkpoint));
    }
    let (rows, moved): (Vec<_>, Vec<_>) = moved.into_iter().partition(|(shard, _)| shard.is_backfill());
    for (line, checkpoint) in &rows {
        while let Err(error) = live.store_rows(line, checkpoint).await {
            if live.pause(&error).await.is_err() {
                return; // The rows of the page are delivered again after the next start.
            }
        }
    }
    if !rows.is_empty() && live.rows_are_done().await.is_err() {
        return;
    }
    if moved.is_empty() {
        return;
    }
    let checkpoints = || moved.iter().map(|(shard, checkpoint)| (shard, checkpoint));
    while let Err(error) = live.checkpoints.set_shards(checkpoints()).await {
        if live.pause(&error).await.is_err() {
            return; // Without the checkpoints, changes are delivered again after the next start.
        }
    }
    live.stored(moved);
}
